"""The raw layer in the database: its tables, and writing rows to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

from promptlab.database import SMALL
from promptlab.errors import SettingsError, UsageError, WarehouseError
from promptlab.ingest.raw.catalogue import (
    BY_NAME,
    OF_BUILDS,
    SCHEMA_VERSION,
)
from promptlab.ingest.raw.rows import EPOCH, Columns, height
from promptlab.relations import file_of, has_relation, transaction

if TYPE_CHECKING:
    import duckdb
    import polars as pl


_TIME = "TIMESTAMP WITH TIME ZONE"
_MICROSECOND = timedelta(microseconds=1)

OTHER_VERSION = (
    "install the promptlab that wrote it, or load the files into a new warehouse"
)
"""What to do about a file of another schema version."""


def ensure_schema(con: duckdb.DuckDBPyConnection, *, ingest_version: str) -> None:
    """Create the raw tables that a file lacks, even those that stay empty.

    Raises:
        WarehouseError: The file has another schema version.
        SettingsError: It is another program's database.
    """
    is_new = check_version(con) is None
    if not is_new and _has_all(con):
        return
    from importlib import resources

    statements = resources.files("promptlab.ingest.raw").joinpath("raw.sql")
    with transaction(con):
        con.execute(statements.read_text("utf-8"))
        if is_new:
            con.execute(
                "insert into raw.schema_versions values (?, now(), ?)",
                [SCHEMA_VERSION, ingest_version],
            )


def _has_all(con: duckdb.DuckDBPyConnection) -> bool:
    """Return true if every raw table, or a view of its name, exists.

    Queries them, because DuckDB's list of all tables takes 10 ms to begin with.
    """
    import duckdb

    tables = " union all ".join(
        f"select 1 from raw.{name} where false" for name in BY_NAME
    )
    try:
        con.execute(tables)
    except duckdb.CatalogException:
        return False
    except duckdb.Error:  # of a view on files that cannot be read here
        return True
    return True


def check_not_foreign(con: duckdb.DuckDBPyConnection) -> None:
    """Check that a file without raw tables has no other tables.

    Raises:
        SettingsError: it is another program's database.
    """
    row = con.execute(
        "select schema_name || '.' || table_name from duckdb_tables()"
        " where database_name = current_database() and not internal limit 1"
    ).fetchone()
    if row is not None:
        raise SettingsError(
            f"{file_of(con)}: is a database of something else: it has {row[0]} and no"
            " warehouse; name another file with --db (nothing was changed)"
        )


def is_small(con: duckdb.DuckDBPyConnection) -> bool:
    """Return true if the raw tables have few rows."""
    row = con.execute(
        "select (select count(*) from raw.rounds)"
        " + (select count(*) from raw.memory_answers) <= $1",
        [SMALL],
    ).fetchone()
    return row is not None and bool(row[0])


def check_version(con: duckdb.DuckDBPyConnection) -> int | None:
    """Check that a file has no raw tables yet, or those of this version.

    Returns:
        The version; ``None`` without raw tables.

    Raises:
        WarehouseError: its schema version is another one.
        SettingsError: it is another program's database.
    """
    version = schema_version(con)
    if version is None:
        check_not_foreign(con)
    elif version != SCHEMA_VERSION:
        raise WarehouseError(
            f"this warehouse has schema version {version}, this promptlab works with"
            f" {SCHEMA_VERSION}: {OTHER_VERSION} (nothing was changed)"
        )
    return version


def check_not_views(
    con: duckdb.DuckDBPyConnection,
    instead: str = "ingest there (--sink parquet://DIR), and build with --raw",
) -> None:
    """Check that the raw tables are in this file.

    Raises:
        UsageError: they are Parquet files, which are read-only.
    """
    import duckdb

    try:
        con.execute("select rowid from raw.loads limit 0")  # a view has none
    except (
        duckdb.BinderException,
        duckdb.CatalogException,
        duckdb.PermissionException,
    ):
        raise UsageError(
            f"{file_of(con)}: reads its raw tables from Parquet; {instead}"
            " (nothing was changed)"
        ) from None


def give_way(con: duckdb.DuckDBPyConnection) -> None:
    """Drop the empty raw tables, so that views on Parquet files can use their names.

    Raises:
        UsageError: a raw table of the warehouse has rows.
    """
    tables = [
        name
        for (name,) in con.execute(
            "select table_name from duckdb_tables() where schema_name = 'raw'"
        ).fetchall()
        if name not in OF_BUILDS
    ]
    for table in tables:
        if con.execute(f"select 1 from raw.{table} limit 1").fetchone():
            raise UsageError(
                f"{file_of(con)}: has raw tables of its own (rows in raw.{table});"
                " name another warehouse with --db, or build without --raw"
            )
    for table in tables:
        con.execute(f"drop table raw.{table}")


def schema_version(con: duckdb.DuckDBPyConnection) -> int | None:
    """Version of the raw tables in this file; ``None`` without raw tables."""
    if not has_relation(con, "raw.schema_versions"):
        return None
    row = con.execute("select max(version) from raw.schema_versions").fetchone()
    return None if row is None else row[0]


class _ArrowStream:
    """The part of a frame that DuckDB needs; polars frames would require pyarrow."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def as_relation(
    con: duckdb.DuckDBPyConnection, frame: pl.DataFrame
) -> duckdb.DuckDBPyRelation:
    """Provide the rows of a frame for queries."""
    return con.from_arrow(_ArrowStream(frame))


