"""Testset files: JSONL of test cases in, rows of the raw tables out.

``read_testset`` never stops at a bad record: it alone is left out, with every fault
named, and the others load. The rules are those of semantics section 2.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ingest.checks import Check, ExpectationTooLargeError, Flattener, Remark
from ingest.garbage import no_garbage_collection
from ingest.json_places import pointer
from ingest.json_text import canonical, dump
from ingest.jsonl import Record, Rejected, read_records
from ingest.problems import Problem
from ingest.reading import Reading
from ingest.rows import Rows, columns_of
from ingest.step_references import check_step_references, pipelines_of
from ingest.testset_records import CaseRecord, read_case
from promptlab.contracts.pipeline import Pipeline
from promptlab.contracts.testset import TestCase

__all__ = [
    "TestsetName",
    "TestsetReading",
    "check_step_references",
    "content_hash",
    "pipelines_of",
    "read_testset",
]


@dataclass
class TestsetReading(Reading):
    """A testset file, read."""

    __test__ = False

    cases: list[CaseRecord] = field(default_factory=list)
    """The good records, in the order of the file."""


class TestsetName(NamedTuple):
    """What the name of a testset says: ``<feature>_<type>_<version>``."""

    __test__ = False

    feature: str | None
    type: str | None
    version: str | None

    @classmethod
    def of(cls, testset_id: str) -> TestsetName:
        """Read the last part of a testset id; all ``None`` where it does not fit."""
        match = _NAME.fullmatch(testset_id.rsplit("/", 1)[-1])
        return cls(*match.groups()) if match else cls(None, None, None)


_NAME = re.compile(r"(.+)_([^_]+)_([vV][0-9]+(?:[._][0-9]+)*)")

# Paths repeat the keys above them, so that flat checks of a deeply nested value are
# many times its size. No honest testset comes near.
_LEAST_ROOM = 64 << 20
_ROOM_PER_BYTE = 50


def read_testset(
    data: bytes, name: str, *, pipelines: Sequence[Pipeline] = ()
) -> TestsetReading:
    """Read one testset file.

    Args:
        data: The file's bytes.
        name: The testset's id: the file's path below the ingested folder without
            suffix, or the stem of a file named directly.
        pipelines: All pipelines that are known; steps are checked against those whose
            ``default_testset`` this is.

    Returns:
        Rows of ``testsets``, ``test_cases`` and ``expectations``, and the problems in
        the order of the file; warnings about step ids come last. A file without any
        good record is rejected as a whole.
    """
    reader = _TestsetReader(name, Flattener(_LEAST_ROOM + _ROOM_PER_BYTE * len(data)))
    with no_garbage_collection():
        for item in read_records(data):
            reader.take(item)
    return reader.finish(pipelines)


def content_hash(case: TestCase) -> str:
    """Return the SHA-256 of what is asked of a case and what is expected of it.

    Two cases of one hash can be compared: inputs, expectations and the way of judging
    are equal, whatever the order of keys. Tags and unknown fields are left out.
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


