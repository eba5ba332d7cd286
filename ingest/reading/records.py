"""Records of a file, decoded into structs; the contract judges those that fail.

Records come from JSONL, from a JSON list, or from a list inside a document. The place
of a record is found only when there is a problem to report.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from json import JSONDecodeError
from operator import attrgetter
from typing import Any, get_args, get_origin

import msgspec
from pydantic import BaseModel

from promptlab.errors import nearest
from promptlab.ingest.files.input_file import Block
from promptlab.ingest.reading.jsonl import (
    Record,
    RecordPlace,
    Rejected,
    read_records,
)
from promptlab.ingest.reading.problems import (
    CountedProblems,
    Problem,
    Severity,
    in_order,
    judge,
    kept,
    problem_at,
)
from promptlab.ingest.reading.source import DEFAULT, Limits, Source
from promptlab.ingest.reading.structs import struct_of
from promptlab.json_text.places import BOM, Key, Span, SpanIndex, after_space, spans
from promptlab.json_text.reading import Fault, beyond_doubles, read_exactly
from promptlab.json_text.writing import shown

Members = dict[str, msgspec.Raw]
"""An object whose values are not decoded."""


UnknownKey = tuple[tuple[Key, ...], type[BaseModel], msgspec.Raw]
"""The path of an unknown key from the top of its record, the contract of the object
that has it, and its value."""


def unknown_keys(
    model: type[BaseModel], members: Members, way: tuple[Key, ...] = ()
) -> Iterator[UnknownKey]:
    """Yield the unknown keys of *model*, and those of the models in its lists."""
    known = _names(model)
    for key, value in members.items():
        if key not in known:
            yield (*way, key), model, value
    for name, part in _listed(model).items():
        for place, item in enumerate(_LIST.decode(members.get(name, _NOTHING))):
            if not _names(part).issuperset(item):
                yield from unknown_keys(part, item, (*way, name, place))


_LIST = msgspec.json.Decoder(list[Members])
_NOTHING = msgspec.Raw(b"[]")


@cache
def _names(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(model.model_fields)


@cache
def _listed(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Fields that are lists of models."""
    listed = {}
    for name, field in model.model_fields.items():
        (inner,) = get_args(field.annotation)[:1] or (None,)
        is_list = get_origin(field.annotation) is list
        if is_list and isinstance(inner, type) and issubclass(inner, BaseModel):
            listed[name] = inner
    return listed


Table = dict[str, list[Any]]
"""Column → its values."""

BATCH_CHARACTERS = 8 << 20
"""Size of a batch of records that are read one by one: about that of a block."""

_MEMBERS = msgspec.json.Decoder(Members)

_BEYOND_DOUBLES = "Number out of range"
"""Error of msgspec about a number that the contract accepts as infinite."""


def list_places(
    text: str, record_spans: Iterable[Span], way: tuple[Key, ...] = ()
) -> Iterator[RecordPlace]:
    """Yield the place of each record of a list."""
    line, line_start, before = 1, 0, 0
    for span in record_spans:
        breaks = text.count("\n", before, span.start)
        if breaks:
            line += breaks
            line_start = text.rindex("\n", before, span.start) + 1
        before = span.start
        column = before - line_start + 1
        yield RecordPlace(line, column, text, before, span.end, (*way, span.key))


def broken_document(text: str) -> Problem:
    """Return the reject of a file that is one JSON document, but not valid JSON."""
    fault = read_exactly(text, strict=False, keep=False).faults[-1]
    message = f"{fault.message} Nothing of the file was loaded."
    return Problem(fault.code, message, line=fault.line, column=fault.column)


def record_batches(
    model: type[BaseModel],
    id_field: str,
    source: Source,
) -> Iterator[StructRecords]:
    """Read a file: JSONL, one object, or a list of objects.

    Yields:
        Batches of records, at least one; a file of one block, or a JSON list, is one
        batch. The last one is marked.
    """
    blocks, limits = iter(source.in_blocks), source.limits
    block: Block | None = next(blocks, b"")
    new_batch = partial(StructRecords, model, id_field, limits)
    if isinstance(block, bytes):
        block = block.removeprefix(BOM)
        if block.lstrip()[:1] == b"[":
            batch = new_batch()
            parts = (part for part in blocks if isinstance(part, bytes))
            batch.read_list(b"".join([block, *parts]))
            yield batch
            return
    line = 1
    while isinstance(block, bytes):
        batch = new_batch()
        if not batch.read_at_once(block, line):
            break
        line += block.count(b"\n")
        block = next(blocks, None)
        batch.is_last = block is None
        yield batch
    if block is None:
        return
    batch, size = new_batch(), 0
    for record in read_records(
        itertools.chain([block], blocks),
        parse=batch.parse,
        strict=False,
        limits=limits,
        first_line=line,
    ):
        if size > BATCH_CHARACTERS:
            batch.is_last = False
            yield batch
            batch, size = new_batch(), 0
        size += batch.add(record)
    yield batch


