"""Read and decode the files of a tool's run, within the limits."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from promptlab.ingest.files.input_file import InputFile, TooLong, blocks
from promptlab.ingest.foreign.documents import Refused, decode
from promptlab.ingest.foreign.identity import repeated_header
from promptlab.ingest.reading.problems import Problem
from promptlab.json_text.places import BOM
from promptlab.json_text.places import decode as decode_text
from promptlab.json_text.reading import errors_of

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source


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
        found = blocks(io.BytesIO(source.data), longest)
    else:
        found = InputFile(path or source.path).blocks(longest)
    for block in found:
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


T = TypeVar("T")

CsvRow = dict[str, str | None]
"""Column → text; an empty cell is null."""

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Exceptions of decoding."""

_ALLOWED = ("duplicate_key", "not_a_number")
"""The last value of a repeated key is used; NaN is read as null, Infinity as text."""


@dataclass(frozen=True, slots=True)
class ToolFiles:
    """Decodes the files of one tool.

    Args:
        tool: Its name, for people.
        versions: Versions that the reader was tested with.
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
        """Return all bytes of a file.

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
        why, column = str(error), None
        written = document if raw is None else raw
        is_syntax = not isinstance(error, msgspec.ValidationError)
        found = errors_of(decode_text(written), allow=_ALLOWED) if is_syntax else []
        if written and found:
            why, column = found[0].message, found[0].column
            line = (line or 1) + (found[0].line or 1) - 1
        elif isinstance(error, RecursionError):
            why = "it is nested too deeply to be read"
        return Problem(
            "unexpected_shape",
            f"looks like {self.tool}'s, but: {why.rstrip('.')}. The reader was tried on"
            f" {self.versions}; write the file again with one of these, or tell us of"
            " the new shape",
            line=line,
            column=column,
            pointer=pointer,
            raw_text=None if raw is None else raw.decode("utf-8", "replace"),
        )

    def csv(self, source: Source) -> Iterator[CsvRow | Problem]:
        """Yield each row of a CSV file, redacted; cells are texts, or null if empty.

        A repeated header is not a row, and is reported.

        Raises:
            Refused: It is larger than ``max_file_mb``, or not CSV in UTF-8.
        """
        import polars as pl

        data = source.redact(file_bytes(source))
        try:
            table = pl.read_csv(io.BytesIO(data), infer_schema=False)
        except pl.exceptions.PolarsError as error:
            why = str(error).splitlines()[0]
            raise Refused(
                Problem(
                    "unexpected_shape",
                    f"looks like {self.tool}'s CSV, but: {why}. The reader was tried on"
                    f" {self.versions}; write the file again, or as JSON lines",
                )
            ) from None
        for place, row in enumerate(table.iter_rows(named=True), start=1):
            cells = list(row.values())
            if all(cell is None for cell in cells):
                continue  # an empty line
            where = f"row {place} below the header"
            again = repeated_header(cells, table.columns, where)
            yield row if again is None else again
