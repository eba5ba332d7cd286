"""Records of one contract, from JSONL or a JSON list, as structs with their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from json import JSONDecodeError
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec
import polars as pl
from pydantic import BaseModel

from ingest.columns import Doubtful
from ingest.fast_structs import struct_of
from ingest.faults import Fault, judge, text_member
from ingest.json_messages import printable
from ingest.json_places import after_space, line_column, locate, pointer, spans
from ingest.json_syntax import syntax_problem
from ingest.jsonl import Rejected, read_records
from ingest.problems import Problem, Severity

Table = dict[str, pl.Series]
Members = dict[str, msgspec.Raw]

_BOM = b"\xef\xbb\xbf"


T = TypeVar("T")


class Place(NamedTuple):
    """Where a record stands, and how it is written."""

    line: int
    """Its first line, from 1."""
    column: int
    """Where it starts in that line, from 1 and in characters."""
    text: str
    way: tuple[int, ...] = ()
    """Inside a JSON list, its place there."""


class StructRecords:
    """The records of one file; those that turn out to be bad can still be refused.

    Args:
        model: The contract of every record.
        id_field: The field that names the record in a problem.
    """

    def __init__(self, model: type[BaseModel], id_field: str) -> None:
        self._model = model
        self._id_field = id_field
        self._closed = msgspec.json.Decoder(struct_of(model, closed=True))
        self._open = msgspec.json.Decoder(struct_of(model))
        self._data = b""
        self._places: list[Place | int] = []  # of each struct; or the line it fills
        self.structs: list[Any] = []
        """The good records."""
        self.unknown: list[Members] = []
        """Of each struct, the keys that the contract does not know."""
        self.problems: list[Problem] = []
        self.refused = 0
        self.broken = False
        """The file as a whole is not JSON."""

    def read(self, data: bytes) -> None:
        """Read a file's bytes: JSONL, one object, or a list of objects."""
        data = data.removeprefix(_BOM)
        if self._read_at_once(data):
            return
        if data.lstrip()[:1] == b"[":
            self._read_list(data.decode("utf-8", "surrogateescape"))
            return
        for record in read_records(data, parse=self._parse, strict=False):
            if isinstance(record, Rejected):
                self.problems += record.problems
                self.refused += 1
            elif isinstance(record.value, _Parsed):
                self._keep(Place(record.line, 1, record.text), record.value)
            else:
                self._take(Place(record.line, 1, record.text))

    def _read_at_once(self, data: bytes) -> bool:
        """Decode a file of one good record in each line; say whether it is one."""
        data = data.rstrip(b"\n")
        lines = data.count(b"\n") + 1
        # Inside a record a line that ends with } is never followed by one with {.
        if not data.startswith(b"{") or data.count(b"}\n{") + 1 != lines:
            return False
        try:
            structs = self._closed.decode_lines(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        if len(structs) != lines:
            return False
        self._data = data
        self._places = list(range(1, lines + 1))
        self.structs = structs
        self.unknown = [{}] * lines
        return True

    def _read_list(self, text: str) -> None:
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
            self._take(Place(line, column, text[before : span.end], (number,)))

    def _take(self, place: Place) -> None:
        try:
            self._keep(place, self._parse(place.text))
        except (ValueError, RecursionError) as error:
            self._refuse(place, str(error))

    def _keep(self, place: Place, parsed: _Parsed) -> None:
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

    def _refuse(self, place: Place, reason: str) -> None:
        """Name every fault of a record; *reason* is the last resort."""
        self.refused += 1
        for fault in judge(self._model, place.text) or [
            Fault((), "unreadable", reason)
        ]:
            self._note(place, fault, "reject")

    def line(self, row: int) -> int:
        """Return the first line of a good record."""
        place = self._places[row]
        return place if isinstance(place, int) else place.line

    def note(self, row: int, fault: Fault, severity: Severity = "warning") -> None:
        """Add a problem of a good record."""
        self._note(self._place(row), fault, severity)

    @cached_property
    def _lines(self) -> list[bytes]:
        return self._data.split(b"\n")

    def _place(self, row: int) -> Place:
        place = self._places[row]
        if isinstance(place, int):
            text = self._lines[place - 1].decode("utf-8", "surrogateescape")
            return Place(place, 1, text)
        return place

    def _note(self, at: Place, fault: Fault, severity: Severity) -> None:
        line, column = line_column(at.text, locate(at.text, 0, fault.keys))
        self.problems.append(
            Problem(
                code=fault.code,
                message=printable(fault.message),
                severity=severity,
                line=at.line + line - 1,
                column=column + (at.column - 1 if line == 1 else 0),
                record_id=text_member(at.text, self._id_field),
                pointer=printable(pointer((*at.way, *fault.keys))),
                raw_text=printable(at.text) if severity == "reject" else None,
            )
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
