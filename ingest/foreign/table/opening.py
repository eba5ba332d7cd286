"""Open a table: its form, its columns and its rows.

Cells of CSV and TSV stay texts, so that ``007`` stays an id; those of other formats
keep their type in the file. The mapping declares numbers. Every cell
is converted to a JSON value before it is redacted, and each table is read once. The
formats themselves are read by `dialect` (CSV), `workbook` and `parquet_file`.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from promptlab.ingest.foreign.casts import as_object
from promptlab.ingest.foreign.documents import (
    UNREADABLE,
    Refused,
    ToolFiles,
    decode,
    file_bytes,
    lines,
    values_in,
)
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.table import dialect
from promptlab.ingest.foreign.table.cells import (
    cell_text,
    nested_names,
    with_nested,
)
from promptlab.ingest.foreign.table.dialect import (
    HEAD_BYTES,
    ROWS_PROBED,
    Row,
    head_of,
    repeated_header,
)
from promptlab.ingest.foreign.table.parquet_file import parquet_head, parquet_rows
from promptlab.ingest.foreign.table.workbook import CellError, Workbook
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Limits, Source

FORMS = ("parquet", "xlsx", "jsonl", "json", "csv")

_FILES = ToolFiles("a table", "JSON and JSONL")
_SHEET = b"xl/"
_HOLDS_ROWS = re.compile(rb"\A\s*\[\s*\{|\"\s*:\s*\[\s*\{")
_DEEPEST = 4
_HELD_BYTES = 32 << 20
_LINES_LOOKED_AT = 200
_ROWS_AT_ONCE = 2000

_encode = msgspec.json.Encoder().encode


def form_of(
    data: bytes,
    fits: Callable[[list[str]], object] = lambda _columns: False,
    encoding: str | None = None,
) -> str | None:
    """Return the form of a table by its first bytes; ``None`` if it is not a table.

    Args:
        data: The first bytes of a file.
        fits: Return true for the columns of a mapping, below which rows may be broken.
        encoding: The encoding that a mapping names.
    """
    if data.startswith(b"PAR1"):
        return "parquet"
    head = Head(data)
    if head.is_zip:
        return "xlsx" if _SHEET in data or b"[Content_Types].xml" in data else None
    if head.is_json and _has_lines(head):
        return "jsonl"
    if head.is_json and _HOLDS_ROWS.search(head.data):
        return "json"
    if head.data.lstrip()[:1] == b"{":
        return None
    sample = head_of(data, encoding)
    is_mapped = sample.may_be_table and fits(dialect.distinct_names(sample.names))
    return "csv" if is_mapped or sample.is_table else None


def _has_lines(head: Head) -> bool:
    """Return true if most lines are objects and the first two have a common key."""
    written = [line for line in head.data.split(b"\n") if line.strip()][:ROWS_PROBED]
    rows: list[Row] = []
    for line in written:
        try:
            rows.append(decode(line, Row))
        except UNREADABLE:
            continue
    if 2 * len(rows) <= len(written):
        return False
    first_two = [row.keys() for row in rows if row][:2]
    return len(first_two) == 2 and bool(first_two[0] & first_two[1])


def rows_in(document: Any) -> list[Any]:
    """Return the rows of a JSON document: the longest list of objects in it.

    It may be inside objects, but not inside other lists.
    """
    longest: list[Any] = []
    level = [document]
    for _ in range(_DEEPEST):
        for value in level:
            if isinstance(value, list) and len(value) > len(longest):
                objects = sum(isinstance(row, dict) for row in value)
                longest = value if 2 * objects > len(value) else longest
        level = [item for value in level for item in as_object(value).values()]
    return longest


def columns_of(path: Path, form: str, encoding: str | None = None) -> list[str] | None:
    """Return the columns of a table; ``None`` if it cannot be opened.

    Fields inside objects are included: ``label.value``.
    """
    try:
        if form == "parquet":
            columns, rows = parquet_head(path, 20)
            return list(
                dict.fromkeys([*columns, *chain.from_iterable(map(nested_names, rows))])
            )
        if form == "xlsx":
            _, header = next(Workbook(path, Limits(), is_whole=False).rows())
            return list(_header_names(header).values())
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except (OSError, Refused):
        return None
    except Exception as error:  # each library has its own errors
        if isinstance(error, MemoryError):
            raise
        return None
    if form == "json":
        return _names_in_documents(rows_in(document) for document in values_in(path))
    if form == "jsonl":
        return _names_in_lines(Head(head).data)
    table_head = head_of(head, encoding)
    return dialect.distinct_names(table_head.names) if table_head.may_be_table else None


def _names_in_documents(documents: Iterable[list[Any]]) -> list[str]:
    """Return the names of the first rows, and of the fields inside their objects."""
    names: dict[str, None] = {}
    for rows in documents:
        for row in filter(lambda row: isinstance(row, dict), rows[:_LINES_LOOKED_AT]):
            names |= dict.fromkeys([*row, *nested_names(row)])
    return list(names)


def _names_in_lines(data: bytes) -> list[str]:
    """Return the names in the first lines: not every row has every name."""
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


def rows_of(
    source: Source, form: str, numbers: Collection[str] | None = ()
) -> Iterator[tuple[int, Row] | Problem]:
    """Yield each row, redacted, in file order, with its first line number.

    In binary formats it is the number of the row; the header is row 1. In a JSON
    document it is that of the item. Rows without cells are left out.

    Args:
        source: The file.
        form: One of `FORMS`.
        numbers: Columns of a CSV file that may hold decimal commas; ``None``: all.

    Raises:
        Refused: It cannot be read as a table.
    """
    mapping = source.mapping
    paths = [] if mapping is None else mapping[1].paths
    unredacted = _unredacted(source, form, numbers)
    # JSON is redacted as it is read
    rows = unredacted if form in ("jsonl", "json") else _redacted(unredacted, source)
    for item in rows:
        if isinstance(item, Problem):
            yield item
        elif any(cell not in (None, "") for cell in item[1].values()):
            yield (item[0], with_nested(item[1], paths)) if paths else item


def _unredacted(
    source: Source, form: str, numbers: Collection[str] | None
) -> Iterator[tuple[int, Row] | Problem]:
    if form == "jsonl":
        yield from _jsonl_rows(source)
        return
    if form == "json":
        yield from _document_rows(source)
        return
    if source.size > source.limits.max_file:
        raise Refused(source.limits.file_too_large(source.size))
    if form == "csv":
        yield from dialect.csv_rows(file_bytes(source), source, numbers)
    elif form == "xlsx":
        yield from _sheet_rows(Workbook(source.path, source.limits).rows())
    else:
        for row in parquet_rows(source.path, source.limits):
            yield _row_or_header(*row)


def _row_or_header(line: int, row: Row) -> tuple[int, Row] | Problem:
    """Return the row; in place of a repeated header, the warning about it."""
    again = repeated_header(list(row.values()), list(row), f"row {line}")
    return (line, row) if again is None else again


def _jsonl_rows(source: Source) -> Iterator[tuple[int, Row] | Problem]:
    for line, written in lines(source):
        row = _FILES.record(written, dict[str, Any], line=line)
        yield row if isinstance(row, Problem) else (line, row)


def _document_rows(source: Source) -> Iterator[tuple[int, Row] | Problem]:
    for n, row in enumerate(rows_in(_FILES.document(source, Any)), start=1):
        converted = _FILES.converted(row, Row, f"/{n - 1}")
        yield converted if isinstance(converted, Problem) else (n, converted)


def _header_names(header: dict[int, Any]) -> dict[int, str]:
    """Return column → its name; a column without a name gets its number."""
    names = [
        f"column {column}" if isinstance(cell, CellError) else cell_text(cell) or ""
        for column, cell in sorted(header.items())
    ]
    return dict(zip(sorted(header), dialect.distinct_names(names), strict=True))


def _sheet_rows(
    rows: Iterator[tuple[int, dict[int, Any]]],
) -> Iterator[tuple[int, Row] | Problem]:
    _, header = next(rows)
    yield from dialect.repeated_names(
        [cell_text(cell) or "" for cell in header.values()]
    )
    names = _header_names(header)
    for line, cells in rows:
        row: Row = dict.fromkeys(names.values())
        for column, cell in cells.items():
            name = names.get(column, f"column {column}")
            if isinstance(cell, CellError):
                yield _cell_error(cell, name, line)
            else:
                row[name] = cell
        yield _row_or_header(line, row)


def _cell_error(cell: CellError, name: str, line: int) -> Problem:
    problem = (
        f"is the error {cell.code}, and is read as empty"
        if cell.code
        else "is a formula without a stored result, and is read as empty: open the file"
        " in a spreadsheet and save it"
    )
    return warning(
        "cell_error", f"row {line}: the cell below `{name}` {problem}", line=line
    )


def _redacted(
    rows: Iterator[tuple[int, Row] | Problem], source: Source
) -> Iterator[tuple[int, Row] | Problem]:
    batch: list[tuple[int, Row]] = []
    for item in rows:
        if isinstance(item, Problem):
            yield item
            continue
        batch.append(item)
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
    """The rows of a table, read and redacted once; they can be iterated again."""

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
        for item in rows_of(self._source, self._form, numbers):
            self._kept.write(_encode(item))
            self._kept.write(b"\n")
            yield item
        self._is_read = True


_decode_row = msgspec.json.Decoder(tuple[int, Row]).decode
_decode_problem = msgspec.json.Decoder(Problem).decode