class _TestsetReader:
    """Collects the cases of one file."""

    def __init__(self, testset_id: str, flattener: Flattener) -> None:
        self._testset_id = testset_id
        self._flattener = flattener
        self._lines: dict[str, int] = {}  # of the ids so far
        self._cases: list[CaseRecord] = []
        self._rejected = 0
        self._problems: list[Problem] = []
        self._case_rows: list[tuple[Any, ...]] = []
        self._checks: list[Check] = []
        self._checks_of_case: list[int] = []

    def take(self, item: Record | Rejected) -> None:
        """Take the next record of the file."""
        if isinstance(item, Rejected):
            self._rejected += 1
            self._problems += item.problems
            return
        record = read_case(item)
        self._check_id(record)
        if record.case is not None:
            self._flatten(record.case, record)
        self._problems += record.problems
        if record.case is None:
            self._rejected += 1
        else:
            self._add(record.case, record)

    def _check_id(self, record: CaseRecord) -> None:
        if record.case is None:
            return
        first = self._lines.get(record.case.id)
        if first is not None:
            record.reject(
                "duplicate_id",
                "/id",
                f'"{record.case.id}" is already the id of the case in line {first}. '
                "Give each case its own.",
            )

    def _flatten(self, case: TestCase, record: CaseRecord) -> None:
        try:
            checks, remarks = self._flattener.flatten(case)
        except ExpectationTooLargeError:
            record.reject(
                "expectation_too_large",
                "",
                "flattened, the expectations up to here are far larger than the file. "
                "Nest them less deeply.",
            )
            return
        self._checks += checks
        self._checks_of_case.append(len(checks))
        for remark in remarks:
            record.warn(remark.code, _place_of(remark, record), remark.message)

    def _add(self, case: TestCase, record: CaseRecord) -> None:
        self._lines[case.id] = record.line
        self._case_rows.append(
            (
                case.id,
                record.line,
                len(self._cases),
                record.format_version,
                _json(case.tags, "[]"),
                _json(case.inputs),
                _json(case.step_inputs),
                None if case.batch_items is None else dump(case.batch_items),
                _json(case.expected_outputs),
                None
                if case.expected_aggregation is None
                else dump(case.expected_aggregation),
                _json(case.intermediate_expectations),
                _json(case.evaluation_config),
                record.text,
                content_hash(case),
            )
        )
        self._cases.append(record)

    def finish(self, pipelines: Sequence[Pipeline]) -> TestsetReading:
        """Return what the file came to."""
        if not self._cases:
            if not self._rejected:
                message = "the file has no test case. Write one JSON object per line."
                self._problems.append(Problem("empty_file", message, line=1))
            return TestsetReading(
                {},
                self._problems,
                records_rejected=self._rejected,
                rejected=True,
            )
        known = pipelines_of(self._testset_id, pipelines)
        self._problems += check_step_references(self._cases, known)
        return TestsetReading(
            self._rows(),
            self._problems,
            records_loaded=len(self._cases),
            records_rejected=self._rejected,
            keys=[("testset", self._testset_id)],
            cases=self._cases,
        )

    def _rows(self) -> Rows:
        name = TestsetName.of(self._testset_id)
        cases = len(self._cases)
        return {
            "testsets": columns_of(
                ("testset_id", *TestsetName._fields, "cases"),
                [(self._testset_id, *name, cases)],
            ),
            "test_cases": {
                "testset_id": [self._testset_id] * cases,
                **columns_of(_CASE_COLUMNS, self._case_rows),
            },
            "expectations": self._expectations(),
        }

    def _expectations(self) -> dict[str, Sequence[Any]]:
        case_ids: list[str] = []
        lines: list[int] = []
        numbers: list[int] = []
        tolerances: list[float] = []
        for record, count in zip(self._cases, self._checks_of_case, strict=True):
            case = record.case
            assert case is not None  # only good records are among the cases
            case_ids += [case.id] * count
            lines += [record.line] * count
            numbers += range(count)
            tolerances += [case.options.tolerance] * count
        return {
            "testset_id": [self._testset_id] * len(case_ids),
            "case_id": case_ids,
            "line": lines,
            "check_no": numbers,
            **columns_of(Check._fields, self._checks),
            "tolerance": tolerances,
        }


_SOURCES = {
    "intermediate": "intermediate_expectations",
    "aggregation": "expected_aggregation",
    "final": "expected_outputs",
}


def _place_of(remark: Remark, record: CaseRecord) -> str:
    """Return the JSON Pointer, in the record as written, of what a remark is about."""
    keys = [_SOURCES[remark.scope]]
    below = remark.pointer
    if remark.step_id is not None:
        keys.append(remark.step_id)
    if remark.scope == "final":
        field_name = below[1:].split("/", 1)[0].replace("~1", "/").replace("~0", "~")
        written_as = record.fields_at.get(field_name)
        if written_as is not None:
            keys = [written_as]
            below = below[len(pointer([field_name])) :]
    return pointer(keys) + below


def _json(value: Any, empty: str = "{}") -> str:
    return dump(value) if value else empty
