"""The problems of a memory-benchmark file, each with its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import msgspec

from promptlab.ingest.reading.problems import CountedProblems, Problem, problem_at
from promptlab.json_text.places import Keys, SpanIndex
from promptlab.json_text.reading import Fault

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

    def warn(
        self, code: str, message: str, keys: Keys = (), *, record_id: str | None = None
    ) -> None:
        """Add a warning; everything is loaded."""
        fault = Fault(keys, code, message)
        self.problems.append(
            problem_at(self._place, fault, "warning", record_id=record_id)
        )

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
