"""Problems of a file, which `validate` prints and `raw.rejects` stores."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, Literal

from promptlab.json_text.places import Keys, pointer
from promptlab.json_text.reading import Fault, printable

Severity = Literal["reject", "warning"]

Place = Callable[[Keys], tuple[int, int]]
"""Line and column of the value at a path, or of its deepest existing parent."""

LONGEST_RAW_TEXT = 1 << 20
"""Maximum stored length of a rejected record."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One error or warning about one record of a file.

    A record with a ``reject`` is left out and stored as ``raw_text``; a record with a
    ``warning`` is loaded. ``line`` and ``column`` count from 1 (column in characters);
    ``pointer`` is a JSON Pointer (RFC 6901) inside the record of a JSONL file, or
    inside a JSON file.
    """

    code: str
    message: str
    severity: Severity = "reject"
    line: int | None = None
    column: int | None = None
    record_id: str | None = None
    pointer: str | None = None
    raw_text: str | None = None


def problem_at(
    place: Place,
    fault: Fault,
    severity: Severity = "reject",
    *,
    record_id: str | None = None,
    way: Keys = (),
    raw_text: str | None = None,
) -> Problem:
    """Return an error of a text as a problem, with its place in the file.

    Args:
        place: Finds a value of the text in the file, for an error without a line.
        fault: Its keys start at the top of the text; its line is that of the file.
        severity: ``reject`` or ``warning``.
        record_id: The record that it belongs to.
        way: The path to the text, if it is a part of a JSON document.
        raw_text: The stored text of a rejected record.
    """
    line, column = fault.line, fault.column
    if line is None:
        line, column = place(fault.keys)
    return Problem(
        code=fault.code,
        message=printable(fault.message),
        severity=severity,
        line=line,
        column=column,
        record_id=record_id and printable(record_id),
        pointer=printable(pointer((*way, *fault.keys))),
        raw_text=raw_text,
    )


def kept(text: str) -> str:
    """Return the stored text of a rejected record; a long one is shortened."""
    text = printable(text)
    if len(text) <= LONGEST_RAW_TEXT:
        return text
    return f"{text[:LONGEST_RAW_TEXT]}… ({len(text)} characters in all)"


class CountedProblems:
    """Problems that many records share: reported once, at the first, with their number.

    Args:
        message: Called with the kind, its first problem, and their number.
    """

    def __init__(self, message: Callable[[Any, Problem, int], str]) -> None:
        self._message = message
        self._first: dict[Hashable, Problem] = {}
        self._counts: dict[Hashable, int] = {}

    def add(self, kind: Hashable, first: Callable[[], Problem], count: int = 1) -> None:
        """Count problems of a kind; *first* is only called for the first of them."""
        if kind not in self._first:
            self._first[kind] = first()
        self._counts[kind] = self._counts.get(kind, 0) + count

    def problems(self) -> list[Problem]:
        """Return one problem of each kind."""
        return [
            replace(first, message=self._message(kind, first, self._counts[kind]))
            for kind, first in self._first.items()
        ]
