"""Stream Parquet with DuckDB in bounded memory.

The unpacked size is measured before a row is read: dictionaries and run lengths expand
a few bytes to millions of equal rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.ingest.foreign.documents import Refused
from promptlab.ingest.foreign.table.cells import plain
from promptlab.ingest.foreign.table.dialect import Row, repeated_names, told_apart
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    import duckdb

    from promptlab.ingest.reading.limits import Limits

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
        rows = [each[1] for each in found if not isinstance(each, Problem)]
    return [name for name, _ in types], rows


def parquet_rows(path: Path, limits: Limits) -> Iterator[tuple[int, Row] | Problem]:
    """Read the rows, each after its number, the columns being row 1.

    Raises:
        Refused: It cannot be read, or unpacks to more than ``max_file_mb``.
    """
    import duckdb

    try:
        with _opened() as con:
            types = _types(con, path)
            yield from repeated_names(_names(con, path))
            _measure(con, path, types, limits)
            yield from _rows(con, path, types)
    except duckdb.OutOfMemoryException:
        why = f"a row group of it needs more than {_MEMORY}; write smaller ones"
    except duckdb.Error as error:
        why = str(error).splitlines()[0]
    else:
        return
    raise Refused(Problem("unexpected_shape", f"cannot be read as parquet: {why}"))


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


def _names(con: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """Return the names as written: DuckDB renames `A` if there is also `a`."""
    tree = con.execute(
        "select name, coalesce(num_children, 0) from parquet_schema($1)", [str(path)]
    ).fetchall()
    names = []
    place = 1
    while place < len(tree):
        names.append(tree[place][0])
        open_nodes = 1
        while open_nodes:
            open_nodes += tree[place][1] - 1
            place += 1
    return names


def _types(con: duckdb.DuckDBPyConnection, path: Path) -> list[tuple[str, str]]:
    described = con.execute("from read_parquet($1) limit 0", [str(path)]).description
    names = told_apart(_names(con, path))
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
) -> Iterator[tuple[int, Row] | Problem]:
    names = [name for name, _ in types]
    shown = ", ".join(_as_read(column, kind) for column, (_, kind) in _numbered(types))
    found = con.execute(f"select {shown} from {_table(types)}{limit}", [str(path)])
    simple = all(kind in _AS_THEY_ARE for _, kind in types)
    blobs = {name: [0, 0, 0] for name, kind in types if kind == "BLOB"}
    line = 1
    while rows := found.fetchmany(_ROWS_AT_ONCE):
        for cells in rows:
            line += 1
            row = dict(zip(names, cells, strict=True))
            for name, counts in blobs.items():
                if row[name] is not None:
                    counts[0] = counts[0] or line
                    counts[1 + (not _is_text(row[name]))] += 1
            yield line, row if simple else {k: plain(v) for k, v in row.items()}
    for name, (first, texts, others) in blobs.items():
        if first:
            yield _binary(name, first, texts, others)


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


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _binary(name: str, first: int, texts: int, others: int) -> Problem:
    read = [f"{texts} cells are read as UTF-8"] if texts else []
    read += [f"{others} cells are not UTF-8 and read as Base64"] if others else []
    return Problem(
        "binary_column",
        f"`{name}` holds bytes and no text: {', '.join(read)}. Write it as a column of"
        " texts",
        severity="warning",
        line=first,
    )
