"""Analysis inputs (analysis-contract.md section 3): one task per JSON file.

An error in the task or its dimensions rejects the file; one in a case, only that case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property, partial
from json import JSONDecodeError
from typing import Any

import msgspec
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
from promptlab.ingest.analysis.head import AnalysisHead, HeadFaults, read_head
from promptlab.ingest.analysis.rows import task_rows
from promptlab.ingest.raw.rows import Reading, Reference
from promptlab.ingest.reading.jsonl import RecordPlace
from promptlab.ingest.reading.odd_values import zone_message
from promptlab.ingest.reading.problems import (
    CountedProblems,
    Problem,
    Severity,
    kept,
    problem_at,
)
from promptlab.ingest.reading.records import (
    StructRecords,
    UnknownKeys,
    broken_document,
    list_places,
    not_stored,
)
from promptlab.ingest.reading.source import Limits, Source, no_garbage_collection
from promptlab.ingest.reading.structs import EMPTY, struct_of
from promptlab.json_text.places import BOM, Key, Span, SpanIndex, after_space
from promptlab.json_text.reading import Fault
from promptlab.json_text.writing import shown
from promptlab.seeds import builtin_scorers

_REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class AnalysisDocument:
    """The text of a file, and the positions of its parts."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, cases: StructRecords) -> Mapping[str, str]:
        """Read the cases, and return the JSON text of every other member.

        A valid file is decoded in one go; of any other file, the cases are read one by
        one.

        Returns:
            Member of the file → its text; ``cases`` is ``[]`` if it is a list.

        Raises:
            JSONDecodeError: The file is not JSON.
            HeadFaults: It is JSON, but not an object.
        """
        try:
            return self._read_at_once(cases)
        except _REFUSALS:
            parts = self._parts()
            if parts.get("cases") == "[]":
                cases.take_list(self._index.text, self._cases, ("cases",))
            return parts

    def _read_at_once(self, cases: StructRecords) -> Mapping[str, str]:
        file = _decoder(cases.limits).decode(self._data)
        parts = {
            name: str(getattr(file, name), "utf-8")
            for name in ("task", "dimensions", "extras")
        }
        places = range(len(file.cases))
        cases.take(file.cases, places, lambda n: self._case_places[n])
        return {"cases": "[]", **parts}

    def _parts(self) -> dict[str, str]:
        parts = {}
        for key, span in self._top.items():
            is_list = key == "cases" and self._index.text[span.start] == "["
            parts[str(key)] = "[]" if is_list else self._written(span)
        return parts

    def problem(
        self, fault: Fault, record_id: str | None, severity: Severity = "reject"
    ) -> Problem:
        """Return an error with its place; its keys start at the top of the file."""
        raw_text = None
        if severity == "reject" and fault.keys and fault.keys[0] in self._top:
            raw_text = kept(self._written(self._top[fault.keys[0]]))
        index = self._index
        return problem_at(
            lambda keys: index.line_column(index.find(keys)),
            fault,
            severity,
            record_id=record_id,
            raw_text=raw_text,
        )

    @cached_property
    def _index(self) -> SpanIndex:
        return SpanIndex(self._data.decode("utf-8", "surrogateescape"))

    @cached_property
    def _top(self) -> dict[Key, Span]:
        index = self._index
        end = after_space(index.text, index.walk(index.start, list_key="cases"))
        if end < len(index.text):
            raise JSONDecodeError("Extra data", index.text, end)
        if not index.text.startswith("{", index.start):
            message = "expected an object with `task` and `cases`"
            raise HeadFaults([Fault((), "wrong_type", message)], None)
        return {span.key: span for span in index.inside(index.start)}

    @property
    def _cases(self) -> list[Span]:
        return self._index.inside(self._top["cases"].start)

    @cached_property
    def _case_places(self) -> list[RecordPlace]:
        return list(list_places(self._index.text, self._cases, ("cases",)))

    def _written(self, span: Span) -> str:
        return self._index.text[span.start : span.end]


@cache
def _decoder(limits: Limits) -> msgspec.json.Decoder[Any]:
    case = struct_of(TestCaseBundle, closed=True, limits=limits)
    kinds = {"cases": list[case]}  # type: ignore[valid-type]  # built from the contract
    defaults = {"dimensions": msgspec.Raw(b"[]"), "extras": EMPTY}
    fields = [
        (name, kinds.get(name, msgspec.Raw), defaults.get(name, msgspec.NODEFAULT))
        for name in AnalysisInput.model_fields
    ]
    file = msgspec.defstruct("AnalysisFile", fields, forbid_unknown_fields=True)
    return msgspec.json.Decoder(file)


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
    """Warn about each unknown key; those of cases come last."""
    unknown = UnknownKeys(lambda model, key, _: not_stored(model, key, _ROOM[model]))

    def warn(model: type[BaseModel], keys: Iterable[str], *path: Key) -> None:
        for key in keys:
            fault = Fault((*path, key), "unknown_key", "")
            place = partial(document.problem, fault, None, "warning")
            unknown.add(model, key, place)

    warn(AnalysisInput, (m for m in members if m not in AnalysisInput.model_fields))
    task = head.contract.task
    warn(type(task), task.model_extra or (), "task")
    for place, dimension in enumerate(head.contract.dimensions):
        warn(type(dimension), dimension.model_extra or (), "dimensions", place)
    unknown.count(cases)
    return unknown.problems()


