"""Testsets: JSONL of test cases, and the checks of their expectations.

The pydantic contract defines the types of a record; the other checks (format version,
short forms, ids, likely mistakes, step ids) are here. Only invalid records are left
out, with all errors reported; the others load. The rules are those of docs/formats.md.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from promptlab.contracts.testset import EvaluationOptions, Pipeline, TestCase
from promptlab.encoding import mended
from promptlab.errors import InputError, nearest
from promptlab.ingest.checks import (
    ExpectationCheck,
    ExpectationTooLargeError,
    Flattener,
    Remark,
)
from promptlab.ingest.files.input_file import Block, read_whole
from promptlab.ingest.raw.rows import Columns, Reading, columns_of, columns_of_rows
from promptlab.ingest.reading.jsonl import Record, Rejected, read_records
from promptlab.ingest.reading.problems import (
    Problem,
    Severity,
    faults,
    lone_surrogate_warning,
    problem_at,
    with_place,
)
from promptlab.ingest.reading.source import (
    DEFAULT,
    Limits,
    Source,
    no_garbage_collection,
    place_of_lone_surrogate,
)
from promptlab.json_text.places import Keys, SpanIndex, keys_of, line_column
from promptlab.json_text.reading import Fault
from promptlab.json_text.writing import canonical, compact, shown

PIPELINE_FIELDS = (
    "inputs",
    "step_inputs",
    "batch_items",
    "expected_outputs",
    "expected_aggregation",
    "intermediate_expectations",
    "evaluation_config",
)
"""The fields that mark a record of version 2.0."""

_PIPELINE_FIELDS = frozenset(PIPELINE_FIELDS)
_KNOWN = _PIPELINE_FIELDS | {"id", "tags", "expected_output"}
_OPTIONS = frozenset(EvaluationOptions.model_fields)

_HINTS = {
    "id": 'Give the case an id such as "refund_basic_1".',
    "tags": 'Write a list of texts such as ["smoke"].',
    "inputs": 'Write an object such as {"text": "…"}.',
    "step_inputs": 'Write {"step id": {"input": "…"}}.',
    "batch_items": 'Write a list of objects such as [{"text": "…"}], or null.',
    "expected_outputs": 'Write an object such as {"output": "…"}.',
    "intermediate_expectations": 'Write {"step id": {"field": "…"}}.',
    "evaluation_config": "Correct it, or leave the key out for the default.",
}


@dataclass(slots=True)
class CaseRecord:
    """A record after checking: a case, or the problems that reject it."""

    line: int
    """First line of the record, from 1."""

    text: str
    """The record as written."""

    case: TestCase | None = None
    format_version: str = ""
    """``1.0`` or ``2.0``."""

    checks: list[ExpectationCheck] = field(default_factory=list)
    """The flattened expectations; empty if not requested."""

    problems: list[Problem] = field(default_factory=list)
    """Rejects for a file without cases, else warnings."""

    fields_at: dict[str, str] = field(default_factory=dict)
    """Field of ``expected_outputs`` → the record's own key, from a short form or
    version 1.0."""

    source: Record | None = None
    """The decoded record; ``None`` if it is not JSON."""

    @property
    def record_id(self) -> str | None:
        """The case's id, once it is known."""
        return self.case.id if self.case else None

    def reject(self, code: str, at: Keys, message: str) -> None:
        """Leave the record out."""
        self.problems = [p for p in self.problems if p.severity == "reject"]
        self.add(Fault(at, code, message), "reject", self.record_id)
        self.case = None

    def warn(self, code: str, at: Keys, message: str) -> None:
        """Warn about a record that is kept."""
        self.add(Fault(at, code, message), "warning", self.record_id)

    def add(self, fault: Fault, severity: Severity, record_id: str | None) -> None:
        """Add a problem."""
        raw_text = self.text if severity == "reject" else None
        self.problems.append(
            problem_at(
                self._place, fault, severity, record_id=record_id, raw_text=raw_text
            )
        )

    def _place(self, keys: Keys) -> tuple[int, int]:
        assert self.source is not None, "what could not be read has its problems"
        place = self.source.place
        return place.in_file(*line_column(place.text, SpanIndex(place.text).find(keys)))


