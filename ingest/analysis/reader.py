"""Analysis inputs (analysis-contract.md section 3): one task per JSON file.

An error in the task or its dimensions rejects the file; one in a case, only that case.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache, partial
from json import JSONDecodeError
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
from promptlab.ingest.analysis.head import AnalysisHead, HeadFaults, read_head
from promptlab.ingest.analysis.rows import task_rows
from promptlab.ingest.raw.rows import Reading, Reference
from promptlab.ingest.reading.checked_columns import zone_message
from promptlab.ingest.reading.garbage import no_garbage_collection
from promptlab.ingest.reading.limits import DEFAULT, Limits
from promptlab.ingest.reading.problems import CountedProblems, Problem
from promptlab.ingest.reading.records import StructRecords, UnknownKeys, broken_document
from promptlab.json_text.places import BOM, Key
from promptlab.json_text.reading import Fault
from promptlab.json_text.writing import shown
from promptlab.paths import builtin_scorers

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
    """Warn about each unknown key; those of cases come last.

    Args:
        document: The file.
        members: The keys of the file itself.
        head: The part before its cases.
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
    """Warn about scorers that look misspelled, and about a time without a zone."""
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
    """The testsets that a task names; ``env.dataset`` may also name something else."""
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


def read_analysis(data: bytes, *, limits: Limits = DEFAULT) -> Reading:
    """Read one analysis input.

    Args:
        data: The file: JSON, UTF-8, with or without a byte order mark.
        limits: Limits of its parts.

    Returns:
        Rows of ``tasks``, ``cases``, ``rounds``, ``baselines``, ``rules``,
        ``golden_checks``,
        ``dimension_configs``, in columns; every fault with JSON Pointer, line and
        column.
    """
    document = AnalysisDocument(data.removeprefix(BOM))
    cases = StructRecords(TestCaseBundle, "case_id", limits)
    with no_garbage_collection():
        try:
            parts = document.read(cases)
            head = read_head(parts, limits)
        except JSONDecodeError as error:
            return _rejected([broken_document(error.doc)])
        except HeadFaults as error:
            problems = [document.problem(each, error.task_id) for each in error.faults]
            cases.judge_all()
            _leave_out_twins(cases)
            found = [*problems, *cases.sorted_problems()]
            return _rejected(found, cases.refused + len(cases.structs))
        return _read_cases(document, parts, head, cases, limits)


def _read_cases(
    document: AnalysisDocument,
    parts: Iterable[str],
    head: AnalysisHead,
    cases: StructRecords,
    limits: Limits,
) -> Reading:
    _leave_out_twins(cases)
    _drop_twin_rounds(cases)
    zoneless: list[tuple[int, int]] = []
    slips: list[tuple[int, Fault]] = []
    rows = cases.build(lambda good: task_rows(head, good, limits, zoneless, slips))
    unusable = CountedProblems(_with_count)
    for row, slip in slips:
        unusable.add((slip.code, slip.message), partial(cases.problem, row, slip))
    warnings = [
        *unknown_keys(document, parts, head, cases),
        *head_warnings(document, head),
        *unusable.problems(),
    ]
    if zoneless:
        (row, place), message = zoneless[0], zone_message(len(zoneless))
        fault = Fault(("rounds", place, "executed_at"), "time_without_zone", message)
        warnings.append(replace(cases.problem(row, fault), record_id=head.task_id))
    return Reading(
        rows=head.rows | rows,
        problems=[*cases.sorted_problems(), *warnings],
        records_loaded=len(cases.structs),
        records_rejected=cases.refused,
        keys=[("task", head.task_id)],
        references=testset_references(document, head),
    )


def _with_count(_: object, first: Problem, count: int) -> str:
    return first.message + (f" (here and in {count - 1} more)" if count > 1 else "")


def _rejected(problems: list[Problem], cases: int = 0) -> Reading:
    return Reading(rows={}, problems=problems, records_rejected=cases, rejected=True)


def _leave_out_twins(cases: StructRecords) -> None:
    """Keep the first of several cases with the same id."""
    if len({case.case_id for case in cases.structs}) == len(cases.structs):
        return
    first: dict[str, int] = {}
    twins = {}
    for row, case in enumerate(cases.structs):
        other = first.setdefault(case.case_id, row)
        if other != row:
            message = (
                f"case_id {shown(case.case_id)} stands twice, first at"
                f" /cases/{cases.position(other)}: rounds of one case belong into one"
                " `rounds`"
            )
            twins[row] = Fault(("case_id",), "duplicate_case", message)
    cases.leave_out(twins)


def _drop_twin_rounds(cases: StructRecords) -> None:
    """Keep the first of a case's rounds with the same id, and report the others."""
    ids = [one.round_id for case in cases.structs for one in case.rounds]
    if len(set(ids)) == len(ids):  # usually unique in the task
        return
    for row, case in enumerate(cases.structs):
        if len({one.round_id for one in case.rounds}) == len(case.rounds):
            continue
        kept: dict[str, Any] = {}
        for place, one in enumerate(case.rounds):
            if kept.setdefault(one.round_id, one) is not one:
                message = (
                    f"round_id {shown(one.round_id)} stands twice in the case:"
                    " the first is kept, this one is left out"
                )
                keys = ("rounds", place, "round_id")
                cases.note(row, Fault(keys, "duplicate_round", message))
        case.rounds = list(kept.values())
