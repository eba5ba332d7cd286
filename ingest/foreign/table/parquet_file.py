"""Read Parquet files with DuckDB, in bounded memory.

The unpacked size is measured before a row is read: dictionaries and run lengths expand
a few bytes to millions of equal rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.ingest.foreign.documents import Refused, refused
from promptlab.ingest.foreign.table.cells import plain
from promptlab.ingest.foreign.table.dialect import Row, distinct_names
from promptlab.ingest.reading.source import Limits

if TYPE_CHECKING:
    import duckdb

_ROWS_AT_ONCE = 2000
_LEAST_BYTES = 2
"""Minimum bytes of a cell as text: a character and a separator."""
_MEMORY = "1GB"
_AS_THEY_ARE = frozenset(
    (
        *("VARCHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", '"NULL"'),
        *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    )
)
"""DuckDB's types whose values are JSON values."""
_AS_TEXT = frozenset(("HUGEINT", "UHUGEINT", "BIGNUM", "INTERVAL", "BIT", "UUID"))
"""Its types that are read as text."""
_NESTED = ("STRUCT", "MAP", "UNION", "VARIANT", "JSON")


def parquet_head(path: Path, most: int) -> tuple[list[str], list[Row]]:
    """Return the names of the columns, and the first rows if a column is nested.

    The fields of nested columns are columns, too.
    """
    with _connection() as con:
        types = _types(con, path)
        is_nested = any(_is_nested(kind) for _, kind in types)
        numbered = _rows(con, path, types, f" limit {most}") if is_nested else ()
        rows = [row for _, row in numbered]
    return [name for name, _ in types], rows


def parquet_rows(path: Path, limits: Limits) -> Iterator[tuple[int, Row]]:
    """Read the rows, each after its number, the columns being row 1.

    Raises:
        Refused: It cannot be read, or unpacks to more than ``max_file_mb``.
    """
    import duckdb

    try:
        with _connection() as con:
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


def _connection() -> duckdb.DuckDBPyConnection:
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
    names = distinct_names([column[0] for column in described])
    return [
        (name, str(column[1])) for name, column in zip(names, described, strict=True)
    ]


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
    size = _LEAST_BYTES * int(cells)
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
    result = con.execute(f"select {shown} from {_table(types)}{limit}", [str(path)])
    simple = all(kind in _AS_THEY_ARE for _, kind in types)
    line = 1
    while rows := result.fetchmany(_ROWS_AT_ONCE):
        for cells in rows:
            line += 1
            row = dict(zip(names, cells, strict=True))
            yield line, row if simple else {k: plain(v) for k, v in row.items()}


def _numbered(types: list[tuple[str, str]]) -> Iterator[tuple[str, tuple[str, str]]]:
    return ((f"c{place}", column) for place, column in enumerate(types))


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
