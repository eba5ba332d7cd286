"""The raw layer in the database: its tables, and the one way rows get into them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from promptlab.errors import WarehouseError

if TYPE_CHECKING:
    import duckdb
    import polars as pl

Columns = Mapping[str, Sequence[Any]]
"""Column → values, lists or polars series, all of one length."""

SCHEMA_VERSION = 1
# 1  first version

# What a reader's key replaces: the tables that hold the object, and their id columns.
OWNED_TABLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "testset": (("testsets", "test_cases", "expectations"), ("testset_id",)),
    "pipeline": (("pipelines", "pipeline_steps"), ("pipeline_id",)),
    "task": (
        ("tasks", "cases", "rounds", "baselines", "dimension_configs"),
        ("task_id",),
    ),
    "memory": (
        (
            "memory_runs",
            "memory_tests",
            "memory_answers",
            "memory_invalid_questions",
            "memory_timings",
        ),
        ("run_id", "task_id"),
    ),
}


def ensure_schema(con: duckdb.DuckDBPyConnection, *, ingest_version: str) -> None:
    """Create the raw tables that are not there yet, even those that stay empty.

    Raises:
        WarehouseError: the file was written by a newer version of promptlab.
    """
    found = schema_version(con)
    if found is not None and found > SCHEMA_VERSION:
        raise WarehouseError(
            f"this warehouse has schema version {found}, this promptlab knows"
            f" {SCHEMA_VERSION}: install a newer promptlab (nothing was changed)"
        )
    if found == SCHEMA_VERSION:
        return
    con.begin()
    con.execute(resources.files("ingest").joinpath("raw.sql").read_text("utf-8"))
    con.execute(
        "insert into raw.schema_versions values (?, now(), ?)",
        [SCHEMA_VERSION, ingest_version],
    )
    con.commit()


def schema_version(con: duckdb.DuckDBPyConnection) -> int | None:
    """Version of the raw tables in this file; ``None`` where there are none."""
    there = con.execute(
        "select 1 from duckdb_tables()"
        " where schema_name = 'raw' and table_name = 'schema_versions'"
    ).fetchone()
    if there is None:
        return None
    row = con.execute("select max(version) from raw.schema_versions").fetchone()
    return None if row is None else row[0]


class _ArrowStream:
    """Only what DuckDB needs of a frame; a polars frame makes it ask for pyarrow."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def append(con: duckdb.DuckDBPyConnection, table: str, parts: Iterable[Columns]) -> int:
    """Append column-wise rows to ``raw.<table>`` in one statement; returns how many."""
    import polars as pl

    schema = _polars_schema(con, table)
    frames = [
        pl.DataFrame(part, schema={name: schema[name] for name in part})
        for part in parts
    ]
    if not frames:
        return 0
    frame = pl.concat(frames, how="diagonal") if len(frames) > 1 else frames[0]
    if frame.is_empty():
        return 0
    con.register("incoming_rows", _ArrowStream(frame))
    try:
        con.execute(f"insert into raw.{table} by name select * from incoming_rows")
    finally:
        con.unregister("incoming_rows")
    return frame.height


def delete_owned(
    con: duckdb.DuckDBPyConnection, kind: str, ids: Sequence[tuple[str, ...]]
) -> list[tuple[str, ...]]:
    """Delete the live rows of these objects; returns the ids that had any."""
    if not ids:
        return []
    tables, columns = OWNED_TABLES[kind]
    keys = ", ".join(columns)
    con.execute(
        f"create or replace temp table owned_keys as select {keys} from raw.{tables[0]}"
        " limit 0"
    )
    con.executemany(
        f"insert into owned_keys values ({', '.join('?' * len(columns))})", list(ids)
    )
    found = con.execute(
        f"select distinct {keys} from raw.{tables[0]} semi join owned_keys"
        f" using ({keys}) order by all"
    ).fetchall()
    if found:
        for table in tables:
            con.execute(
                f"delete from raw.{table} where ({keys})"
                f" in (select ({keys}) from owned_keys)"
            )
    con.execute("drop table owned_keys")
    return found


@cache
def _dtypes() -> dict[str, Any]:
    import polars as pl

    return {
        "VARCHAR": pl.String,
        "JSON": pl.String,
        "BIGINT": pl.Int64,
        "INTEGER": pl.Int32,
        "DOUBLE": pl.Float64,
        "BOOLEAN": pl.Boolean,
        "TIMESTAMP WITH TIME ZONE": pl.Datetime("us", "UTC"),
    }


def _polars_schema(con: duckdb.DuckDBPyConnection, table: str) -> dict[str, Any]:
    columns = con.execute(
        "select column_name, data_type from duckdb_columns()"
        " where schema_name = 'raw' and table_name = ? order by column_index",
        [table],
    ).fetchall()
    return {name: _dtypes()[data_type] for name, data_type in columns}
