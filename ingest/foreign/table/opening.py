"""Open a table: its form, its columns and its rows.

Cells of CSV and TSV stay texts, so that ``007`` stays an id; those of other formats
keep the type that the file gives them. The mapping declares numbers. Every cell
is converted to a JSON value before it is redacted, and each table is read once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from promptlab.ingest.foreign.documents import Refused, decode
from promptlab.ingest.foreign.heads import Head
from promptlab.ingest.foreign.identity import repeated_header
from promptlab.ingest.foreign.table import dialect
from promptlab.ingest.foreign.table.cells import said
from promptlab.ingest.foreign.table.columnar import parquet_head, parquet_rows
from promptlab.ingest.foreign.table.dialect import HEAD_BYTES, Row, head_of
from promptlab.ingest.foreign.table.paths import nested_names, with_nested
from promptlab.ingest.foreign.table.workbook import CellError, Workbook
from promptlab.ingest.foreign.tool_files import UNREADABLE, ToolFiles, file_bytes, lines
from promptlab.ingest.reading.limits import Limits
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source

FORMS = ("parquet", "xlsx", "jsonl", "csv")

_FILES = ToolFiles("a table", "JSONL")
_ROWS_AT_ONCE = 2000
_SHEET = b"xl/"
_HELD_BYTES = 32 << 20
_LINES_LOOKED_AT = 200

_encode = msgspec.json.Encoder().encode


def form_of(data: bytes) -> str | None:
    """Return the form of a table by its first bytes; ``None`` if it is not a table."""
    if data.startswith(b"PAR1"):
        return "parquet"
    head = Head(data)
    if head.is_zip:
        return "xlsx" if _SHEET in data or b"[Content_Types].xml" in data else None
    if head.data.lstrip()[:1] == b"{":
        return "jsonl" if _has_lines(head) else None
    return "csv" if head_of(data).is_table else None


def _has_lines(head: Head) -> bool:
    """Return true for two lines that are objects with a common key."""
    found = []
    for line in head.data.split(b"\n")[:2]:
        try:
            found.append(decode(line, dict[str, Any]))
        except UNREADABLE:
            return False
    return len(found) == 2 and bool(found[0].keys() & found[1].keys())


def columns_of(path: Path, form: str) -> list[str] | None:
    """Return the columns of a table; ``None`` if it cannot be opened.

    Fields inside objects are included: ``label.value``.
    """
    try:
        if form == "parquet":
            columns, rows = parquet_head(path, 20)
            return list(dict.fromkeys([*columns, *_all_nested(rows)]))
        if form == "xlsx":
            return _header_of(Workbook(path, Limits(), is_whole=False).rows())
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except (OSError, Refused):
        return None
    except Exception as error:  # each library has its own errors
        if isinstance(error, MemoryError):
            raise
        return None
    if form == "jsonl":
        return _keys(Head(head).data)
    found = head_of(head)
    return dialect.told_apart(found.names) if found.is_table else None


def _keys(data: bytes) -> list[str]:
    """Return the keys of the first lines: not every row has every key."""
    names: dict[str, None] = {}
    written = data.split(b"\n")[:_LINES_LOOKED_AT]
    for line in written if len(data) < HEAD_BYTES or not written[1:] else written[:-1]:
        if not line.strip():
            continue
        try:
            row = decode(line, dict[str, Any])
        except UNREADABLE:
            continue
        names |= dict.fromkeys(row)
        names |= dict.fromkeys(nested_names(row))
    return list(names)


def _all_nested(rows: Iterable[Row]) -> Iterator[str]:
    return chain.from_iterable(map(nested_names, rows))


def rows_of(
    source: Source, form: str, numbers: Collection[str] | None = ()
) -> Iterator[tuple[int, Row] | Problem]:
    """Yield each row, redacted, in file order, with its first line number.

    In binary formats it is the number of the row; the header is row 1. Rows without
    cells are left out.

    Args:
        source: The file.
        form: One of `FORMS`.
        numbers: Columns of a CSV file that may hold decimal commas; ``None``: all.

    Raises:
        Refused: It cannot be read as a table.
    """
    mapping = source.mapping
    paths = [] if mapping is None else mapping[1].paths
    found = _unredacted(source, form, numbers)
    # lines of JSON are redacted as they are read
    rows = found if form == "jsonl" else _redacted(found, source)
    for each in rows:
        if isinstance(each, Problem):
            yield each
        elif any(cell not in (None, "") for cell in each[1].values()):
            yield (each[0], with_nested(each[1], paths)) if paths else each


def _unredacted(
    source: Source, form: str, numbers: Collection[str] | None
) -> Iterator[tuple[int, Row] | Problem]:
    if form == "jsonl":
        yield from _jsonl_rows(source)
        return
    if source.size > source.limits.max_file:
        raise Refused(source.limits.file_too_large(source.size))
    if form == "csv":
        yield from dialect.csv_rows(file_bytes(source), source, numbers)
    elif form == "xlsx":
        yield from _sheet_rows(Workbook(source.path, source.limits).rows())
    else:
        for each in parquet_rows(source.path, source.limits):
            yield each if isinstance(each, Problem) else _once(*each)


def _once(line: int, row: Row) -> tuple[int, Row] | Problem:
    again = repeated_header(list(row.values()), list(row), f"row {line}")
    return (line, row) if again is None else again


def _jsonl_rows(source: Source) -> Iterator[tuple[int, Row] | Problem]:
    told: set[str] = set()
    for line, written in lines(source):
        row = _FILES.record(written, dict[str, Any], line=line)
        if isinstance(row, Problem):
            yield row
            continue
        yield line, row
        twice = [key for key in row if written.count(b'"%b"' % key.encode()) > 1]
        for key in told.symmetric_difference(twice) & set(twice):
            if _is_repeated(written, key):
                told.add(key)
                yield Problem(
                    "repeated_column",
                    f"`{key}` is in one row several times: the last one counts. Give"
                    " each value its own key",
                    severity="warning",
                    line=line,
                )


def _is_repeated(written: bytes, key: str) -> bool:
    """Return whether an object itself repeats a key."""
    import json

    pairs: list[tuple[str, Any]] = []

    def keep(found: list[tuple[str, Any]]) -> dict[str, Any]:
        pairs[:] = found  # the outermost object closes last
        return {}

    try:
        json.loads(written, object_pairs_hook=keep)
    except (ValueError, RecursionError):
        return False
    return sum(name == key for name, _ in pairs) > 1


def _header_of(rows: Iterator[tuple[int, dict[int, Any]]]) -> list[str]:
    _, header = next(rows)
    return list(_names(header).values())


def _names(header: dict[int, Any]) -> dict[int, str]:
    """Return column → its name; a column without a name gets its number."""
    names = [
        f"column {column}" if isinstance(cell, CellError) else said(cell) or ""
        for column, cell in sorted(header.items())
    ]
    return dict(zip(sorted(header), dialect.told_apart(names), strict=True))


def _sheet_rows(
    rows: Iterator[tuple[int, dict[int, Any]]],
) -> Iterator[tuple[int, Row] | Problem]:
    _, header = next(rows)
    yield from dialect.repeated_names([said(cell) or "" for cell in header.values()])
    names = _names(header)
    for line, cells in rows:
        row: Row = dict.fromkeys(names.values())
        for column, cell in cells.items():
            name = names.get(column, f"column {column}")
            if isinstance(cell, CellError):
                yield Problem(
                    "cell_error",
                    f"row {line}: the cell below `{name}` is the error {cell.code}, and"
                    " is read as empty",
                    severity="warning",
                    line=line,
                )
            else:
                row[name] = cell
        yield _once(line, row)


def _redacted(
    rows: Iterator[tuple[int, Row] | Problem], source: Source
) -> Iterator[tuple[int, Row] | Problem]:
    batch: list[tuple[int, Row]] = []
    for each in rows:
        if isinstance(each, Problem):
            yield each
            continue
        batch.append(each)
        if len(batch) >= _ROWS_AT_ONCE:
            yield from _redacted_batch(batch, source)
            batch = []
    yield from _redacted_batch(batch, source)


def _redacted_batch(
    rows: list[tuple[int, Row]], source: Source
) -> list[tuple[int, Row]]:
    if not rows:
        return []
    # as lines, because redaction works line by line
    written = [_encode(row) for _, row in rows]
    redacted = source.redact(b"\n".join(written)).split(b"\n")
    return [
        (line, row) if before == after else (line, decode(after, dict[str, Any]))
        for (line, row), before, after in zip(rows, written, redacted, strict=True)
    ]


class Rows:
    """The rows of a table; they are read and redacted once, and can be iterated again.

    Args:
        source: The file.
        form: One of `FORMS`.
    """

    def __init__(self, source: Source, form: str) -> None:
        self._source = source
        self._form = form
        self._kept = tempfile.SpooledTemporaryFile(_HELD_BYTES)  # noqa: SIM115
        self._is_read = False

    def __iter__(self) -> Iterator[tuple[int, Row] | Problem]:
        if not self._is_read:
            yield from self._first()
            return
        self._kept.seek(0)
        for line in self._kept:
            if line[:1] == b"[":
                yield _decode_row(line)
            else:
                yield _decode_problem(line)

    def _first(self) -> Iterator[tuple[int, Row] | Problem]:
        mapping = self._source.mapping
        numbers = () if mapping is None else mapping[1].numbers
        self._kept.seek(0)
        self._kept.truncate()
        for each in rows_of(self._source, self._form, numbers):
            self._kept.write(_encode(each))
            self._kept.write(b"\n")
            yield each
        self._is_read = True


_decode_row = msgspec.json.Decoder(tuple[int, Row]).decode
_decode_problem = msgspec.json.Decoder(Problem).decode