def read_case(record: Record) -> CaseRecord:
    """Convert one record to version 2.0 and check it; report all errors."""
    result = CaseRecord(record.place.line, record.place.text, source=record)
    value = record.value
    if not isinstance(value, dict):
        fix = "Write one object per line, without [ ] around them and commas between."
        result.reject("not_an_object", (), f"a record is a JSON object. {fix}")
        return result
    if _PIPELINE_FIELDS.isdisjoint(value):
        fields = _from_version_1(value, result)
    else:
        fields = _from_version_2(value, result)
    if type(value.get("id")) is int:
        fields["id"] = str(value["id"])
    try:
        result.case = TestCase.model_validate(fields)
    except ValidationError as error:
        case_id = fields.get("id")
        record_id = case_id if isinstance(case_id, str) else None
        for fault in faults(error, fields):
            hint = _HINTS.get(str(fault.keys[0]), "") if fault.keys else ""
            message = f"{fault.message}. {hint}".rstrip()
            result.add(replace(fault, message=message), "reject", record_id)
        return result
    _warn(value, result.case, result)
    return result


def _from_version_1(value: dict[str, Any], result: CaseRecord) -> dict[str, Any]:
    """Read a simple record: expectations by their prefix, other keys are inputs."""
    result.format_version = "1.0"
    inputs: dict[str, Any] = {}
    expected: dict[str, Any] = {}
    fields = {"inputs": inputs, "expected_outputs": expected, "raw_data": value}
    for key, item in value.items():
        if key in ("id", "tags"):
            fields[key] = item
            continue
        name = _expected_output(key, value)
        if name:
            expected[name] = item
            result.fields_at[name] = key
        else:
            inputs[key] = item
    return fields


def _expected_output(key: str, value: dict[str, Any]) -> str:
    """Return the output to which an expectation key of a simple record applies."""
    if key == "expected":
        return "" if "expected_output" in value else "output"
    return key.removeprefix("expected_") if key.startswith("expected_") else ""


def _from_version_2(value: dict[str, Any], result: CaseRecord) -> dict[str, Any]:
    """Read a pipeline record: its known fields, and the short form of an output."""
    result.format_version = "2.0"
    fields = {key: item for key, item in value.items() if key in _KNOWN}
    short_form = fields.pop("expected_output", None)
    if "expected_output" in value and "expected_outputs" not in value:
        fields["expected_outputs"] = {"output": short_form}
        result.fields_at["output"] = "expected_output"
    fields["raw_data"] = value
    return fields


