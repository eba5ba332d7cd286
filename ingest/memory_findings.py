"""What is wrong with a memory-benchmark file, with the place of each thing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from ingest.json_places import Key, Lines, after_space, elements, members, pointer
from ingest.problems import Problem

Keys = tuple[Key, ...]


def json_text(value: Any) -> str:
    """Write a value that was read from JSON as compact JSON."""
    return msgspec.json.encode(value).decode()


@dataclass
class Findings:
    """Collects the problems of one file, in the order in which they are found.

    Things that are the same in very many records (a key that no version of the format
    knows) become one warning that counts them.
    """

    data: bytes
    problems: list[Problem] = field(default_factory=list)
    _unknown: dict[Keys, tuple[Keys, int]] = field(default_factory=dict)

    def reject(
        self,
        code: str,
        message: str,
        keys: Keys = (),
        *,
        record_id: str | None = None,
        record: Any = None,
    ) -> None:
        """Note why a record, or the whole file where there is none, is left out."""
        raw_text = None if record is None else json_text(record)
        self._add(code, message, keys, "reject", record_id, raw_text)

    def warn(
        self, code: str, message: str, keys: Keys = (), *, record_id: str | None = None
    ) -> None:
        """Note what its writer should know; everything is loaded."""
        self._add(code, message, keys, "warning", record_id, None)

    def unknown(self, keys: Keys) -> None:
        """Note a key that the format does not know; `close` warns once for all equals.

        Two keys are equal when only their places in lists differ.
        """
        kind = tuple("*" if isinstance(key, int) else key for key in keys)
        first, count = self._unknown.get(kind, (keys, 0))
        self._unknown[kind] = (first, count + 1)

    def close(self) -> list[Problem]:
        """Add the counted warnings and return all problems."""
        for first, count in self._unknown.values():
            times = "" if count == 1 else f" {count} times, here first"
            self.warn(
                "unknown_key",
                f'the key "{first[-1]}" is not in the format{times}; it is kept in'
                " extras. Correct it if it is a slip of the pen.",
                first,
            )
        self._unknown.clear()
        return self.problems

    def _add(
        self,
        code: str,
        message: str,
        keys: Keys,
        severity: Any,
        record_id: str | None,
        raw_text: str | None,
    ) -> None:
        line, column = self._places.place(keys)
        self.problems.append(
            Problem(
                code=code,
                message=message,
                severity=severity,
                line=line,
                column=column,
                record_id=record_id,
                pointer=pointer(keys),
                raw_text=raw_text,
            )
        )

    @cached_property
    def _places(self) -> _Places:
        return _Places(self.data.decode("utf-8-sig", "surrogateescape"))


class _Places:
    """Finds values in a JSON text; remembers what it has walked through."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = Lines(text)
        self._inside: dict[int, dict[Key, int]] = {}

    def place(self, keys: Sequence[Key]) -> tuple[int, int]:
        """Return (line, column) of the value, or of the deepest one on the way."""
        start = after_space(self._text, 0)
        for key in keys:
            inside = self._walk(start)
            if key not in inside:
                break
            start = inside[key]
        return self._lines.place(start)

    def _walk(self, start: int) -> dict[Key, int]:
        if start not in self._inside:
            walks: dict[str, Callable[[str, int], Any]] = {"{": members, "[": elements}
            walk = walks.get(self._text[start : start + 1])
            spans = walk(self._text, start)[0] if walk else []
            self._inside[start] = {span.key: span.start for span in spans}
        return self._inside[start]
