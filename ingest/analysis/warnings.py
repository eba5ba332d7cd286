"""Warnings about an analysis input that loads: unknown keys, times without a zone."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Any

from pydantic import BaseModel

from promptlab.contracts.analysis_input import (
    AnalysisInput,
    BaselineSpec,
    DimensionConfig,
    RoundRun,
    TestCaseBundle,
    TestTaskMeta,
)
from promptlab.errors import nearest
from promptlab.ingest.analysis.document import AnalysisDocument
from promptlab.ingest.analysis.head import AnalysisHead
from promptlab.ingest.raw.rows import Reference
from promptlab.ingest.reading.checked_columns import zone_message
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.records import StructRecords, UnknownKeys
from promptlab.json_text.places import Key
from promptlab.json_text.reading import Fault
from promptlab.json_text.writing import shown
from promptlab.seeds import builtin_scorers

_ROOM: dict[type[BaseModel], str] = {
    AnalysisInput: "`extras`",
    TestTaskMeta: "`env`",
    DimensionConfig: "`parameters`",
    TestCaseBundle: "`context`",
    RoundRun: "`metadata`",
    BaselineSpec: "`payload`",
}


def unknown_keys(
    document: AnalysisDocument,
    members: Iterable[str],
    head: AnalysisHead,
    cases: StructRecords,
) -> list[Problem]:
    """Warn of each key that a contract does not know; those of cases come last.

    Args:
        document: The file.
        members: The keys of the file itself.
        head: What it says before its cases.
        cases: Its cases.
    """
    unknown = UnknownKeys(_advice)

    def see(model: type[BaseModel], keys: Iterable[str], *way: Key) -> None:
        for key in keys:
            fault = Fault((*way, key), "unknown_key", "")
            place = partial(document.problem, fault, None, "warning")
            unknown.add(model, key, place)

    see(AnalysisInput, (m for m in members if m not in AnalysisInput.model_fields))
    task = head.contract.task
    see(type(task), task.model_extra or (), "task")
    for place, each in enumerate(head.contract.dimensions):
        see(type(each), each.model_extra or (), "dimensions", place)
    unknown.count(cases)
    return unknown.problems()


def _advice(model: type[BaseModel], key: str, _record: Any) -> str:
    return _said(model, key)


@lru_cache(maxsize=1024)
def _said(model: type[BaseModel], key: str) -> str:
    near = nearest(key, list(model.model_fields))
    return f"is not stored{near or f'; put it into {_ROOM[model]}'}"


def head_warnings(document: AnalysisDocument, head: AnalysisHead) -> list[Problem]:
    """Warn of scorers that look misspelled, and of a time without a zone."""
    found = list(head.warnings)
    known = builtin_scorers()
    for place, each in enumerate(head.contract.dimensions):
        scorer = each.parameters.get("scorer", each.dimension_id)
        if not isinstance(scorer, str) or scorer in known:
            continue
        if near := nearest(scorer, known, cutoff=0.8):
            is_named = "scorer" in each.parameters
            way = ("parameters", "scorer") if is_named else ("dimension_id",)
            message = (
                f"no scorer is called {shown(scorer)}, so only scores from outside"
                f" count here{near}"
            )
            found.append(Fault(("dimensions", place, *way), "unknown_scorer", message))
    if head.zoneless:
        keys = ("task", "created_at")
        found.append(Fault(keys, "time_without_zone", zone_message(1)))
    return [document.problem(each, head.task_id, "warning") for each in found]


def testset_references(
    document: AnalysisDocument, head: AnalysisHead
) -> list[Reference]:
    """The testsets that a task names; ``env.dataset`` may be the name of anything."""
    extras, env = head.contract.extras, head.contract.task.env
    named = (
        (extras.get("testset"), ("extras", "testset")),
        (env.get("testset"), ("task", "env", "testset")),
    )
    found = []
    for name, way in named:
        if isinstance(name, str) and name.strip():
            fault = Fault(way, "unknown_testset", "")
            place = document.problem(fault, head.task_id, "warning")
            found.append(Reference("testset", name, head.task_id, place))
    return found
