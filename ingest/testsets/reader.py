"""Convert testset files (JSONL of test cases) to rows of the raw tables.

Only invalid records are left out, with all errors reported; the others load. The rules
are those of docs/formats.md.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from promptlab.contracts.testset import Pipeline, TestCase
from promptlab.errors import nearest
from promptlab.ingest.checks import (
    ExpectationCheck,
    ExpectationTooLargeError,
    Flattener,
    Remark,
)
from promptlab.ingest.files.input_file import Block
from promptlab.ingest.raw.rows import Columns, Reading, Rows, columns_of, height
from promptlab.ingest.reading.garbage import no_garbage_collection
from promptlab.ingest.reading.jsonl import Rejected, read_records
from promptlab.ingest.reading.limits import DEFAULT, Limits
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.testsets.records import CaseRecord, read_case
from promptlab.json_text.places import Keys, keys_of
from promptlab.json_text.writing import canonical, compact, shown

_SUFFIXES = (".jsonl", ".ndjson", ".json")


def pipelines_of(testset_id: str, pipelines: Iterable[Pipeline]) -> list[Pipeline]:
    """Return the pipelines whose ``default_testset`` is this testset.

    A pipeline names its testset by id, by the id's last part, or by file name, with or
    without parent folders.
    """
    return [
        pipeline
        for pipeline in pipelines
        if pipeline.default_testset and _names(pipeline.default_testset, testset_id)
    ]


class StepReferences:
    """Checks step ids against the steps of a testset's pipelines.

    Args:
        pipelines: Pipelines of this testset (``pipelines_of``); empty: no check.
    """

    def __init__(self, pipelines: Sequence[Pipeline]) -> None:
        steps = [step for one in pipelines for step in one.steps]
        ids = [step.id for step in steps]
        self._step_of = {step.output_key: step.id for step in steps if step.output_key}
        # Expectations may also name a step by its output key; inputs may not.
        self._known = {
            "step_inputs": ids,
            "intermediate_expectations": [*ids, *self._step_of],
        }
        self._pipelines = ", ".join(one.id for one in pipelines)

    def check(self, case: TestCase, record: CaseRecord) -> None:
        """Warn about each unknown step of a record's case."""
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
    """Return true if a pipeline's testset is this one."""
    for suffix in _SUFFIXES:
        reference = reference.removesuffix(suffix)
    wanted = reference.replace("\\", "/").removeprefix("./").split("/")
    have = testset_id.split("/")
    shared = min(len(wanted), len(have))
    return wanted[-shared:] == have[-shared:]


__all__ = [
    "NameParts",
    "content_hash",
    "pipelines_of",
    "read_cases",
    "testset_batches",
]


class NameParts(NamedTuple):
    """The parts of a testset's name: ``<feature>_<type>_<version>``."""

    feature: str | None
    type: str | None
    version: str | None

    @classmethod
    def of(cls, testset_id: str) -> NameParts:
        """Parse the last part of a testset id; all ``None`` if it does not match."""
        match = _NAME.fullmatch(testset_id.rsplit("/", 1)[-1])
        return cls(*match.groups()) if match else cls(None, None, None)


_NAME = re.compile(r"(.+)_([^_]+)_([vV][0-9]+(?:[._][0-9]+)*)")

# Paths repeat the keys above them, so that flat checks of a deeply nested value are
# many times its size. Real testsets are far below this limit.
_LEAST_ROOM = 64 << 20
_ROOM_PER_BYTE = 50


_NOTHING_EXPECTED = (
    "no case of this testset expects anything, so nothing is checked against it. Write"
    ' what is right, such as "expected_outputs": {"intent": "refund"}. If this is no'
    " testset, --kind says what it is."
)

BATCH_CHARACTERS = 4 << 20
"""Bytes of the records of a batch; their rows take about ten times that."""


