"""Step ids in a testset against the steps of the pipeline it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from ingest.json_places import pointer
from ingest.problems import Problem
from ingest.testset_records import CaseRecord
from promptlab.contracts.pipeline import Pipeline

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


def check_step_references(
    cases: Iterable[CaseRecord], pipelines: Sequence[Pipeline]
) -> list[Problem]:
    """Warn of step ids that none of the testset's pipelines has.

    Args:
        cases: The testset's records; rejected ones are passed over.
        pipelines: Those of this testset (``pipelines_of``); none: nothing to check.

    Returns:
        A warning per unknown step, in the order of the file. An expectation may also
        name a step by its output key; an input may not.
    """
    if not pipelines:
        return []
    step_ids = {step.id: None for one in pipelines for step in one.steps}
    outputs = {
        step.output_key: None
        for one in pipelines
        for step in one.steps
        if step.output_key
    }
    names = ", ".join(one.id for one in pipelines)
    problems = []
    for record in cases:
        if record.case is None:
            continue
        for key, ids, known in (
            ("step_inputs", record.case.step_inputs, step_ids),
            (
                "intermediate_expectations",
                record.case.intermediate_expectations,
                step_ids | outputs,
            ),
        ):
            problems += [
                Problem(
                    "unknown_step",
                    f'pipeline {names} has no step "{step_id}"; '
                    + _suggestion(step_id, list(known)),
                    severity="warning",
                    line=record.line,
                    record_id=record.case.id,
                    pointer=pointer([key, step_id]),
                )
                for step_id in ids
                if step_id not in known
            ]
    return problems


def _suggestion(step_id: str, known: list[str]) -> str:
    close = get_close_matches(step_id, known, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    return "it has " + ", ".join(f'"{name}"' for name in known)


def _names(reference: str, testset_id: str) -> bool:
    """Say whether what a pipeline calls its testset is this one."""
    for suffix in _SUFFIXES:
        reference = reference.removesuffix(suffix)
    wanted = reference.replace("\\", "/").removeprefix("./").split("/")
    have = testset_id.split("/")
    shared = min(len(wanted), len(have))
    return wanted[-shared:] == have[-shared:]