_FEW = 1_000
"""Number of rows that a statement takes as lists in less time than to load polars."""


def append(con: duckdb.DuckDBPyConnection, table: str, parts: Iterable[Columns]) -> int:
    """Append columns to ``raw.<table>``; return the number of rows."""
    described = con.execute(f"from raw.{table} limit 0").description
    types = {name: str(kind) for name, kind, *_ in described}
    joined = [part for part in _joined(parts) if height(part)]
    count = sum(map(height, joined))
    if count <= _FEW:
        for part in joined:
            lists = (
                f'unnest(${number}::{types[name]}[]) as "{name}"'
                for number, name in enumerate(part, 1)
            )
            con.execute(
                f"insert into raw.{table} by name select {', '.join(lists)}",
                [
                    _doubles(values) if types[name] == "DOUBLE" else values
                    for name, values in part.items()
                ],
            )
    else:
        _append_frames(con, table, [as_frame(part, types) for part in joined], types)
    return count


def _doubles(values: Iterable[float | None]) -> list[float | None]:
    """Return numbers as DuckDB takes them: no integer beyond 128 bits."""
    return [None if value is None else float(value) for value in values]


def _append_frames(
    con: duckdb.DuckDBPyConnection,
    table: str,
    frames: Sequence[pl.DataFrame],
    types: Iterable[str],
) -> None:
    import polars as pl

    frame = pl.concat(frames, how="diagonal") if len(frames) > 1 else frames[0]
    columns = ", ".join(
        f'"{name}"' if name in frame.columns else f'null as "{name}"' for name in types
    )
    # Not registered: that creates a view, which an open transaction keeps alive with
    # its rows until it ends.
    rows = as_relation(con, frame).project(columns)
    rows.insert_into(f"raw.{table}")


def _joined(parts: Iterable[Columns]) -> Iterator[Columns]:
    """Join adjacent parts of the same columns: a frame costs as much as many rows."""
    for names, neighbours in groupby(parts, tuple):
        alike = list(neighbours)
        yield {
            name: list(chain.from_iterable(part[name] for part in alike))
            for name in names
        }


def as_frame(columns: Columns, types: Mapping[str, str]) -> pl.DataFrame:
    """Return columns as a frame.

    Args:
        columns: Their values; times are in UTC.
        types: Column → its type in ``raw.sql``.
    """
    import polars as pl

    return pl.DataFrame(
        [
            _times(name, values)
            if types[name] == _TIME
            else pl.Series(name, values, dtype=polars_types()[types[name]])
            for name, values in columns.items()
        ]
    )


def _times(name: str, values: Iterable[datetime | None]) -> pl.Series:
    """Return times as a column; polars takes numbers ten times faster than objects."""
    import polars as pl

    microseconds = [time and (time - EPOCH) // _MICROSECOND for time in values]
    return pl.Series(name, microseconds, dtype=pl.Int64).cast(polars_types()[_TIME])


@cache
def polars_types() -> dict[str, Any]:
    """Type of ``raw.sql`` → polars type; JSON is text."""
    import polars as pl

    return {
        "VARCHAR": pl.String,
        "JSON": pl.String,
        "BIGINT": pl.Int64,
        "INTEGER": pl.Int32,
        "DOUBLE": pl.Float64,
        "BOOLEAN": pl.Boolean,
        _TIME: pl.Datetime("us", "UTC"),
    }
