"""Read and decode the files of a tool's run, within the limits.

JSON becomes structs; a bare NaN is accepted, and errors are described.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from promptlab.ingest.files.input_file import InputFile, TooLong, blocks
from promptlab.ingest.foreign.casts import LONGEST_LINE, first_line
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source
from promptlab.json_text.places import BOM
from promptlab.json_text.places import decode as decode_text
from promptlab.json_text.reading import errors_of
from promptlab.json_text.writing import compact

T = TypeVar("T")

_NOT_JSON = re.compile(rb"NaN|-?Infinity")
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
ABSENT = msgspec.Raw(b"")
"""The value of a missing member."""
_NOTHING = (ABSENT, msgspec.Raw(b"null"))


class Refused(Exception):
    """The file cannot be loaded at all."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def refused(code: str, message: str, line: int | None = None) -> Refused:
    """Return the error of a file that cannot be loaded."""
    return Refused(Problem(code, message, line=line))


def decode(data: bytes | memoryview | msgspec.Raw, kind: type[T]) -> T:
    """Decode JSON as *kind*; bare ``NaN`` becomes null, ``Infinity`` a text.

    Raises:
        msgspec.DecodeError: It is not JSON, or not of this kind.
        RecursionError: It is nested too deeply.
    """
    decoder = _decoder(kind)  # type: ignore[arg-type]  # types can be hashed
    try:
        return decoder.decode(data)  # type: ignore[no-any-return]  # built for T
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        data = bytes(data)
        if b"NaN" not in data and b"Infinity" not in data:
            raise
        return decoder.decode(without_nan(data))  # type: ignore[no-any-return]


def without_nan(data: bytes) -> bytes:
    """Replace ``NaN`` in JSON by null, and put ``Infinity`` in quotes.

    NaN is a missing number. Infinity is not missing: it is kept as a text, and reported
    where a number is expected.
    """
    pieces: list[bytes] = []
    done = end = quotes = 0
    for match in _NOT_JSON.finditer(data):
        between, end = data[end : match.start()], match.start()
        quotes += between.count(b'"') - _ESCAPE.findall(between).count(b'\\"')
        if quotes % 2 == 0:  # outside of texts
            word = match[0]
            pieces += data[done:end], b"null" if word == b"NaN" else b'"%b"' % word
            done = match.end()
    return b"".join(pieces) + data[done:]


def raw_text(raw: msgspec.Raw) -> str | None:
    """Return JSON as written, but in one line; ``None`` for null or missing."""
    written = bytes(raw)
    if written in (b"", b"null"):
        return None
    if written[0] not in b"{[":  # a text or a number is in one line
        return written.decode("utf-8", "replace")
    return msgspec.json.format(written, indent=-1).decode("utf-8", "replace")


def is_there(raw: msgspec.Raw) -> bool:
    """Return whether a member exists and is not null."""
    return raw not in _NOTHING


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def file_bytes(source: Source, path: Path | None = None) -> bytes:
    """Return all bytes of the leading file or of a companion, unchanged.

    Raises:
        Refused: They exceed ``max_file_mb``.
        ChangedWhileRead: They may be of two versions.
        OSError: It cannot be read.
    """
    file = None if _is_held(source, path) else InputFile(path or source.path)
    size = file.size if file else source.size
    if size > source.limits.max_file:
        raise Refused(source.limits.file_too_large(size))
    return file.whole() if file else source.data


def beginning(path: Path) -> bytes:
    """Return the first megabyte of a file, to group it with others.

    Empty if it cannot be read: the reader reports that later.
    """
    try:
        with path.open("rb") as file:
            return file.read(1 << 20)
    except OSError:
        return b""


def values_in(path: Path) -> list[Any]:
    """Return the document of a file, or each of its lines, to group it with others.

    Text that is not JSON is left out: the reader reports that later.
    """
    try:
        data = path.read_bytes().removeprefix(BOM)
    except OSError:
        return []
    values = []
    for written in (data, *data.split(b"\n")):
        try:
            values.append(decode(written, Any))
        except UNREADABLE:
            continue
        if written is data:
            break
    return values


