"""Two models over the same cases, two repeats, written by the report's own adapter.

usage: python pydantic_evals_rivers.py OUT
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from pydantic_evals import Case, Dataset, increment_eval_metric
from pydantic_evals.evaluators import EqualsExpected, Evaluator
from pydantic_evals.reporting import EvaluationReportAdapter

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
SEAS = {"Nile": "Mediterranean", "Rhine": "North", "Danube": "Black", "Styx": "Hades"}
KNOWN = {"early": {"Nile"}, "late": {"Nile", "Rhine"}}


@dataclass
class Looks(Evaluator):
    def evaluate(self, ctx):
        if ctx.inputs == "Danube":
            raise ValueError("cannot look at this")
        return {
            "short": len(ctx.output) < 9,
            "characters": len(ctx.output),
            "tone": "plain",
        }


for model, known in KNOWN.items():

    async def answer(river: str, known=known) -> str:
        if river == "Styx":
            raise RuntimeError("no such river")
        increment_eval_metric("input_tokens", 10)
        increment_eval_metric("output_tokens", 3)
        return SEAS[river] if river in known else "I cannot say"

    dataset = Dataset(
        name="rivers",
        cases=[
            Case(
                name=None if river == "Rhine" else river,
                inputs=river,
                expected_output=sea,
            )
            for river, sea in SEAS.items()
        ],
        evaluators=[EqualsExpected(), Looks()],
    )
    for repeat in (1, 2):
        report = dataset.evaluate_sync(
            answer,
            name=f"rivers-{model}",
            repeat=repeat,
            max_concurrency=1,
            progress=False,
            metadata={"prompt_version": "ask-v1", "model": f"table/{model}"},
        )
        written = EvaluationReportAdapter.dump_json(report, indent=1)
        (out / f"{model}_{repeat}.json").write_bytes(written)