def head_warnings(document: AnalysisDocument, head: AnalysisHead) -> list[Problem]:
    """Warn about scorers that look misspelled, and about a time without a zone."""
    warnings = list(head.warnings)
    known = builtin_scorers()
    for place, dimension in enumerate(head.contract.dimensions):
        scorer = dimension.parameters.get("scorer", dimension.dimension_id)
        if not isinstance(scorer, str) or scorer in known:
            continue
        if near := nearest(scorer, known, cutoff=0.8):
            is_named = "scorer" in dimension.parameters
            path = ("parameters", "scorer") if is_named else ("dimension_id",)
            message = (
                f"no scorer is called {shown(scorer)}, so only scores from outside"
                f" count here{near}"
            )
            warnings.append(
                Fault(("dimensions", place, *path), "unknown_scorer", message)
            )
    if head.zoneless:
        keys = ("task", "created_at")
        warnings.append(Fault(keys, "time_without_zone", zone_message(1)))
    return [document.problem(warning, head.task_id, "warning") for warning in warnings]


def testset_references(
    document: AnalysisDocument, head: AnalysisHead
) -> list[Reference]:
    """Return the testsets of a task; not ``env.dataset``, which may be anything."""
    extras, env = head.contract.extras, head.contract.task.env
    candidates = (
        (extras.get("testset"), ("extras", "testset")),
        (env.get("testset"), ("task", "env", "testset")),
    )
    references = []
    for name, path in candidates:
        if isinstance(name, str) and name.strip():
            fault = Fault(path, "unknown_testset", "")
            place = document.problem(fault, head.task_id, "warning")
            references.append((name, head.task_id, place))
    return references


def read(source: Source) -> Iterator[Reading]:
    """Read one analysis input: JSON, UTF-8, with or without a byte order mark.

    Yields:
        Rows of ``tasks``, ``cases``, ``rounds``, ``baselines``, ``rules``,
        ``golden_checks``, ``dimension_configs``, in columns; every fault with JSON
        Pointer, line and column.
    """
    yield _read(source)


def _read(source: Source) -> Reading:
    document = AnalysisDocument(source.data.removeprefix(BOM))
    cases = StructRecords(TestCaseBundle, "case_id", source.limits)
    with no_garbage_collection():
        try:
            parts = document.read(cases)
            head = read_head(parts, source.limits)
        except JSONDecodeError as error:
            return _rejected([broken_document(error.doc)])
        except HeadFaults as error:
            problems = [
                document.problem(fault, error.task_id) for fault in error.faults
            ]
            cases.judge_all()
            _leave_out_twins(cases)
            problems += cases.sorted_problems()
            return _rejected(problems, cases.refused + len(cases.structs))
        return _read_cases(document, parts, head, cases)


def _read_cases(
    document: AnalysisDocument,
    parts: Iterable[str],
    head: AnalysisHead,
    cases: StructRecords,
) -> Reading:
    _leave_out_twins(cases)
    _drop_twin_rounds(cases)
    rows, zoneless, row_warnings = task_rows(head, cases)
    unusable = CountedProblems()
    for row, row_warning in row_warnings:
        unusable.add(
            (row_warning.code, row_warning.message),
            partial(cases.problem, row, row_warning),
        )
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


def _rejected(problems: list[Problem], cases: int = 0) -> Reading:
    return Reading(rows={}, problems=problems, records_rejected=cases, rejected=True)


def _leave_out_twins(cases: StructRecords) -> None:
    """Keep the first of several cases with the same id."""
    if len({case.case_id for case in cases.structs}) == len(cases.structs):
        return
    first: dict[str, int] = {}
    twins = {}
    for row, case in enumerate(cases.structs):
        first_row = first.setdefault(case.case_id, row)
        if first_row != row:
            message = (
                f"case_id {shown(case.case_id)} stands twice, first at"
                f" /cases/{cases.position(first_row)}: rounds of one case belong into"
                " one `rounds`"
            )
            twins[row] = Fault(("case_id",), "duplicate_case", message)
    cases.leave_out(twins)


def _drop_twin_rounds(cases: StructRecords) -> None:
    """Keep the first of a case's rounds with the same id, and report the others."""
    ids = [round_.round_id for case in cases.structs for round_ in case.rounds]
    if len(set(ids)) == len(ids):  # usually unique in the task
        return
    for row, case in enumerate(cases.structs):
        if len({round_.round_id for round_ in case.rounds}) == len(case.rounds):
            continue
        first_rounds: dict[str, Any] = {}
        for place, round_ in enumerate(case.rounds):
            if first_rounds.setdefault(round_.round_id, round_) is not round_:
                message = (
                    f"round_id {shown(round_.round_id)} stands twice in the case:"
                    " the first is kept, this one is left out"
                )
                keys = ("rounds", place, "round_id")
                cases.note(row, Fault(keys, "duplicate_round", message))
        case.rounds = list(first_rounds.values())