def lines(source: Source, path: Path | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield each line that is not blank, redacted, and its number from 1.

    Raises:
        Refused: A line exceeds ``max_record_mb``.
        ChangedWhileRead: At the end; discard all data then.
        OSError: It cannot be read.
    """
    number = 0
    longest = source.limits.max_record
    if _is_held(source, path):
        data_blocks = blocks(io.BytesIO(source.data), longest)
    else:
        data_blocks = InputFile(path or source.path).blocks(longest)
    for block in data_blocks:
        if isinstance(block, TooLong):
            raise Refused(source.limits.record_too_large(block.size, number + 1))
        redacted = source.redact(block)
        if number == 0:
            redacted = redacted.removeprefix(BOM)
        for line in redacted.split(b"\n")[: None if redacted[-1:] != b"\n" else -1]:
            number += 1
            if line.strip():
                yield number, line


def _is_held(source: Source, path: Path | None) -> bool:
    """Return true if the bytes of the leading file are in memory."""
    return bool(source.data) and path in (None, source.path)


UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Exceptions of decoding."""

_ALLOWED = ("duplicate_key", "not_a_number")
"""The last value of a repeated key is used; NaN is read as null, Infinity as text."""


@dataclass(frozen=True, slots=True)
class ToolFiles:
    """Decodes the files of one tool.

    Args:
        tool: Its name, for people.
        versions: Versions that the reader was tested with, for people.
    """

    tool: str
    versions: str

    def document(self, source: Source, kind: type[T], path: Path | None = None) -> T:
        """Decode the leading file, or a companion, redacted.

        Raises:
            Refused: It cannot be read; the problem has the place and the error.
        """
        return self.decoded(source.redact(file_bytes(source, path)), kind)

    def decoded(self, data: bytes, kind: type[T]) -> T:
        """Decode all bytes of a file.

        Raises:
            Refused: They cannot be read; the problem has the place and the error.
        """
        try:
            return decode(data.removeprefix(BOM), kind)
        except UNREADABLE as error:
            raise Refused(self.problem(error, document=data)) from None

    def lines(
        self, source: Source, kind: type[T], path: Path | None = None
    ) -> Iterator[T | Problem]:
        """Yield each line of the leading file, or of a companion, redacted."""
        pointer = None if path is None else path.name
        for line, written in lines(source, path):
            yield self.record(written, kind, line=line, pointer=pointer)

    def values(self, source: Source, path: Path | None = None) -> Iterator[Any]:
        """Yield the document of a file, or each of its lines: JSON values, or problems.

        Raises:
            Refused: It is one document, and cannot be read.
        """
        first, _, rest = file_bytes(source, path).lstrip().partition(b"\n")
        try:
            decode(first.removeprefix(BOM), Any)
        except UNREADABLE:
            rest = b""
        if rest.strip():
            yield from self.lines(source, Any, path)
        else:
            yield self.document(source, Any, path)

    def converted(self, value: Any, kind: type[T], pointer: str) -> T | Problem:
        """Return an object of a decoded file, or reject it if it has another shape."""
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            return self.problem(error, pointer=pointer, raw=compact(value).encode())

    def items(
        self,
        written: Iterable[msgspec.Raw],
        kind: type[T],
        pointer: str,
        redact: Callable[[bytes], bytes] = bytes,
    ) -> Iterator[T | Problem]:
        """Yield each item of the list at *pointer*, decoded one by one."""
        for place, raw in enumerate(written):
            yield self.record(redact(bytes(raw)), kind, pointer=f"{pointer}/{place}")

    def record(
        self,
        written: bytes,
        kind: type[T],
        *,
        line: int | None = None,
        pointer: str | None = None,
    ) -> T | Problem:
        """Decode one record, or reject it if it has another shape."""
        try:
            return decode(written, kind)
        except UNREADABLE as error:
            return self.problem(error, line=line, pointer=pointer, raw=written)

    def problem(
        self,
        error: Exception,
        *,
        line: int | None = None,
        pointer: str | None = None,
        raw: bytes | None = None,
        document: bytes = b"",
    ) -> Problem:
        """Return the reject of a file, or of one record, that its reader cannot read.

        Args:
            error: The exception of decoding.
            line: Line of the record.
            pointer: JSON Pointer of the record in its file.
            raw: The text of the record, which is stored.
            document: The text of a whole file, which is not stored.
        """
        why, column, fix = (
            str(error),
            None,
            f". The reader knows {self.versions}: write it again",
        )
        written = document if raw is None else raw
        is_syntax = not isinstance(error, msgspec.ValidationError)
        errors = errors_of(decode_text(written), allow=_ALLOWED) if is_syntax else []
        if written and errors:
            why, column, fix = errors[0].message, errors[0].column, ""
            line = (line or 1) + (errors[0].line or 1) - 1
        elif isinstance(error, RecursionError):
            why = "it is nested too deeply to be read"
        lead = f"looks like {self.tool}'s, but: "
        why = first_line(why.rstrip("."), LONGEST_LINE - len(lead) - len(fix)) or ""
        return Problem(
            "unexpected_shape",
            f"{lead}{why}{fix}",
            line=line,
            column=column,
            pointer=pointer,
            raw_text=None if raw is None else raw.decode("utf-8", "replace"),
        )