class StructRecords:
    """A batch of a file's records, which can still be rejected."""

    def __init__(
        self, model: type[BaseModel], id_field: str, limits: Limits = DEFAULT
    ) -> None:
        self._model = model
        self._id_field = id_field
        self.limits = limits
        self._closed, self._open = (
            msgspec.json.Decoder(struct_of(model, closed=closed, limits=limits))
            for closed in (True, False)
        )
        # For each struct: its place, or the number to find it.
        self._places: list[RecordPlace | int] = []
        self._find: Callable[[int], RecordPlace]
        self.structs: list[Any] = []
        """The valid records."""
        self._unknown: list[Sequence[UnknownKey]] = []  # for each struct
        self.problems: list[Problem] = []
        self.refused = 0
        self.broken = False
        """True if the whole file is not JSON."""
        self.is_last = True
        """True for the last batch of the file."""

    def add(self, record: Record | Rejected) -> int:
        """Add one record of `read_records`; return its length."""
        if isinstance(record, Rejected):
            self.problems += record.problems
            self.refused += 1
            return len(record.problems[0].raw_text or "")
        if isinstance(record.value, tuple):  # of `parse`; JSON has none
            self._keep(record.place, *record.value)
        else:
            self._read(record.place)
        return len(record.place.text)

    def read_at_once(self, data: bytes, line: int) -> bool:
        """Decode a block of one valid record per line; return False if it is not."""
        data = data.rstrip(b"\n")
        lines = data.count(b"\n") + 1
        # Inside a record a line that ends with } is never followed by one with {.
        if not data.startswith(b"{") or data.count(b"}\n{") + 1 != lines:
            return False
        longest = self.limits.max_record
        if len(data) > longest and max(map(len, data.split(b"\n"))) > longest:
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
    ) -> None:
        """Add records that were decoded in one call; they have no unknown keys.

        Args:
            structs: The records.
            numbers: For each record its line in JSONL, or its position in a list.
            find: Returns the place of the record with a number.
        """
        self.structs = structs
        self._unknown = [()] * len(structs)
        self._places = list(numbers)
        self._find = find

    def read_list(self, data: bytes) -> None:
        """Read a JSON list of records."""
        text = data.decode("utf-8", "surrogateescape")
        try:
            record_spans, end = spans(text, after_space(text, 0))
            if after_space(text, end) < len(text):
                raise JSONDecodeError("Extra data", text, end)
        except JSONDecodeError:
            self.problems.append(broken_document(text))
            self.broken = True
            return
        for place in list_places(text, record_spans):
            if self.limits.fault(place.text):
                self._refuse(place)
            else:
                self._read(place)

    def take_list(
        self, text: str, record_spans: Iterable[Span], way: tuple[Key, ...]
    ) -> None:
        """Read the records of a list one by one; unknown keys have no limits."""
        for place in list_places(text, record_spans, way):
            self._read(place)

    def _read(self, place: RecordPlace) -> None:
        try:
            self._keep(place, *self.parse(place.text))
        except (ValueError, RecursionError) as error:
            reasons = [Fault((), "unreadable", str(error))]
            if str(error).startswith(_BEYOND_DOUBLES):
                reasons = beyond_doubles(place.text) or reasons
            self._refuse(place, *reasons)

    def _keep(self, place: RecordPlace, struct: Any, is_open: bool) -> None:
        self._places.append(place)
        self.structs.append(struct)
        unknown: Sequence[UnknownKey] = ()
        if is_open:
            unknown = list(unknown_keys(self._model, _MEMBERS.decode(place.text)))
        self._unknown.append(unknown)

    def parse(self, text: str) -> tuple[Any, bool]:
        """Decode one record; true if it has unknown keys.

        Raises:
            ValueError: It is not valid JSON, or violates the contract.
        """
        try:
            return self._closed.decode(text), False
        except msgspec.ValidationError:
            pass  # perhaps only because of an unknown key
        except msgspec.DecodeError as error:
            raise ValueError(str(error)) from error
        try:
            return self._open.decode(text), True
        except msgspec.DecodeError as error:
            raise ValueError(str(error)) from error

    def unknown(self) -> Iterator[tuple[int, Sequence[UnknownKey]]]:
        """Return the valid records with unknown keys, and these."""
        return ((row, keys) for row, keys in enumerate(self._unknown) if keys)

    def _refuse(self, place: RecordPlace, *reasons: Fault) -> None:
        """Report every error of a record; of a valid one *reasons*."""
        self.refused += 1
        too_large = self.limits.fault(place.text)
        faults = [too_large] if too_large else judge(self._model, place.text)
        self.problems += self._problems(place, faults or reasons, "reject")

    def judge_all(self) -> None:
        """Check every record against the contract; reject those that fail."""
        refused = [
            row
            for row in range(len(self.structs))
            if judge(self._model, self._place(row).text)
        ]
        self.refuse(refused, "")

    def refuse(self, rows: Iterable[int], reason: str) -> None:
        """Reject records with every error of their contract; without one, *reason*."""
        for row in rows:
            self._refuse(self._place(row), Fault((), "unreadable", reason))
        self.drop(rows)

    def line(self, row: int) -> int:
        """Return the first line of a valid record."""
        place = self._places[row]
        return place if isinstance(place, int) else place.line

    def position(self, row: int) -> int:
        """Return the position of a valid record in its list, from 0."""
        place = self._places[row]
        return place if isinstance(place, int) else int(place.way[-1])

    def note(self, row: int, fault: Fault, severity: Severity = "warning") -> None:
        """Add a problem of a valid record."""
        self.problems.append(self.problem(row, fault, severity))

    def problem(
        self, row: int, fault: Fault, severity: Severity = "warning"
    ) -> Problem:
        """Return a problem of a valid record, with its place."""
        return self._problems(self._place(row), [fault], severity)[0]

    def leave_out(self, faults: Mapping[int, Fault]) -> None:
        """Reject valid records because of the rest of the file."""
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
        try:
            record_id = index.text_member(self._id_field)
        except JSONDecodeError:
            record_id = None
        problems = []
        for fault in faults:
            if fault.line is not None and fault.column is not None:
                line, column = at.in_file(fault.line, fault.column)
                fault = replace(fault, line=line, column=column)
            problems.append(
                problem_at(
                    lambda keys: at.in_file(*index.line_column(index.find(keys))),
                    fault,
                    severity,
                    record_id=record_id,
                    way=at.way,
                    raw_text=raw_text,
                )
            )
        return problems

    def drop(self, rows: Iterable[int]) -> None:
        """Leave out valid records; the caller reports the reason."""
        left_out = set(rows)
        kept = [row for row in range(len(self.structs)) if row not in left_out]
        self._places = [self._places[row] for row in kept]
        self.structs = [self.structs[row] for row in kept]
        self._unknown = [self._unknown[row] for row in kept]

    def values(self, name: str) -> list[Any]:
        """Return the values of one field of all valid records."""
        return list(map(attrgetter(name), self.structs))

    def sorted_problems(self) -> list[Problem]:
        """Return all problems in the order of the file."""
        return in_order(self.problems)


