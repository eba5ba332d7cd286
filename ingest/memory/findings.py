"""The problems of a memory-benchmark file, and tolerant reading of its objects.

The answers of a conversation are useful even if its statistics are invalid, so a value
of the wrong type becomes an extra with a warning, and only fields that identify a
record are required.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from promptlab.ingest.reading.problems import (
    CountedProblems,
    Problem,
    faults,
    problem_at,
)
from promptlab.json_text.places import Keys, SpanIndex
from promptlab.json_text.reading import Fault
from promptlab.json_text.writing import shown

_WHOLE_FILE = object()


json_bytes = msgspec.json.Encoder().encode
"""Write a value that was read from JSON as compact JSON."""


def json_text(value: Any) -> str:
    """Write a value that was read from JSON as compact JSON."""
    return json_bytes(value).decode()


@dataclass
class Findings:
    """Collects the problems of one file in order.

    A problem of very many records (such as an unknown key) becomes one warning with a
    count.
    """

    data: bytes
    problems: list[Problem] = field(default_factory=list)
    _counted: CountedProblems = field(
        default_factory=lambda: CountedProblems(_how_often)
    )

    def reject(
        self,
        code: str,
        message: str,
        keys: Keys = (),
        *,
        record_id: str | None = None,
        record: Any = _WHOLE_FILE,
    ) -> None:
        """Reject a record, or the whole file without a record."""
        raw_text = None if record is _WHOLE_FILE else json_text(record)
        fault = Fault(keys, code, message)
        self.problems.append(
            problem_at(self._place, fault, record_id=record_id, raw_text=raw_text)
        )

    def warn(self, code: str, message: str, keys: Keys = ()) -> None:
        """Add a warning; everything is loaded."""
        fault = Fault(keys, code, message)
        self.problems.append(problem_at(self._place, fault, "warning"))

    def count(self, code: str, message: str, keys: Keys) -> None:
        """Count a problem that may be in many records; `close` adds one warning.

        Problems are the same if only list positions differ; the first message is used.
        """
        where = tuple("*" if isinstance(key, int) else key for key in keys)
        fault = Fault(keys, code, message)
        first = partial(problem_at, self._place, fault, "warning")
        self._counted.add((code, where), first)

    def unknown(self, keys: Keys) -> None:
        """Add a warning about an unknown key."""
        message = (
            f'the key "{keys[-1]}" is not in the format; it is kept in extras.'
            " Correct it if it is a slip of the pen."
        )
        self.count("unknown_key", message, keys)

    def close(self) -> list[Problem]:
        """Add the counted warnings and return all problems."""
        self.problems += self._counted.problems()
        return self.problems

    def _place(self, keys: Keys) -> tuple[int, int]:
        return self._index.line_column(self._index.find(keys))

    @cached_property
    def _index(self) -> SpanIndex:
        return SpanIndex(self.data.decode("utf-8-sig", "surrogateescape"))


def _how_often(_kind: object, first: Problem, count: int) -> str:
    often = f" ({count} times, this is the first)" if count > 1 else ""
    return first.message + often


Model = TypeVar("Model", bound=BaseModel)


def tolerant(
    model: type[Model], value: Any, keys: Keys, findings: Findings
) -> tuple[Model, Any]:
    """Read an object by its contract, and return its invalid values separately.

    Args:
        model: A contract whose required fields, if any, exist in the object.
        value: The object; null and missing count as an empty object.
        keys: Its path in the file.
        findings: Receives a warning for every invalid value.

    Returns:
        The known fields, and the rest as a JSON object, which may be empty.
    """
    if value is None:
        return model(), {}
    if not isinstance(value, dict):
        _refuse(f"expected an object, found {shown(value)}", keys, findings)
        return model(), value
    try:
        record = model.model_validate(value)
        invalid = {}
    except ValidationError as error:
        errors = faults(error, value)
        for fault in errors:
            _refuse(fault.message, (*keys, *fault.keys), findings)
        names = {fault.keys[0] for fault in errors}
        invalid = {name: value[name] for name in value if name in names}
        valid = {name: value[name] for name in value if name not in names}
        record = model.model_validate(valid)
    return record, invalid | unknown_keys(record, keys, findings)


def unknown_keys(record: BaseModel, keys: Keys, findings: Findings) -> dict[str, Any]:
    """Return unknown fields at all depths, with a warning for each."""
    rest: dict[str, Any] = dict(record.model_extra or {})
    for name in rest:
        findings.unknown((*keys, name))
    for name in type(record).model_fields:
        inner = getattr(record, name)
        if isinstance(inner, BaseModel):
            inner_rest = unknown_keys(inner, (*keys, name), findings)
            if inner_rest:
                rest[name] = inner_rest
    return rest


def _refuse(message: str, keys: Keys, findings: Findings) -> None:
    findings.count("unreadable_value", f"{message}; it is kept in extras.", keys)