def testset_batches(
    blocks: Iterable[Block],
    name: str,
    *,
    size: int,
    pipelines: Sequence[Pipeline] = (),
    limits: Limits = DEFAULT,
) -> Iterator[Reading]:
    """Read one testset file.

    Args:
        blocks: The file in blocks of whole lines.
        name: The testset's id: the file's path below the ingested folder without
            suffix, or the stem of a file named directly.
        size: Size of the file in bytes.
        pipelines: All known pipelines; steps are checked against those with this
            ``default_testset``.
        limits: Limits of a record.

    Yields:
        Batch by batch, rows of ``test_cases`` and ``expectations``, and with the last
        one that of ``testsets``; the problems in the order of the file. A file without
        valid records is rejected as a whole.
    """
    batch = _CaseBatch(name)
    cases = rejected = 0
    expects_something = False
    references = StepReferences(pipelines_of(name, pipelines))
    records = read_cases(blocks, size=size, limits=limits)
    while True:
        with no_garbage_collection():
            is_last = batch.fill(records, references)
        reading = batch.reading(cases)
        if not cases and reading.records_loaded:
            reading.keys = [("testset", name)]
        cases += reading.records_loaded
        rejected += reading.records_rejected
        expects_something = expects_something or batch.expects_something
        if is_last:
            break
        yield reading
        batch = _CaseBatch(name)
    if cases:
        reading.rows["testsets"] = _testset_row(name, cases)
    else:
        reading.rejected = True
    if cases and not expects_something:
        reading.problems.append(
            Problem("nothing_expected", _NOTHING_EXPECTED, "warning", line=1)
        )
    if not cases and not rejected:
        message = "the file has no test case. Write one JSON object per line."
        reading.problems.append(Problem("empty_file", message, line=1))
    yield reading


class _CaseBatch:
    """The records that are written together."""

    def __init__(self, name: str) -> None:
        self.expects_something = False
        self._reading = Reading({})
        self._rows = _TestsetRows(name)

    def fill(self, records: Iterator[CaseRecord], references: StepReferences) -> bool:
        """Add records until the batch is full; return true after the last record."""
        reading = self._reading
        room = BATCH_CHARACTERS
        for record in records:
            if record.case is None:
                reading.records_rejected += 1
            else:
                references.check(record.case, record)
                reading.records_loaded += 1
                self._rows.add(record.case, record)
                self.expects_something = self.expects_something or bool(record.checks)
            reading.problems += record.problems
            room -= len(record.text)
            if room < 0:
                return False
        return True

    def reading(self, before: int) -> Reading:
        """Return the records of the batch; *before* is the number of earlier cases."""
        if self._reading.records_loaded:
            self._reading.rows = self._rows.tables(before)
        return self._reading


def read_cases(
    data: bytes | Iterable[Block], *, size: int | None = None, limits: Limits = DEFAULT
) -> Iterator[CaseRecord]:
    """Read the valid and invalid records of a testset file, in file order.

    Valid ones have a unique id and flattened expectations; invalid ones have no case,
    and all errors in their problems.

    Args:
        data: The file's bytes, or blocks of whole lines.
        size: Size of the file in bytes, if it is read in blocks.
        limits: Limits of a record.
    """
    size = len(data) if isinstance(data, bytes) else size or 0
    flattener = Flattener(_LEAST_ROOM + _ROOM_PER_BYTE * size)
    lines: dict[str, int] = {}  # of the ids so far
    for item in read_records(data, limits=limits):
        if isinstance(item, Rejected):
            yield CaseRecord(item.line, "", problems=item.problems)
            continue
        record = read_case(item)
        case = record.case
        if case is not None and case.id in lines:
            record.reject(
                "duplicate_id",
                ("id",),
                f"{shown(case.id)} is already the id of the case in line "
                f"{lines[case.id]}. Give each case its own.",
            )
        elif case is not None:
            _flatten(case, record, flattener)
            if record.case is not None:
                lines[case.id] = record.line
        yield record


