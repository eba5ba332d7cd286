"""Open a table: its form, its columns and its rows.

Cells of CSV and TSV stay texts, so that ``007`` stays an id; those of other formats
keep the type that the file gives them. The mapping declares numbers. Every cell
is converted to a JSON value before it is redacted, and each table is read once.

Parquet is streamed with DuckDB in bounded memory. Its unpacked size is measured before
a row is read: dictionaries and run lengths expand a few bytes to millions of equal
rows.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from promptlab.ingest.foreign.casts import as_object
from promptlab.ingest.foreign.documents import (
    UNREADABLE,
    Refused,
    ToolFiles,
    decode,
    file_bytes,
    lines,
    refused,
    values_in,
)
from promptlab.ingest.foreign.registry import Head
from promptlab.ingest.foreign.table import dialect
from promptlab.ingest.foreign.table.cells import nested_names, plain, said, with_nested
from promptlab.ingest.foreign.table.dialect import (
    HEAD_BYTES,
    ROWS_PROBED,
    Row,
    head_of,
    repeated_header,
    told_apart,
)
from promptlab.ingest.foreign.table.workbook import CellError, Workbook
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Limits, Source

if TYPE_CHECKING:
    import duckdb


_ROWS_AT_ONCE = 2000
_LEAST = 2
"""Minimum bytes of a cell as text: a character and a separator."""
_MEMORY = "1GB"
_NESTED = ("STRUCT", "MAP", "UNION", "VARIANT", "JSON")


def parquet_head(path: Path, most: int) -> tuple[list[str], list[Row]]:
    """Return the names of the columns, and the first rows if a column is nested."""
    with _opened() as con:
        types = _types(con, path)
        is_nested = any(_is_nested(kind) for _, kind in types)
        found = _rows(con, path, types, f" limit {most}") if is_nested else ()
        rows = [row for _, row in found]
    return [name for name, _ in types], rows


def parquet_rows(path: Path, limits: Limits) -> Iterator[tuple[int, Row]]:
    """Read the rows, each after its number, the columns being row 1.

    Raises:
        Refused: It cannot be read, or unpacks to more than ``max_file_mb``.
    """
    import duckdb

    try:
        with _opened() as con:
            types = _types(con, path)
            _measure(con, path, types, limits)
            yield from _rows(con, path, types)
    except duckdb.OutOfMemoryException:
        why = f"a row group of it needs more than {_MEMORY}; write smaller ones"
    except duckdb.Error as error:
        why = str(error).splitlines()[0]
    else:
        return
    raise refused("unexpected_shape", f"cannot be read as parquet: {why}")


def _opened() -> duckdb.DuckDBPyConnection:
    from promptlab.database import open_duckdb

    con = open_duckdb()
    for name, value in (
        ("memory_limit", _MEMORY),
        ("threads", "1"),
        ("TimeZone", "UTC"),
        ("max_temp_directory_size", "0KB"),
    ):
        con.execute(f"set {name} = '{value}'")
    return con


def _types(con: duckdb.DuckDBPyConnection, path: Path) -> list[tuple[str, str]]:
    described = con.execute("from read_parquet($1) limit 0", [str(path)]).description
    names = told_apart([each[0] for each in described])
    return [(name, str(each[1])) for name, each in zip(names, described, strict=True)]


def _measure(
    con: duckdb.DuckDBPyConnection,
    path: Path,
    types: list[tuple[str, str]],
    limits: Limits,
) -> None:
    """Refuse a file whose rows are larger than ``max_file_mb`` as text."""
    (cells,) = con.execute(
        "select coalesce(sum(num_values), 0) from parquet_metadata($1)", [str(path)]
    ).fetchall()[0]
    size = _LEAST * int(cells)
    if size <= limits.max_file:
        sizes = [
            f"coalesce(sum(strlen({_as_text(column, kind)})), 0)"
            for column, (_, kind) in _numbered(types)
            if kind in ("VARCHAR", "BLOB") or _is_nested(kind)
        ]
        if sizes:
            query = f"select {' + '.join(sizes)} from {_table(types)}"
            size += int(con.execute(query, [str(path)]).fetchall()[0][0])
    if size > limits.max_file:
        raise Refused(limits.unpacks_to(size))


def _rows(
    con: duckdb.DuckDBPyConnection,
    path: Path,
    types: list[tuple[str, str]],
    limit: str = "",
) -> Iterator[tuple[int, Row]]:
    names = [name for name, _ in types]
    shown = ", ".join(_as_read(column, kind) for column, (_, kind) in _numbered(types))
    found = con.execute(f"select {shown} from {_table(types)}{limit}", [str(path)])
    simple = all(kind in _AS_THEY_ARE for _, kind in types)
    line = 1
    while rows := found.fetchmany(_ROWS_AT_ONCE):
        for cells in rows:
            line += 1
            row = dict(zip(names, cells, strict=True))
            yield line, row if simple else {k: plain(v) for k, v in row.items()}


_AS_THEY_ARE = frozenset(
    (
        *("VARCHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", '"NULL"'),
        *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    )
)
_AS_TEXT = frozenset(("HUGEINT", "UHUGEINT", "BIGNUM", "INTERVAL", "BIT", "UUID"))


def _numbered(types: list[tuple[str, str]]) -> Iterator[tuple[str, tuple[str, str]]]:
    return ((f"c{place}", each) for place, each in enumerate(types))


def _table(types: list[tuple[str, str]]) -> str:
    columns = ", ".join(column for column, _ in _numbered(types))
    return f"read_parquet($1) as t({columns})"


def _is_nested(kind: str) -> bool:
    return kind.startswith(_NESTED) or kind.endswith("]")


def _as_text(column: str, kind: str) -> str:
    if kind == "VARCHAR":
        return column
    return f"hex({column})" if kind == "BLOB" else f"cast({column} as varchar)"


def _as_read(column: str, kind: str) -> str:
    """Return the expression that reads a column without losing digits."""
    if kind == "FLOAT":  # 0.1 is 0.1, and not the nearest double of the nearest float
        return f"cast(cast({column} as varchar) as double)"
    return f"cast({column} as varchar)" if kind in _AS_TEXT else column


FORMS = ("parquet", "xlsx", "jsonl", "json", "csv")

_FILES = ToolFiles("a table", "JSON and JSONL")
_SHEET = b"xl/"
_HOLDS_ROWS = re.compile(rb"\A\s*\[\s*\{|\"\s*:\s*\[\s*\{")
_DEEPEST = 4
_HELD_BYTES = 32 << 20
_LINES_LOOKED_AT = 200

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
    found = head_of(data, encoding)
    is_mapped = found.may_be_table and fits(dialect.told_apart(found.names))
    return "csv" if is_mapped or found.is_table else None


def _has_lines(head: Head) -> bool:
    """Return true if most lines are objects and the first two have a common key."""
    written = [line for line in head.data.split(b"\n") if line.strip()][:ROWS_PROBED]
    found: list[Row] = []
    for line in written:
        try:
            found.append(decode(line, Row))
        except UNREADABLE:
            continue
    if 2 * len(found) <= len(written):
        return False
    first_two = [row.keys() for row in found if row][:2]
    return len(first_two) == 2 and bool(first_two[0] & first_two[1])


def rows_in(document: Any) -> list[Any]:
    """Return the rows of a JSON document: the longest list of objects in it.

    It may be inside objects, and is not looked for inside other lists.
    """
    found: list[Any] = []
    level = [document]
    for _ in range(_DEEPEST):
        for each in level:
            if isinstance(each, list) and len(each) > len(found):
                objects = sum(isinstance(row, dict) for row in each)
                found = each if 2 * objects > len(each) else found
        level = [value for each in level for value in as_object(each).values()]
    return found


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
            return list(_names(header).values())
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except (OSError, Refused):
        return None
    except Exception as error:  # each library has its own errors
        if isinstance(error, MemoryError):
            raise
        return None
    if form == "json":
        return _keys_of(rows_in(each) for each in values_in(path))
    if form == "jsonl":
        return _keys(Head(head).data)
    found = head_of(head, encoding)
    return dialect.told_apart(found.names) if found.may_be_table else None


def _keys_of(documents: Iterable[list[Any]]) -> list[str]:
    """Return the names of the first rows, and of the fields inside their objects."""
    names: dict[str, None] = {}
    for rows in documents:
        for row in filter(lambda row: isinstance(row, dict), rows[:_LINES_LOOKED_AT]):
            names |= dict.fromkeys([*row, *nested_names(row)])
    return list(names)


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
    found = _unredacted(source, form, numbers)
    # JSON is redacted as it is read
    rows = found if form in ("jsonl", "json") else _redacted(found, source)
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
        for each in parquet_rows(source.path, source.limits):
            yield _once(*each)


def _once(line: int, row: Row) -> tuple[int, Row] | Problem:
    again = repeated_header(list(row.values()), list(row), f"row {line}")
    return (line, row) if again is None else again


def _jsonl_rows(source: Source) -> Iterator[tuple[int, Row] | Problem]:
    for line, written in lines(source):
        row = _FILES.record(written, dict[str, Any], line=line)
        yield row if isinstance(row, Problem) else (line, row)


def _document_rows(source: Source) -> Iterator[tuple[int, Row] | Problem]:
    for n, row in enumerate(rows_in(_FILES.document(source, Any)), start=1):
        found = _FILES.converted(row, Row, f"/{n - 1}")
        yield found if isinstance(found, Problem) else (n, found)


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
                yield _cell_error(cell, name, line)
            else:
                row[name] = cell
        yield _once(line, row)


def _cell_error(cell: CellError, name: str, line: int) -> Problem:
    what = (
        f"is the error {cell.code}, and is read as empty"
        if cell.code
        else "is a formula without a stored result, and is read as empty: open the file"
        " in a spreadsheet and save it"
    )
    return warning(
        "cell_error", f"row {line}: the cell below `{name}` {what}", line=line
    )


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
        for each in rows_of(self._source, self._form, numbers):
            self._kept.write(_encode(each))
            self._kept.write(b"\n")
            yield each
        self._is_read = True


_decode_row = msgspec.json.Decoder(tuple[int, Row]).decode
_decode_problem = msgspec.json.Decoder(Problem).decode
