"""Two models over the same questions, two epochs, as .eval and .json.

usage: python inspect_rivers.py OUT
"""

import sys

from inspect_ai import Epochs, Task, task
from inspect_ai import eval as run
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import (
    Score,
    Target,
    accuracy,
    includes,
    mean,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState, solver

SEAS = {"a/1": "Mediterranean", 2: "North", "2b": "Black", "lost": "Hades"}
KNOWN = {"early": {"a/1"}, "late": {"a/1", 2, "2b"}}


@solver
def answer_from_table(model):
    async def solve(state: TaskState, generate):
        if state.sample_id == "lost":
            raise RuntimeError("no such river")
        known = state.sample_id in KNOWN[model] and state.epoch + len(model) != 6
        text = f"the {SEAS[state.sample_id]} Sea" if known else "I cannot say"
        state.output = ModelOutput.from_content(f"mockllm/{model}", text)
        state.messages.append(state.output.choices[0].message)
        return state

    return solve


@scorer(metrics={"*": [mean(), stderr()]})
def looks():
    async def score(state: TaskState, target: Target) -> Score:
        text = state.output.completion
        nan = float("nan")
        kind = 0.25 if "Sea" in text else nan
        return Score(value={"characters": len(text), "kindness": kind})

    return score


@scorer(metrics=[accuracy()])
def grade():
    async def score(state: TaskState, target: Target) -> Score:
        text = state.output.completion
        return Score(value="C" if target.text in text else "N", explanation="by table")

    return score


@task
def rivers(model: str = "early") -> Task:
    samples = [
        Sample(id=each, input=f"Where does river {each} end?", target=sea)
        for each, sea in SEAS.items()
    ]
    return Task(
        dataset=MemoryDataset(samples, name="rivers"),
        solver=[answer_from_table(model)],
        scorer=[includes(), looks(), grade()],
        epochs=Epochs(2, ["mean", "max"]),
        metadata={"prompt_version": "ask-v1"},
    )


for model in ("early", "late"):
    for form in ("eval", "json"):
        run(
            rivers(model),
            model=get_model(f"mockllm/{model}"),
            log_dir=f"{sys.argv[1]}/{model}",
            log_format=form,
            display="none",
            fail_on_error=False,
        )