Advice = Callable[[type[BaseModel], str, Any], str]
"""Returns a hint about an unknown key (its right place or spelling), from the contract,
the key and its record; empty: no warning."""


class UnknownKeys:
    """Counts unknown keys of a file; one warning for each."""

    def __init__(self, advice: Advice) -> None:
        self._advice = advice
        self._counted = CountedProblems(_unknown_key)
        self.problems = self._counted.problems
        """A warning for each key, at its first place, with the number of uses."""

    def count(self, records: StructRecords) -> None:
        """Count the unknown keys of a batch of records."""
        for row, unknown in records.unknown():
            for way, model, _ in unknown:
                place = partial(records.problem, row, Fault(way, "unknown_key", ""))
                self.add(model, str(way[-1]), place, records.structs[row])

    def add(
        self,
        model: type[BaseModel],
        key: str,
        place: Callable[[], Problem],
        record: Any = None,
    ) -> None:
        """Count one key; *place* is called for the first of a kind."""
        advice = self._advice(model, key, record)
        if advice:
            self._counted.add((model, key, advice), place)


@lru_cache(maxsize=1024)
def not_stored(model: type[BaseModel], key: str, room: str) -> str:
    """Return a hint about an unknown key: its spelling, or where it can be kept."""
    near = nearest(key, list(model.model_fields))
    return f"is not stored{near or f'; put it into {room}'}"


def _unknown_key(
    kind: tuple[type[BaseModel], str, str], _first: Problem, count: int
) -> str:
    _, key, advice = kind
    often = "" if count == 1 else f" (here and in {count - 1} more)"
    return f"unknown key {shown(key)}{often} {advice}"


Id = tuple[str, ...]


def twins(ids: Iterable[Sequence[str | None]], known: SeenIds) -> list[int]:
    """Return the rows whose complete id is in an earlier row or in *known*."""
    before: set[Sequence[str | None]] = set()
    again = []
    for row, key in enumerate(ids):
        if None in key:
            continue
        if key in before or key in known:
            again.append(row)
        before.add(key)
    return again


class SeenIds:
    """Ids of a file so far, at about 80 bytes each, to find duplicates."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def add(self, key: Id) -> None:
        """Remember an id."""
        self._digests.add(self._digest(key))

    def __bool__(self) -> bool:
        return bool(self._digests)

    def __contains__(self, key: object) -> bool:
        return bool(self._digests) and self._digest(key) in self._digests

    @staticmethod
    def _digest(key: object) -> bytes:
        written = repr(key).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(written, digest_size=12).digest()