def _warn(value: dict[str, Any], case: TestCase, result: CaseRecord) -> None:
    """Warn about values that are allowed but probably mistakes."""
    if type(value["id"]) is int:
        result.warn(
            "integer_id", ("id",), f'the id is a number; read as "{case.id}". Quote it.'
        )
    if result.format_version == "1.0":
        if "expected" in value and "expected_output" in value:
            message = "read as an input, because expected_output is there too"
            result.warn("unused_expectation", ("expected",), f"{message}. Keep one.")
        if isinstance(value.get("input"), dict):
            result.warn(
                "doubtful_format",
                ("input",),
                "read as the simple form, in which each key is an input or an expected"
                " output of its own; did you mean inputs and expected_outputs?",
            )
        return
    if "expected_output" in value and "expected_outputs" in value:
        result.warn(
            "unused_expectation",
            ("expected_output",),
            "not judged, because expected_outputs is there too. Move it in there.",
        )
    if case.batch_items and case.expected_aggregation is None:
        result.warn(
            "no_expected_aggregation",
            ("batch_items",),
            "batch items without expected_aggregation: what becomes of the batch is "
            "not judged. Add one.",
        )
    for key in value:
        field_name = None if key in _KNOWN else _intended_field(key)
        if field_name:
            result.warn(
                "unknown_field",
                (key,),
                f"unknown, so only kept in raw_data; did you mean {field_name}?",
            )
    for key in case.evaluation_config:
        if key in _OPTIONS:
            continue
        close = get_close_matches(key, sorted(_OPTIONS), n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        result.warn(
            "unknown_option",
            ("evaluation_config", key),
            f"no option of evaluation_config, so it does nothing{hint}",
        )


@lru_cache(maxsize=1024)
def _intended_field(key: str) -> str | None:
    """Return the field that an unknown key is probably meant to be."""
    if key.startswith("expect") or key in ("output", "outputs"):
        return "expected_outputs"
    fields = ("tags", *PIPELINE_FIELDS)
    return next(iter(get_close_matches(key, fields, n=1, cutoff=0.85)), None)


_SUFFIXES = (".jsonl", ".ndjson", ".json")


def pipelines_of(testset_id: str, pipelines: Iterable[Pipeline]) -> list[Pipeline]:
    """Return the pipelines whose ``default_testset`` is this testset.

    A pipeline names its testset by id, by the id's last part, or by file name, with or
    without parent folders.
    """
    return [
        pipeline
        for pipeline in pipelines
        if pipeline.default_testset
        and _is_reference_to(pipeline.default_testset, testset_id)
    ]


class StepReferences:
    """Checks step ids against the steps of a testset's pipelines."""

    def __init__(self, pipelines: Sequence[Pipeline]) -> None:
        steps = [step for pipeline in pipelines for step in pipeline.steps]
        ids = [step.id for step in steps]
        self._step_of = {step.output_key: step.id for step in steps if step.output_key}
        # Expectations may also name a step by its output key; inputs may not.
        self._allowed = {
            "step_inputs": ids,
            "intermediate_expectations": [*ids, *self._step_of],
        }
        self._pipelines = ", ".join(pipeline.id for pipeline in pipelines)

    def check(self, case: TestCase, record: CaseRecord) -> None:
        """Warn about each unknown step of a record's case."""
        if not self._pipelines:
            return
        for key, allowed in self._allowed.items():
            for step_id in getattr(case, key):
                if step_id not in allowed:
                    record.warn(
                        "unknown_step",
                        (key, step_id),
                        f"pipeline {self._pipelines} has no step {shown(step_id)}"
                        f"{self._suggestion(step_id, allowed)}",
                    )

    def _suggestion(self, step_id: str, allowed: Sequence[str]) -> str:
        if step_id in self._step_of:
            return f"; that is the output of step {shown(self._step_of[step_id])}"
        step_names = ", ".join(map(shown, allowed))
        return nearest(step_id, allowed) or f"; it has {step_names}"


def _is_reference_to(reference: str, testset_id: str) -> bool:
    """Return true if a pipeline's testset is this one."""
    for suffix in _SUFFIXES:
        reference = reference.removesuffix(suffix)
    reference_parts = reference.replace("\\", "/").removeprefix("./").split("/")
    id_parts = testset_id.split("/")
    shared = min(len(reference_parts), len(id_parts))
    return reference_parts[-shared:] == id_parts[-shared:]


_NAME = re.compile(r"(.+)_([^_]+)_([vV][0-9]+(?:[._][0-9]+)*)")
"""The last part of a testset's id: ``<feature>_<type>_<version>``."""

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


def read(source: Source) -> Iterator[Reading]:
    """Read one testset file, whose name is its id.

    Its steps are checked against the pipelines with this ``default_testset``.

    Yields:
        Batch by batch, rows of ``test_cases`` and ``expectations``, and with the last
        one that of ``testsets``; the problems in the order of the file. A file without
        valid records is rejected as a whole.
    """
    name = source.name
    batch = _CaseBatch(name)
    cases = rejected = 0
    expects_something = False
    references = StepReferences(pipelines_of(name, source.pipelines))
    records = read_cases(source.in_blocks, size=source.size, limits=source.limits)
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
    """The records that are written together, and their rows."""

    def __init__(self, testset_id: str) -> None:
        self.expects_something = False
        self._testset_id = testset_id
        self._reading = Reading({})
        self._cases: list[dict[str, Any]] = []
        self._checks: list[tuple[Any, ...]] = []

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
                self.add(record.case, record)
                self.expects_something = self.expects_something or bool(record.checks)
            reading.problems += record.problems
            room -= len(record.text)
            if room < 0:
                return False
        return True

    def add(self, case: TestCase, record: CaseRecord) -> None:
        items, aggregation = case.batch_items, case.expected_aggregation
        self._cases.append(
            {
                "testset_id": self._testset_id,
                "case_id": case.id,
                "line": record.line,
                "format_version": record.format_version,
                "tags": _json(case.tags, "[]"),
                "inputs": _json(case.inputs),
                "step_inputs": _json(case.step_inputs),
                "batch_items": None if items is None else compact(items),
                "expected_outputs": _json(case.expected_outputs),
                "expected_aggregation": (
                    None if aggregation is None else compact(aggregation)
                ),
                "intermediate_expectations": _json(case.intermediate_expectations),
                "evaluation_config": _json(case.evaluation_config),
                "raw_data": record.text,
                "content_hash": content_hash(case),
            }
        )
        tolerance = case.options.tolerance
        self._checks += [
            (self._testset_id, case.id, record.line, check_no, tolerance, *check)
            for check_no, check in enumerate(record.checks)
        ]

    def reading(self, before: int) -> Reading:
        """Return the records of the batch; *before* is the number of earlier cases."""
        if self._cases:
            positions = range(before, before + len(self._cases))
            self._reading.rows = {
                "test_cases": {
                    **columns_of_rows(self._cases),
                    "position": list(positions),
                },
                "expectations": columns_of(_CHECK_COLUMNS, self._checks),
            }
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


_CHECK_COLUMNS = (
    *("testset_id", "case_id", "line", "check_no", "tolerance"),
    *ExpectationCheck._fields,
)


def _testset_row(name: str, cases: int) -> Columns:
    """Return the row of ``testsets``."""
    match = _NAME.fullmatch(name.rsplit("/", 1)[-1])
    feature, type_, version = match.groups() if match else (None, None, None)
    return {
        "testset_id": [name],
        "feature": [feature],
        "type": [type_],
        "version": [version],
        "cases": [cases],
    }


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
    path = keys_of(remark.pointer)
    if remark.scope == "final" and path and path[0] in record.fields_at:
        return (record.fields_at[path[0]], *path[1:])
    step = () if remark.step_id is None else (remark.step_id,)
    return (_SOURCES[remark.scope], *step, *path)


def _json(value: Any, empty: str = "{}") -> str:
    return compact(value) if value else empty


def load_testset(path: str | Path) -> list[TestCase]:
    """Read a testset file (JSONL, version 1.0 or 2.0 of the format).

    Returns:
        Its cases, in the order of the file.

    Raises:
        InputError: The file cannot be read, or a record has errors; the message
            lists every error as ``file:line:column: pointer: message``.
    """
    records = list(read_cases(mended(read_whole(Path(path)))[0]))
    rejects = [
        problem
        for record in records
        for problem in record.problems
        if problem.severity == "reject"
    ]
    if rejects:
        raise InputError("\n".join(with_place(path, problem) for problem in rejects))
    return [record.case for record in records if record.case is not None]


def validate_testset(path: str | Path) -> list[Problem]:
    """Return every problem of a testset file: rejects and warnings, in file order.

    Raises:
        InputError: The file cannot be read.
    """
    original = read_whole(Path(path))
    data, n_surrogates = mended(original)
    problems = [problem for record in read_cases(data) for problem in record.problems]
    if n_surrogates:
        problems.append(
            lone_surrogate_warning(n_surrogates, **place_of_lone_surrogate([original]))
        )
    return problems


def filter_by_tags(
    cases: Iterable[TestCase],
    include: Collection[str] | None = None,
    exclude: Collection[str] | None = None,
) -> list[TestCase]:
    """Return the cases with a tag of *include* and without tags of *exclude*.

    Args:
        cases: The cases; their order is kept.
        include: One of these tags is enough; ``None``: every case.
        exclude: Cases with any of these tags are excluded; overrides *include*.
    """
    included = None if include is None else frozenset(_tags(include))
    excluded = frozenset(_tags(exclude or ()))
    return [
        case
        for case in cases
        if (included is None or not included.isdisjoint(case.tags))
        and excluded.isdisjoint(case.tags)
    ]


def _tags(tags: Collection[str]) -> Collection[str]:
    return [tags] if isinstance(tags, str) else tags
