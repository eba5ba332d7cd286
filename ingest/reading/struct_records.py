"""Records of one contract, from JSONL or a JSON list, as structs with their places."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from json import JSONDecodeError
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec
import polars as pl
from pydantic import BaseModel

from ingest.files.blocks import Block
from ingest.reading.checked_columns import Doubtful
from ingest.reading.contract_faults import Fault, judge, text_member
from ingest.reading.json_messages import printable
from ingest.reading.json_places import after_space, line_column, locate, pointer, spans
from ingest.reading.json_syntax import syntax_problem
from ingest.reading.jsonl import Record, Rejected, read_records, shortened
from ingest.reading.limits import DEFAULT, Limits, problem_of
from ingest.reading.problems import Problem, Severity
from ingest.reading.structs import struct_of

Table = dict[str, pl.Series]
Members = dict[str, msgspec.Raw]

_BOM = b"\xef\xbb\xbf"

BATCH_CHARACTERS = 8 << 20
"""Size of a batch of records that are read one by one: about that of a block."""

T = TypeVar("T")


class RecordPlace(NamedTuple):
    """Where a record stands, and how it is written."""

    line: int
    """Its first line, from 1."""
    column: int
    """Where it starts in that line, from 1 and in characters."""
    text: str
    way: tuple[int, ...] = ()
    """Its position inside a JSON list; empty for JSONL."""


def record_batches(
    model: type[BaseModel],
    id_field: str,
    data: Iterable[Block],
    limits: Limits = DEFAULT,
) -> Iterator[StructRecords]:
    """Read a file: JSONL, one object, or a list of objects.

    Args:
        model: The contract of every record.
        id_field: The field that names the record in a problem.
        data: The file in blocks of whole lines.
        limits: How large a record may be.

    Yields:
        Batches of records, at least one; a file of one block, or a JSON list, is one
        batch. The last one says so.
    """
    blocks = iter(data)
    block: Block | None = next(blocks, b"")
    if isinstance(block, bytes):
        block = block.removeprefix(_BOM)
        if block.lstrip()[:1] == b"[":
            batch = StructRecords(model, id_field, limits)
            parts = (part for part in blocks if isinstance(part, bytes))
            batch.read_list(b"".join([block, *parts]))
            yield batch
            return
    line = 1
    while isinstance(block, bytes):
        batch = StructRecords(model, id_field, limits)
        if not batch.read_at_once(block, line):
            break
        line += block.count(b"\n")
        block = next(blocks, None)
        batch.is_last = block is None
        yield batch
    if block is not None:
        rest = itertools.chain([block], blocks)
        yield from _one_by_one(StructRecords(model, id_field, limits), rest, line)


def _one_by_one(
    batch: StructRecords, blocks: Iterable[Block], line: int
) -> Iterator[StructRecords]:
    size = 0
    for record in batch.records(blocks, line):
        if size > BATCH_CHARACTERS:
            batch.is_last = False
            yield batch
            batch, size = batch.next_one(), 0
        size += batch.add(record)
    yield batch


class StructRecords:
    """A batch of a file's records; those that turn out to be bad can be refused.

    Args:
        model: The contract of every record.
        id_field: The field that names the record in a problem.
        limits: How large a record may be.
    """

    def __init__(
        self, model: type[BaseModel], id_field: str, limits: Limits = DEFAULT
    ) -> None:
        self._model = model
        self._id_field = id_field
        self._limits = limits
        self._closed = msgspec.json.Decoder(struct_of(model, closed=True))
        self._open = msgspec.json.Decoder(struct_of(model))
        self._data = b""
        self._first_line = 1
        self._places: list[
            RecordPlace | int
        ] = []  # of each struct; or the line it fills
        self.structs: list[Any] = []
        """The good records."""
        self.unknown: list[Members] = []
        """For each struct: the keys that its contract does not know."""
        self.problems: list[Problem] = []
        self.refused = 0
        self.broken = False
        """The file as a whole is not JSON."""
        self.is_last = True
        """No batch of the file follows."""

    def next_one(self) -> StructRecords:
        """Return an empty batch of the same file."""
        return StructRecords(self._model, self._id_field, self._limits)

    def records(
        self, blocks: Iterable[Block], line: int
    ) -> Iterator[Record | Rejected]:
        """Read JSONL one by one, from the line of that number on."""
        return read_records(
            blocks,
            parse=self._parse,
            strict=False,
            limits=self._limits,
            first_line=line,
        )

    def add(self, record: Record | Rejected) -> int:
        """Take one record of `records`; return how many characters it has."""
        if isinstance(record, Rejected):
            self.problems += record.problems
            self.refused += 1
            return len(record.problems[0].raw_text or "")
        place = RecordPlace(record.line, 1, record.text)
        if isinstance(record.value, _Parsed):
            self._keep(place, record.value)
        else:
            self._take(place)
        return len(record.text)

    def read_at_once(self, data: bytes, line: int) -> bool:
        """Decode a block of one good record in each line; say whether it is one."""
        data = data.rstrip(b"\n")
        lines = data.count(b"\n") + 1
        # Inside a record a line that ends with } is never followed by one with {.
        if not data.startswith(b"{") or data.count(b"}\n{") + 1 != lines:
            return False
        if not self._is_within_limits(data):
            return False
        try:
            structs = self._closed.decode_lines(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        if len(structs) != lines:
            return False
        self._data = data
        self._first_line = line
        self._places = list(range(line, line + lines))
        self.structs = structs
        self.unknown = [{}] * lines
        return True

    def _is_within_limits(self, data: bytes) -> bool:
        limits = self._limits
        long = [line for line in data.split(b"\n") if len(line) > limits.harmless]
        return not any(
            len(line) > limits.max_record
            or limits.excess(line.decode("utf-8", "surrogateescape"))
            for line in long
        )

    def read_list(self, data: bytes) -> None:
        """Read a JSON list of records."""
        text = data.decode("utf-8", "surrogateescape")
        try:
            found, end = spans(text, after_space(text, 0))
            end = after_space(text, end)
            if end < len(text):
                raise JSONDecodeError("Extra data", text, end)
        except JSONDecodeError as error:
            self.problems.append(syntax_problem(error, text))
            self.broken = True
            return
        line, before = 1, 0
        for number, span in enumerate(found):
            line += text.count("\n", before, span.start)
            before = span.start
            column = before - text.rfind("\n", 0, before)
            self._take(RecordPlace(line, column, text[before : span.end], (number,)))

    def _take(self, place: RecordPlace) -> None:
        excess = self._limits.excess(place.text)
        if excess is not None:
            problem = problem_of(
                excess, place.text, line=place.line, column=place.column
            )
            raw_text = shortened(printable(place.text))
            self.problems.append(replace(problem, raw_text=raw_text))
            self.refused += 1
            return
        try:
            self._keep(place, self._parse(place.text))
        except (ValueError, RecursionError) as error:
            self._refuse(place, str(error))

    def _keep(self, place: RecordPlace, parsed: _Parsed) -> None:
        self._places.append(place)
        self.structs.append(parsed.struct)
        self.unknown.append(parsed.unknown)

    def _parse(self, text: str) -> _Parsed:
        try:
            return _Parsed(self._closed.decode(text), {})
        except msgspec.ValidationError:
            pass  # perhaps only for a key that the contract does not know
        except msgspec.DecodeError as error:
            raise ValueError(str(error)) from error
        try:
            struct = self._open.decode(text)
        except msgspec.DecodeError as error:
            raise ValueError(str(error)) from error
        members = msgspec.json.decode(text, type=Members)
        fields = self._model.model_fields
        return _Parsed(struct, {k: v for k, v in members.items() if k not in fields})

    def _refuse(self, place: RecordPlace, reason: str) -> None:
        """Name every fault of a record; *reason* is the last resort."""
        self.refused += 1
        for fault in judge(self._model, place.text) or [
            Fault((), "unreadable", reason)
        ]:
            self.problems.append(self._problem(place, fault, "reject"))

    def line(self, row: int) -> int:
        """Return the first line of a good record."""
        place = self._places[row]
        return place if isinstance(place, int) else place.line

    def note(self, row: int, fault: Fault, severity: Severity = "warning") -> None:
        """Add a problem of a good record."""
        self.problems.append(self.problem(row, fault, severity))

    def problem(
        self, row: int, fault: Fault, severity: Severity = "warning"
    ) -> Problem:
        """Return a problem of a good record, with its place."""
        return self._problem(self._place(row), fault, severity)

    @cached_property
    def _lines(self) -> list[bytes]:
        return self._data.split(b"\n")

    def _place(self, row: int) -> RecordPlace:
        place = self._places[row]
        if isinstance(place, int):
            text = self._lines[place - self._first_line].decode(
                "utf-8", "surrogateescape"
            )
            return RecordPlace(place, 1, text)
        return place

    def _problem(self, at: RecordPlace, fault: Fault, severity: Severity) -> Problem:
        line, column = line_column(at.text, locate(at.text, 0, fault.keys))
        is_reject = severity == "reject"
        raw_text = shortened(printable(at.text)) if is_reject else None
        return Problem(
            code=fault.code,
            message=printable(fault.message),
            severity=severity,
            line=at.line + line - 1,
            column=column + (at.column - 1 if line == 1 else 0),
            record_id=text_member(at.text, self._id_field),
            pointer=printable(pointer((*at.way, *fault.keys))),
            raw_text=raw_text,
        )

    def drop(self, rows: Iterable[int]) -> None:
        """Leave out good records; why is noted elsewhere."""
        left_out = set(rows)
        kept = [row for row in range(len(self.structs)) if row not in left_out]
        self._places = [self._places[row] for row in kept]
        self.structs = [self.structs[row] for row in kept]
        self.unknown = [self.unknown[row] for row in kept]

    def build(self, columns: Callable[[StructRecords], T]) -> T:
        """Build columns of the good records, refusing those that do not fit.

        Args:
            columns: Raises `Doubtful` with the places of records in question.
        """
        while True:
            try:
                return columns(self)
            except Doubtful as error:
                for row in error.rows:
                    self._refuse(self._place(row), "a value that cannot be stored")
                self.drop(error.rows)

    def each(self, name: str) -> list[Any]:
        """Return one field of all good records."""
        return list(map(attrgetter(name), self.structs))

    def sorted_problems(self) -> list[Problem]:
        """Return all problems in the order of the file."""
        return sorted(self.problems, key=lambda each: each.line or 0)


class _Parsed(NamedTuple):
    struct: Any
    unknown: Members
