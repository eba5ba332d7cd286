"""Step ids in a testset against the steps of the pipeline it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from promptlab.contracts.pipeline import Pipeline
from promptlab.contracts.testset import TestCase
from promptlab.errors import nearest
from promptlab.ingest.testsets.records import CaseRecord
from promptlab.json_text.writing import shown

_SUFFIXES = (".jsonl", ".ndjson", ".json")


def pipelines_of(testset_id: str, pipelines: Iterable[Pipeline]) -> list[Pipeline]:
    """Return the pipelines whose ``default_testset`` is this testset.

    A pipeline names its testset by id, by the id's last part, or by file name, with or
    without folders above.
    """
    return [
        pipeline
        for pipeline in pipelines
        if pipeline.default_testset and _names(pipeline.default_testset, testset_id)
    ]


class StepReferences:
    """Knows the steps of a testset's pipelines and warns of step ids that are none.

    Args:
        pipelines: Those of this testset (``pipelines_of``); none: nothing to check.
    """

    def __init__(self, pipelines: Sequence[Pipeline]) -> None:
        steps = [step for one in pipelines for step in one.steps]
        ids = [step.id for step in steps]
        self._step_of = {step.output_key: step.id for step in steps if step.output_key}
        # An expectation may name a step by its output key too; an input may not.
        self._known = {
            "step_inputs": ids,
            "intermediate_expectations": [*ids, *self._step_of],
        }
        self._pipelines = ", ".join(one.id for one in pipelines)

    def check(self, case: TestCase, record: CaseRecord) -> None:
        """Warn of each unknown step of a record's case."""
        if not self._pipelines:
            return
        for key, known in self._known.items():
            for step_id in getattr(case, key):
                if step_id not in known:
                    record.warn(
                        "unknown_step",
                        (key, step_id),
                        f"pipeline {self._pipelines} has no step {shown(step_id)}"
                        f"{self._suggestion(step_id, known)}",
                    )

    def _suggestion(self, step_id: str, known: Sequence[str]) -> str:
        if step_id in self._step_of:
            return f"; that is the output of step {shown(self._step_of[step_id])}"
        listed = ", ".join(map(shown, known))
        return nearest(step_id, known) or f"; it has {listed}"


def _names(reference: str, testset_id: str) -> bool:
    """Say whether what a pipeline calls its testset is this one."""
    for suffix in _SUFFIXES:
        reference = reference.removesuffix(suffix)
    wanted = reference.replace("\\", "/").removeprefix("./").split("/")
    have = testset_id.split("/")
    shared = min(len(wanted), len(have))
    return wanted[-shared:] == have[-shared:]
