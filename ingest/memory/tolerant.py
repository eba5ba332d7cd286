"""The problems of a memory-benchmark file, and tolerant reading of its objects.

The answers of a conversation are useful even if its statistics are invalid, so a value
of the wrong type becomes an extra with a warning, and only fields that identify a
record are required.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from promptlab.contracts.memory_run import StageCall
from promptlab.ingest.reading.problems import (
    CountedProblems,
    Problem,
    faults,
    in_order,
    problem_at,
)
from promptlab.json_text.places import Keys, SpanIndex, decode
from promptlab.json_text.reading import Fault
from promptlab.json_text.writing import compact

_WHOLE_FILE = object()


@dataclass
class FileProblems:
    """Collects the problems of one file in order.

    A problem of very many records (such as an unknown key) becomes one warning with a
    count.
    """

    data: bytes
    problems: list[Problem] = field(default_factory=list)
    _counted: CountedProblems = field(default_factory=CountedProblems)

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
        raw_text = None if record is _WHOLE_FILE else compact(record)
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

        Problems are the same if only list positions and the found values differ.
        """
        where = tuple("*" if isinstance(key, int) else key for key in keys)
        kind = message.partition(", found ")[0]
        fault = Fault(keys, code, message)
        first = partial(problem_at, self._place, fault, "warning")
        self._counted.add((code, where, kind), first)

    def unknown(self, keys: Keys) -> None:
        """Count a key that the format does not have."""
        message = (
            f'the key "{keys[-1]}" is not in the format; it is kept in extras.'
            " Correct it if it is a slip of the pen."
        )
        self.count("unknown_key", message, keys)

    def unreadable(self, message: str, keys: Keys) -> None:
        """Count a value that does not fit the format."""
        self.count("unreadable_value", f"{message}; it is kept in extras.", keys)

    def close(self) -> list[Problem]:
        """Return all problems and the counted warnings, in the order of the file."""
        return in_order([*self.problems, *self._counted.problems()])

    def _place(self, keys: Keys) -> tuple[int, int]:
        return self._index.line_column(self._index.find(keys))

    @cached_property
    def _index(self) -> SpanIndex:
        return SpanIndex(decode(self.data))


Extras = dict[str, Any]
"""Values that no column has, under their paths; positions in lists are text keys."""

Model = TypeVar("Model", bound=BaseModel)


def read_tolerantly(
    model: type[Model], value: Any, keys: Keys, problems: FileProblems
) -> tuple[Model, Extras]:
    """Read an object by its contract, without its invalid values and unknown keys.

    Args:
        model: A contract whose required fields, if any, are valid in the object. Null
            counts as missing everywhere.
        value: The object.
        keys: Its path in the file.
        problems: Receives a warning for every invalid value and every unknown key.
    """
    extras: Extras = {}
    try:
        record = model.model_validate(value)
    except ValidationError as error:
        # of a union, one value may have several errors
        messages = {
            fault.keys: fault.message for fault in reversed(faults(error, value))
        }
        for path, message in reversed(messages.items()):
            invalid = _at(value, path)
            if invalid is not None:
                problems.unreadable(message, (*keys, *path))
                add_extra(extras, path, invalid)
            value = _without(value, path)
        record = model.model_validate(value)
    for path in _unknown_keys(record):
        problems.unknown((*keys, *path))
        add_extra(extras, path, _at(value, path))
    return record, extras


def add_extra(extras: Extras, path: Keys, value: Any) -> None:
    """Add a value under its path."""
    *parents, last = map(str, path)
    for name in parents:
        extras = extras.setdefault(name, {})
    extras[last] = value


def _at(value: Any, path: Keys) -> Any:
    for key in path:
        value = value[key]
    return value


def _without(value: Any, path: Keys) -> Any:
    """Return a copy without the value at a path.

    In a list an empty object takes its place, so that others keep their positions.
    """
    key: Any
    key, *below = path
    copy = value.copy()
    if below:
        copy[key] = _without(value[key], tuple(below))
    elif isinstance(copy, list):
        copy[key] = {}
    else:
        del copy[key]
    return copy


def _unknown_keys(record: BaseModel, path: Keys = ()) -> Iterator[Keys]:
    """Yield the paths of unknown keys at all depths."""
    unknown: Iterable[str] = record.model_extra or ()
    if isinstance(record, StageCall):
        unknown = record.unknown
    for name in unknown:
        yield (*path, name)
    for name in type(record).model_fields:
        for below, part in _parts(getattr(record, name)):
            yield from _unknown_keys(part, (*path, name, *below))


def _parts(value: Any) -> Iterator[tuple[Keys, BaseModel]]:
    """Yield the objects in the value of a field, with their paths."""
    if isinstance(value, BaseModel):
        yield (), value
    elif isinstance(value, list | dict):
        members = enumerate(value) if isinstance(value, list) else value.items()
        yield from (
            ((key,), part) for key, part in members if isinstance(part, BaseModel)
        )
