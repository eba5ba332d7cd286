"""Split the bytes of a JSONL file into records, as described in docs/formats.md.

- Only LF ends a line; a CR before it is white space. A byte-order mark is skipped.
- Blank lines are skipped. Lines whose first non-blank is ``//`` are blank by now
  (`encoding.without_comments`).
- A line is a separate record, or opens one that continues in the next lines: only if
  its text ends outside of a string. Any other error rejects the line.
- An open record is rejected at its first line when a later line alone is an object
  with an ``id``, when the file ends, or at a later error. Reading
  resumes after that first line. Lines that cannot begin a record belong to the
  rejected one; a record can begin with an object that has an ``id`` in one line, or
  with ``{`` that is indented no deeper than the rejected record was.
- A record that opens with ``[`` is not an open record in this sense: a whole file that
  is one JSON list stays one record, for the reader to reject with one sentence.

Linear time: each open record is read once, line by line, by a reader that keeps its
state. If it fails, the reader has recorded the whole objects on their own lines that it
passed; only those are read again, each once. All other candidates before the error
would fail in the same way, and reading continues after it. So no line is read more than
four times, whatever the content of the file.

Memory is bounded by a block of the file and by one record, which has a limit.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from promptlab.ingest.files.input_file import Block, TooLong
from promptlab.ingest.reading.problems import LONGEST_RAW_TEXT, Problem, kept
from promptlab.ingest.reading.source import DEFAULT, Limits
from promptlab.json_text.places import BOM, Key, pointer
from promptlab.json_text.reading import (
    Fault,
    JsonReader,
    LineSpan,
    parse_fast,
    printable,
)

Parse = Callable[[str], Any]
"""Reads the text of one line fast; after ``ValueError`` or ``RecursionError`` the exact
reader is used."""


class RecordPlace(NamedTuple):
    """The place and the text of a record."""

    line: int
    """Its first line, from 1."""
    column: int
    """Its first column in that line, from 1, in characters."""
    document: str
    """The text that contains it; for JSONL only the record."""
    start: int = 0
    end: int | None = None
    way: tuple[Key, ...] = ()
    """The path to it in a JSON document, its position last; empty for JSONL."""

    @property
    def text(self) -> str:
        """The record as written, without outer white space."""
        return self.document[self.start : self.end]

    def in_file(self, line: int, column: int) -> tuple[int, int]:
        """Return line and column in the file of a place in the record."""
        return self.line + line - 1, column + (self.column - 1 if line == 1 else 0)


class Record(NamedTuple):
    """One record of a file."""

    place: RecordPlace
    value: Any
    """The decoded value; a line may contain any JSON value."""


class Rejected(NamedTuple):
    """A record that is left out."""

    line: int
    """Its first line, from 1."""

    problems: list[Problem]
    """All its errors, each with line, column (in characters), pointer and its text."""


class _Line(NamedTuple):
    number: int
    text: str
    """Empty if it is blank."""
    too_long: int = 0
    """Its bytes, if it is longer than the limit; then it has no text."""


def read_records(
    data: bytes | Iterable[Block],
    *,
    parse: Parse = parse_fast,
    strict: bool = True,
    limits: Limits = DEFAULT,
    first_line: int = 1,
) -> Iterator[Record | Rejected]:
    """Read the records of a JSONL file, in the order of the file.

    Args:
        data: The file's bytes, or blocks of whole lines.
        parse: Reads a line that is a whole record; must reject what *strict*
            forbids.
        strict: If true, a repeated key and a number beyond a double also reject the
            record; if not, the first of two equal keys is used.
        limits: Limits of a record.
        first_line: Number of the first line of *data*.

    Yields:
        A ``Record`` for each valid record, a ``Rejected`` for each other one.
    """
    blocks = iter([data] if isinstance(data, bytes) else data)
    first = next(blocks, b"")
    if isinstance(first, bytes):
        if first.startswith((b"\xff\xfe", b"\xfe\xff")):
            message = "the file is UTF-16, not UTF-8. Save it as UTF-8."
            yield Rejected(1, [Problem("bad_utf8", message, line=1, column=1)])
            return
        first = first.removeprefix(BOM)
    lines = _RecordLines(
        itertools.chain([first], blocks), limits.max_record, first_line
    )
    yield from _Splitter(lines, parse, strict, limits).records()


@dataclass
class _Splitter:
    lines: _RecordLines
    parse: Parse
    strict: bool
    limits: Limits

    def records(self) -> Iterator[Record | Rejected]:
        for line in self.lines:
            if not line.text and not line.too_long:
                continue
            if line.too_long:
                problem = self.limits.record_too_large(line.too_long, line.number)
                yield Rejected(line.number, [problem])
                continue
            try:
                value = self.parse(line.text)
                yield self._checked(Record(_place([line]), value))
                continue
            except (ValueError, RecursionError):
                pass
            reader = self._reader(line.number)
            reader.feed(line.text)
            if reader.complete or reader.broken:
                yield self._result(reader, [line])
            else:
                yield from self._open_record(reader, line)

    def _reader(self, line: int) -> JsonReader:
        return JsonReader(line, self.strict, max_depth=self.limits.max_depth)

    def _checked(self, record: Record) -> Record | Rejected:
        """Return the record, or the reject if it exceeds a limit."""
        place = record.place
        fault = self.limits.fault(place.text)
        if fault is None:
            return record
        line, column = place.in_file(fault.line or 1, fault.column or 1)
        problem = Problem(
            fault.code,
            fault.message,
            line=line,
            column=column,
            record_id=_id_of(record.value),
            raw_text=kept(place.text),
        )
        return Rejected(place.line, [problem])

    def _result(self, reader: JsonReader, block: list[_Line]) -> Record | Rejected:
        """Return the record or the errors of a finished reader."""
        if reader.faults:
            return _rejected(reader, block, "")
        return self._checked(Record(_place(block), reader.value))

    def _open_record(
        self, reader: JsonReader, first: _Line
    ) -> Iterator[Record | Rejected]:
        """Read until the record that opens in line *first* is complete, or fails."""
        block = [first]
        is_list = first.text.lstrip().startswith("[")
        stopped_by = ""
        room = self.limits.max_record - len(first.text)
        for line in self.lines:
            room -= len(line.text)
            if line.too_long or room < 0:
                stopped_by = f"with line {line.number} it is {self.limits.too_much()}"
                if line.too_long:
                    self.lines.push_back(line)
                break
            if not is_list and _is_object_with_id(line):
                stopped_by = f"line {line.number} is a record of its own"
                self.lines.push_back(line)
                break
            reader.feed(line.text)
            block.append(line)
            if reader.complete:
                yield self._result(reader, block)
                return
            if reader.broken:
                break
        yield from self._give_up(reader, block, stopped_by)

    def _give_up(
        self, reader: JsonReader, block: list[_Line], stopped_by: str
    ) -> Iterator[Record | Rejected]:
        """Reject an open record and continue with the next one inside or after it."""
        column = len(block[0].text) - len(block[0].text.lstrip())
        if reader.broken and len(block) > 1 and _may_begin(block[-1], column):
            self.lines.push_back(block.pop())
        first_lines, inner = _split(block, reader.spans)
        length = sum(len(line.text) for line in first_lines)
        for line in self.lines:
            is_next = _may_begin(line, column) or _is_object_with_id(line)
            if line.too_long or is_next:
                self.lines.push_back(line)
                break
            length += len(line.text)
            if length <= LONGEST_RAW_TEXT:
                first_lines.append(line)
        yield _rejected(reader, first_lines, stopped_by)
        for whole in inner:
            again = self._reader(whole[0].number)
            for line in whole:
                again.feed(line.text)
            yield self._result(again, whole)


class _RecordLines:
    """The lines of a file; one can be put back."""

    def __init__(self, blocks: Iterable[Block], longest: int, first_line: int) -> None:
        self._source = self._read(blocks, longest, first_line)
        self._back: _Line | None = None

    def __iter__(self) -> Iterator[_Line]:
        return self

    def __next__(self) -> _Line:
        if self._back is not None:
            line, self._back = self._back, None
            return line
        return next(self._source)

    def push_back(self, line: _Line) -> None:
        self._back = line

    @staticmethod
    def _read(
        blocks: Iterable[Block], longest: int, first_line: int
    ) -> Iterator[_Line]:
        number = first_line - 1
        for block in blocks:
            if isinstance(block, TooLong):
                number += 1
                yield _Line(number, "", block.size)
                continue
            for line in io.BytesIO(block):
                number += 1
                content = line.strip()
                if len(content) > longest:
                    yield _Line(number, "", len(content))
                else:
                    text = line.decode("utf-8", "surrogateescape") if content else ""
                    yield _Line(number, text.rstrip("\r\n"))


def _split(
    block: list[_Line], spans: list[LineSpan]
) -> tuple[list[_Line], list[list[_Line]]]:
    """Split a failed block: its own lines, and those of each whole object inside it."""
    outside: list[_Line] = []
    inner: list[list[_Line]] = [[] for _ in spans]
    at = 0
    for line in block:
        while at < len(spans) and spans[at][1] < line.number:
            at += 1
        inside = at < len(spans) and spans[at][0] <= line.number
        (inner[at] if inside else outside).append(line)
    return outside, inner


def _rejected(reader: JsonReader, block: list[_Line], stopped_by: str) -> Rejected:
    first = block[0]
    if not (reader.broken or reader.complete):
        reader.finish()
        fault = reader.faults.pop()
        why = stopped_by or "the file ends"
        reader.faults.append(
            Fault(
                fault.keys,
                "unclosed_record",
                f"the record that opens here is not closed: {why}, and {fault.message}",
                first.number,
                len(first.text) - len(first.text.lstrip()) + 1,
            )
        )
    record_id = _id_of(reader.root)
    text = kept("\n".join(line.text for line in block).strip())
    problems = []
    for fault in reader.faults:
        message = fault.message
        if fault.line != first.number:
            message = f"in the record that opens in line {first.number}: {message}"
        problems.append(
            Problem(
                fault.code,
                message,
                line=fault.line,
                column=fault.column,
                record_id=record_id,
                pointer=printable(pointer(fault.keys)),
                raw_text=text,
            )
        )
    return Rejected(first.number, problems)


def _place(block: list[_Line]) -> RecordPlace:
    text = "\n".join(line.text for line in block).strip()
    first = block[0]
    return RecordPlace(first.number, first.text.index(text[0]) + 1, text)


def _id_of(value: Any) -> str | None:
    own_id = value.get("id") if isinstance(value, dict) else None
    return printable(own_id) if isinstance(own_id, str) else None


def _may_begin(line: _Line, column: int) -> bool:
    """Return true if a line begins with ``{``, indented by at most *column*."""
    content = line.text.lstrip()
    return content.startswith("{") and len(line.text) - len(content) <= column


def _is_object_with_id(line: _Line) -> bool:
    """Return true if a line is a JSON object with the key ``id``."""
    content = line.text.strip()
    if not (content.startswith("{") and content.endswith("}") and '"id"' in content):
        return False
    try:
        value = parse_fast(content)
    except (ValueError, RecursionError):
        return False
    return "id" in value
