"""Convert a testset record to a checked ``TestCase``.

The pydantic contract defines the types; all other checks of one record (format
version, short forms, ids, likely mistakes) are here. Checks that need the whole file
(unique ids) or a pipeline (step ids) are in ``reader``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from promptlab.contracts.testset import EvaluationOptions, TestCase
from promptlab.ingest.checks import ExpectationCheck
from promptlab.ingest.reading.contract_faults import faults
from promptlab.ingest.reading.jsonl import Record
from promptlab.ingest.reading.problems import Problem, Severity, problem_at
from promptlab.json_text.places import Keys
from promptlab.json_text.reading import Fault

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
        self._add(Fault(at, code, message), "reject", self.record_id)
        self.case = None

    def warn(self, code: str, at: Keys, message: str) -> None:
        """Warn about a record that is kept."""
        self._add(Fault(at, code, message), "warning", self.record_id)

    def refuse(self, faults: Iterable[Fault], record_id: str | None) -> None:
        """Record the errors of the contract."""
        for fault in faults:
            self._add(fault, "reject", record_id)

    def _add(self, fault: Fault, severity: Severity, record_id: str | None) -> None:
        raw_text = self.text if severity == "reject" else None
        self.problems.append(
            problem_at(
                self._place, fault, severity, record_id=record_id, raw_text=raw_text
            )
        )

    def _place(self, keys: Keys) -> tuple[int, int]:
        assert self.source is not None, "what could not be read has its problems"
        return self.source.place(keys)


def read_case(record: Record) -> CaseRecord:
    """Convert one record to version 2.0 and check it; report all errors."""
    result = CaseRecord(record.line, record.text, source=record)
    value = record.value
    if not isinstance(value, dict):
        fix = "Write one object per line, without [ ] around them and commas between."
        result.reject("not_an_object", (), f"a record is a JSON object. {fix}")
        return result
    if _PIPELINE_FIELDS.isdisjoint(value):
        fields = _from_version_1(value, result)
    else:
        fields = _from_version_2(value, result)
    case_id = value.get("id")
    if type(case_id) is int:
        fields["id"] = str(case_id)
    try:
        result.case = TestCase.model_validate(fields)
    except ValidationError as error:
        _reject_faults(error, fields, result)
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


def _reject_faults(
    error: ValidationError, fields: dict[str, Any], result: CaseRecord
) -> None:
    case_id = fields.get("id")
    found = []
    for fault in faults(error, fields):
        hint = _HINTS.get(str(fault.keys[0]), "") if fault.keys else ""
        found.append(replace(fault, message=f"{fault.message}. {hint}".rstrip()))
    result.refuse(found, case_id if isinstance(case_id, str) else None)


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
        meant = None if key in _KNOWN else _slip(key)
        if meant:
            result.warn(
                "unknown_field",
                (key,),
                f"unknown, so only kept in raw_data; did you mean {meant}?",
            )
    for key in case.evaluation_config:
        if key in _OPTIONS:
            continue
        close = get_close_matches(key, sorted(_OPTIONS), n=1)
        meant = f"; did you mean {close[0]}?" if close else ""
        result.warn(
            "unknown_option",
            ("evaluation_config", key),
            f"no option of evaluation_config, so it does nothing{meant}",
        )


@lru_cache(maxsize=1024)
def _slip(key: str) -> str | None:
    """Return the field that an unknown key is probably meant to be."""
    if key.startswith("expect") or key in ("output", "outputs"):
        return "expected_outputs"
    known = ("tags", *PIPELINE_FIELDS)
    return next(iter(get_close_matches(key, known, n=1, cutoff=0.85)), None)
