"""Two models over the same questions, own metrics only, in the folders DeepEval fills.

usage: python deepeval_rivers.py OUT
"""

import os
import shutil
import sys
from pathlib import Path

out = Path(sys.argv[1]).resolve()
work = out / "work"
work.mkdir(parents=True, exist_ok=True)
os.chdir(work)
os.environ.update(DEEPEVAL_TELEMETRY_OPT_OUT="YES", ERROR_REPORTING="NO")

from deepeval import evaluate  # noqa: E402
from deepeval.evaluate.configs import (  # noqa: E402
    AsyncConfig,
    CacheConfig,
    DisplayConfig,
    ErrorConfig,
)
from deepeval.metrics import BaseMetric, ExactMatchMetric  # noqa: E402
from deepeval.test_case import LLMTestCase  # noqa: E402

SEAS = {"Nile": "Mediterranean", "Rhine": "North", "Danube": "Black", "Styx": "Hades"}
KNOWN = {"early": {"Nile"}, "late": {"Nile", "Rhine"}}
ROWS = [*SEAS.items(), ("Nile", "Mediterranean")]  # one question is repeated


class Words(BaseMetric):
    """The number of words: fewer are better."""

    async_mode, strict_mode, evaluation_model, error = False, False, "rule", None
    include_reason, evaluation_cost, threshold = True, 0.001, 2

    def measure(self, case, *args, **kwargs):
        if "Styx" in case.input:
            raise ValueError("the judge cannot count here")
        self.score = float(len(case.actual_output.split()))
        self.success = self.score <= self.threshold
        self.reason = f"{self.score:g} words"
        return self.score

    def is_successful(self):
        return bool(self.success)

    @property
    def __name__(self):
        return "Words"


for model, known in KNOWN.items():
    shutil.rmtree(work / ".deepeval", ignore_errors=True)
    os.environ["DEEPEVAL_RESULTS_FOLDER"] = str(out / model / "results")
    evaluate(
        test_cases=[
            LLMTestCase(
                input=f"Where does the {river} end?",
                actual_output=sea if river in known else "I cannot say",
                expected_output=sea,
                metadata={"id": "danube"} if river == "Danube" else None,
                completion_time=0.5,
                token_cost=0.002,
            )
            for river, sea in ROWS
        ],
        metrics=[ExactMatchMetric(), Words()],
        identifier=f"rivers-{model}",
        hyperparameters={"model": f"table/{model}", "prompt version": "ask-v1"},
        async_config=AsyncConfig(run_async=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        error_config=ErrorConfig(ignore_errors=True),
        cache_config=CacheConfig(write_cache=True),
    )
    for file in (work / ".deepeval").glob(".*json"):
        shutil.copy(file, out / model / file.name)
