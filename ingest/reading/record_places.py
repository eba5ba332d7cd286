"""Where a record stands in its file, and how it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from promptlab.ingest.reading.json_places import Key, Span


class RecordPlace(NamedTuple):
    """Where a record stands, and how it is written."""

    line: int
    """Its first line, from 1."""
    column: int
    """Where it starts in that line, from 1 and in characters."""
    document: str
    """What it is part of; of JSONL itself alone."""
    start: int = 0
    """Where it starts and ends in there."""
    end: int | None = None
    way: tuple[Key, ...] = ()
    """The way to it inside a JSON document, its position last; empty for JSONL."""

    @property
    def text(self) -> str:
        """The record as it is written."""
        return self.document[self.start : self.end]

    def in_file(self, line: int, column: int) -> tuple[int, int]:
        """Line and column in the file of what has these in the record."""
        return self.line + line - 1, column + (self.column - 1 if line == 1 else 0)


def list_places(
    text: str, found: Iterable[Span], way: tuple[Key, ...] = ()
) -> Iterator[RecordPlace]:
    """Yield where each record of a list stands.

    Args:
        text: The document.
        found: The records, in their order.
        way: The way to the list.
    """
    line, line_start, before = 1, 0, 0
    for span in found:
        breaks = text.count("\n", before, span.start)
        if breaks:
            line += breaks
            line_start = text.rindex("\n", before, span.start) + 1
        before = span.start
        column = before - line_start + 1
        yield RecordPlace(line, column, text, before, span.end, (*way, span.key))