def content_hash(case: TestCase) -> str:
    """Return the SHA-256 of the inputs and expectations of a case.

    Cases with equal hashes can be compared: inputs, expectations and options of judging
    are equal, in any order of keys. Tags and unknown fields are left out.
    """
    content = [
        case.inputs,
        case.step_inputs,
        case.batch_items,
        case.expected_outputs,
        case.expected_aggregation,
        case.intermediate_expectations,
        case.evaluation_config,
    ]
    return hashlib.sha256(canonical(content)).hexdigest()


_CASE_COLUMNS = (
    "case_id",
    "line",
    "position",
    "format_version",
    "tags",
    "inputs",
    "step_inputs",
    "batch_items",
    "expected_outputs",
    "expected_aggregation",
    "intermediate_expectations",
    "evaluation_config",
    "raw_data",
    "content_hash",
)


class _TestsetRows:
    """Collects the rows of one testset."""

    def __init__(self, testset_id: str) -> None:
        self._testset_id = testset_id
        self._cases: list[tuple[Any, ...]] = []
        self._checks: list[ExpectationCheck] = []
        self._of_checks: dict[str, list[Any]] = {
            "case_id": [],
            "line": [],
            "check_no": [],
            "tolerance": [],
        }

    def add(self, case: TestCase, record: CaseRecord) -> None:
        """Add a case and its checks."""
        aggregation = case.expected_aggregation
        self._cases.append(
            (
                case.id,
                record.line,
                0,  # its position, known when the batch is full
                record.format_version,
                _json(case.tags, "[]"),
                _json(case.inputs),
                _json(case.step_inputs),
                None if case.batch_items is None else compact(case.batch_items),
                _json(case.expected_outputs),
                None if aggregation is None else compact(aggregation),
                _json(case.intermediate_expectations),
                _json(case.evaluation_config),
                record.text,
                content_hash(case),
            )
        )
        self._checks += record.checks
        count = len(record.checks)
        repeated = self._of_checks
        repeated["case_id"] += [case.id] * count
        repeated["line"] += [record.line] * count
        repeated["check_no"] += range(count)
        repeated["tolerance"] += [case.options.tolerance] * count

    def tables(self, before: int) -> Rows:
        """Return the rows of the cases; *before* is the number of earlier cases."""
        cases = columns_of(_CASE_COLUMNS, self._cases)
        return {
            "test_cases": self._table(
                {**cases, "position": list(range(before, before + len(self._cases)))}
            ),
            "expectations": self._table(
                {
                    **self._of_checks,
                    **columns_of(ExpectationCheck._fields, self._checks),
                }
            ),
        }

    def _table(self, columns: Columns) -> Columns:
        return {"testset_id": [self._testset_id] * height(columns), **columns}


def _testset_row(name: str, cases: int) -> Columns:
    """Return the row of ``testsets``."""
    names = ("testset_id", *NameParts._fields, "cases")
    return columns_of(names, [(name, *NameParts.of(name), cases)])


def _flatten(case: TestCase, record: CaseRecord, flattener: Flattener) -> None:
    try:
        record.checks, remarks = flattener.flatten(case)
    except ExpectationTooLargeError:
        record.reject(
            "expectation_too_large",
            (),
            "flattened, the expectations up to here are far larger than the file. "
            "Nest them less deeply.",
        )
        return
    for remark in remarks:
        record.warn(remark.code, _place_of(remark, record), remark.message)


_SOURCES = {
    "intermediate": "intermediate_expectations",
    "aggregation": "expected_aggregation",
    "final": "expected_outputs",
}


def _place_of(remark: Remark, record: CaseRecord) -> Keys:
    """Return the path of a warning in the record as written."""
    below = keys_of(remark.pointer)
    if remark.scope == "final" and below and below[0] in record.fields_at:
        return (record.fields_at[below[0]], *below[1:])
    step = () if remark.step_id is None else (remark.step_id,)
    return (_SOURCES[remark.scope], *step, *below)


def _json(value: Any, empty: str = "{}") -> str:
    return compact(value) if value else empty
