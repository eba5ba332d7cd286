"""The road of a record: decoded fast into a struct, else judged by its contract.

Records come from JSONL, from a JSON list, or from a list inside a document. Where one
stands is found out only when something is said of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from json import JSONDecodeError
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec
import polars as pl
from pydantic import BaseModel

from promptlab.ingest.files.blocks import Block
from promptlab.ingest.reading.checked_columns import Doubtful
from promptlab.ingest.reading.contract_faults import Fault, judge, text_member
from promptlab.ingest.reading.json_places import (
    Key,
    Span,
    SpanIndex,
    after_space,
    line_column,
    spans,
)
from promptlab.ingest.reading.json_syntax import syntax_problem
from promptlab.ingest.reading.jsonl import Record, Rejected, read_records
from promptlab.ingest.reading.limits import DEFAULT, Limits
from promptlab.ingest.reading.notes import kept, problem_at
from promptlab.ingest.reading.problems import Problem, Severity
from promptlab.ingest.reading.record_places import RecordPlace, list_places
from promptlab.ingest.reading.structs import (
    Members,
    UnknownKey,
    struct_of,
    unknown_keys,
)

Table = dict[str, pl.Series]

_BOM = b"\xef\xbb\xbf"

BATCH_CHARACTERS = 8 << 20
"""Size of a batch of records that are read one by one: about that of a block."""

T = TypeVar("T")

_MEMBERS = msgspec.json.Decoder(Members)


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
        # Of each struct; or the number from which its place is found.
        self._places: list[RecordPlace | int] = []
        self._find: Callable[[int], RecordPlace]
        self.structs: list[Any] = []
        """The good records."""
        self._is_open: list[bool] = []  # of each struct: it has keys that are unknown
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
        written = cache(lambda: data.split(b"\n"))
        self.take(
            structs,
            range(line, line + lines),
            lambda number: RecordPlace(
                number, 1, written()[number - line].decode("utf-8", "surrogateescape")
            ),
        )
        return True

    def take(
        self,
        structs: list[Any],
        numbers: Iterable[int],
        find: Callable[[int], RecordPlace],
        *,
        is_open: bool = False,
    ) -> None:
        """Take records that were decoded in one go.

        Args:
            structs: All good.
            numbers: One for each: its line in JSONL, its position in a list.
            find: Says of a number where its record stands.
            is_open: Some may have keys that their contract does not know.
        """
        self.structs = structs
        self._is_open = [is_open] * len(structs)
        self._places = list(numbers)
        self._find = find

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
        self.take_list(text, found)

    def take_list(
        self, text: str, found: Iterable[Span], way: tuple[Key, ...] = ()
    ) -> None:
        """Read the records of a list one by one.

        Args:
            text: The document.
            found: Where each stands in it.
            way: The way to the list.
        """
        for place in list_places(text, found, way):
            self._take(place)

    def _take(self, place: RecordPlace) -> None:
        text = place.text
        if self._limits.excess(text):
            self._refuse(place, "")
            return
        try:
            self._keep(place, self._parse(text))
        except (ValueError, RecursionError) as error:
            self._refuse(place, str(error))

    def _keep(self, place: RecordPlace, parsed: _Parsed) -> None:
        self._places.append(place)
        self.structs.append(parsed.struct)
        self._is_open.append(parsed.is_open)

    def _parse(self, text: str) -> _Parsed:
        try:
            return _Parsed(self._closed.decode(text), is_open=False)
        except msgspec.ValidationError:
            pass  # perhaps only for a key that the contract does not know
        except msgspec.DecodeError as error:
            raise ValueError(str(error)) from error
        try:
            return _Parsed(self._open.decode(text), is_open=True)
        except msgspec.DecodeError as error:
            raise ValueError(str(error)) from error

    def unknown(self) -> Iterator[tuple[int, list[UnknownKey]]]:
        """Yield the good records with keys that their contract does not know."""
        for row, is_open in enumerate(self._is_open):
            if is_open:
                members = _MEMBERS.decode(self._place(row).text)
                found = list(unknown_keys(self._model, members))
                if found:
                    yield row, found

    def _refuse(self, place: RecordPlace, reason: str) -> None:
        """Name every fault of a record; *reason* is the last resort."""
        self.refused += 1
        text = place.text
        excess = self._limits.excess(text)
        if excess is not None:
            fault = Fault((), excess.code, excess.message)
            line, column = place.in_file(*line_column(text, excess.place))
            problem = self._problems(place, [fault], "reject")[0]
            self.problems.append(replace(problem, line=line, column=column))
            return
        found = judge(self._model, text) or [Fault((), "unreadable", reason)]
        self.problems += self._problems(place, found, "reject")

    def judge_all(self) -> None:
        """Ask the contract about every good record; refuse those that it refuses."""
        refused = [
            row
            for row in range(len(self.structs))
            if judge(self._model, self._place(row).text)
        ]
        self._refuse_rows(refused, "")

    def _refuse_rows(self, rows: Iterable[int], reason: str) -> None:
        for row in rows:
            self._refuse(self._place(row), reason)
        self.drop(rows)

    def line(self, row: int) -> int:
        """Return the first line of a good record."""
        place = self._places[row]
        return place if isinstance(place, int) else place.line

    def position(self, row: int) -> int:
        """Return the position of a good record in its list, from 0."""
        place = self._places[row]
        return place if isinstance(place, int) else int(place.way[-1])

    def note(self, row: int, fault: Fault, severity: Severity = "warning") -> None:
        """Add a problem of a good record."""
        self.problems.append(self.problem(row, fault, severity))

    def problem(
        self, row: int, fault: Fault, severity: Severity = "warning"
    ) -> Problem:
        """Return a problem of a good record, with its place."""
        return self._problems(self._place(row), [fault], severity)[0]

    def leave_out(self, faults: Mapping[int, Fault]) -> None:
        """Reject good records for what only the whole file shows."""
        for row, fault in faults.items():
            self.note(row, fault, "reject")
        self.refused += len(faults)
        self.drop(faults)

    def _place(self, row: int) -> RecordPlace:
        place = self._places[row]
        return self._find(place) if isinstance(place, int) else place

    def _problems(
        self, at: RecordPlace, faults: Iterable[Fault], severity: Severity
    ) -> list[Problem]:
        index = SpanIndex(at.text)
        raw_text = kept(at.text) if severity == "reject" else None
        record_id = text_member(index, self._id_field)
        return [
            problem_at(
                lambda keys: at.in_file(*index.line_column(index.find(keys))),
                fault,
                severity,
                record_id=record_id,
                way=at.way,
                raw_text=raw_text,
            )
            for fault in faults
        ]

    def drop(self, rows: Iterable[int]) -> None:
        """Leave out good records; why is noted elsewhere."""
        left_out = set(rows)
        kept = [row for row in range(len(self.structs)) if row not in left_out]
        self._places = [self._places[row] for row in kept]
        self.structs = [self.structs[row] for row in kept]
        self._is_open = [self._is_open[row] for row in kept]

    def build(self, columns: Callable[[StructRecords], T]) -> T:
        """Build columns of the good records, refusing those that do not fit.

        Args:
            columns: Raises `Doubtful` with the places of records in question.
        """
        while True:
            try:
                return columns(self)
            except Doubtful as error:
                self._refuse_rows(error.rows, error.reason)

    def each(self, name: str) -> list[Any]:
        """Return one field of all good records."""
        return list(map(attrgetter(name), self.structs))

    def sorted_problems(self) -> list[Problem]:
        """Return all problems in the order of the file."""
        return sorted(self.problems, key=lambda p: (p.line or 0, p.column or 0))


class _Parsed(NamedTuple):
    struct: Any
    is_open: bool
    """It has keys that its contract does not know."""
