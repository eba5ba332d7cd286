"""From a fault to a problem: where it stands, in what words, and said how often."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

from promptlab.ingest.reading.contract_faults import Fault
from promptlab.ingest.reading.json_messages import printable
from promptlab.ingest.reading.json_places import Keys, pointer
from promptlab.ingest.reading.problems import Problem, Severity

Place = Callable[[Keys], tuple[int, int]]
"""Line and column of a value, or of the deepest one that is there on the way to it."""

LONGEST_RAW_TEXT = 1 << 20
"""Characters that are kept of a rejected record."""


def problem_at(
    place: Place,
    fault: Fault,
    severity: Severity = "reject",
    *,
    record_id: str | None = None,
    way: Keys = (),
    raw_text: str | None = None,
) -> Problem:
    """Say a fault of a text at its place in the file.

    Args:
        place: Where values of the text stand in the file.
        fault: Its keys start at the top of the text.
        severity: Whether it leaves the record out.
        record_id: The record that it belongs to.
        way: The way to the text, where it is a part of a JSON document.
        raw_text: What is kept of a record that is left out.
    """
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
    """What is kept of a rejected record: cut where it is long, which it then says."""
    text = printable(text)
    if len(text) <= LONGEST_RAW_TEXT:
        return text
    return f"{text[:LONGEST_RAW_TEXT]}… ({len(text)} characters in all)"


class SaidOnce:
    """What may be in many records: one problem, at the first, which counts them all.

    Args:
        message: Given the kind, the first problem of it, and how many there are.
    """

    def __init__(self, message: Callable[[Any, Problem, int], str]) -> None:
        self._message = message
        self._first: dict[Hashable, Problem] = {}
        self._counts: dict[Hashable, int] = {}

    def see(self, kind: Hashable, first: Callable[[], Problem], count: int = 1) -> None:
        """Count some of a kind; *first* is asked only where they are the first."""
        if kind not in self._first:
            self._first[kind] = first()
        self._counts[kind] = self._counts.get(kind, 0) + count

    def problems(self) -> list[Problem]:
        """One problem of each kind."""
        return [
            replace(first, message=self._message(kind, first, self._counts[kind]))
            for kind, first in self._first.items()
        ]
