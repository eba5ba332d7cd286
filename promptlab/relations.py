"""Rows, tables and views of an open database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlab.errors import UsageError

if TYPE_CHECKING:
    import duckdb


Row = dict[str, Any]


def fetched(
    con: duckdb.DuckDBPyConnection, query: str, parameters: object = None
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run a query and return the names of its columns, and its rows."""
    cursor = con.execute(query, parameters)
    return [column[0] for column in cursor.description or ()], cursor.fetchall()


def dictionaries(
    con: duckdb.DuckDBPyConnection, query: str, parameters: object = None
) -> list[Row]:
    """Run a query and return its rows as mappings from column names."""
    names, rows = fetched(con, query, parameters)
    return [dict(zip(names, row, strict=True)) for row in rows]


def run_query(
    con: duckdb.DuckDBPyConnection, query: str, parameters: Sequence[Any] = ()
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run one statement; returns its columns and its rows.

    Raises:
        UsageError: it is invalid or fails, returns no result, or would write.
    """
    import duckdb

    try:
        statements = con.extract_statements(query)
        if len(statements) != 1:
            raise UsageError(f"expected one statement, found {len(statements)}")
        result = con.sql(query, params=list(parameters) or None)
        gives = statements[0].expected_result_type
        if duckdb.ExpectedResultType.QUERY_RESULT not in gives:
            raise UsageError("query: the statement returns no rows")
        return result.columns, result.fetchall()
    except duckdb.Error as error:
        raise UsageError(f"query: {error}") from None


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit at the end of a ``with`` block, or roll back after an error."""
    con.begin()
    try:
        yield
        con.commit()
    except BaseException:
        roll_back(con)
        raise


def roll_back(con: duckdb.DuckDBPyConnection) -> None:
    """Roll back the transaction; a failed commit has already done so."""
    import duckdb

    with suppress(duckdb.Error):
        con.rollback()


def identifier(name: str) -> str:
    """Return a quoted name for a query."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str | Path) -> str:
    """Return a quoted text for a statement that takes no parameters."""
    return "'" + str(text).replace("'", "''") + "'"


@dataclass(frozen=True)
class StoredTable:
    """A table of the warehouse and its columns, in their order."""

    schema: str
    name: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        """``schema.name``, for people."""
        return f"{self.schema}.{self.name}"

    @property
    def sql(self) -> str:
        """``"schema"."name"``, for queries."""
        return f"{identifier(self.schema)}.{identifier(self.name)}"


def tables_of(
    con: duckdb.DuckDBPyConnection, *schemas: str, views: bool = False
) -> list[StoredTable]:
    """Return every table of the database of *con*, or of these schemas."""
    relations = "select database_oid, schema_name, table_name from duckdb_tables()"
    if views:
        relations += (
            " union all select database_oid, schema_name, view_name"
            " from duckdb_views() where not internal"
        )
    rows = con.execute(
        "select schema_name, table_name, list(column_name order by column_index)"
        f" from duckdb_columns() semi join ({relations}) as relations"
        " using (database_oid, schema_name, table_name)"
        " where database_name = current_database() and not internal"
        " group by all order by all"
    ).fetchall()
    return [
        StoredTable(schema, name, tuple(columns))
        for schema, name, columns in rows
        if not schemas or schema in schemas
    ]


def has_relation(con: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Return true if a table or view of this name exists.

    Queries the relation itself, because DuckDB's list of all tables takes 15 ms.
    """
    import duckdb

    try:
        con.execute(f"from {name} limit 0")
    except duckdb.CatalogException:
        return False
    return True


def file_of(con: duckdb.DuckDBPyConnection) -> Path:
    """Return the file that *con* reads."""
    row = con.execute(
        "select path from duckdb_databases() where database_name = current_database()"
    ).fetchone()
    assert row is not None
    return Path(row[0])


def comment_sql(
    relation: str, column: str | None, text: str, kind: str = "table"
) -> str:
    """Return the ``comment on`` statement of a relation or a column."""
    target = f"{kind} {relation}"
    if column is not None:
        target = f"column {relation}.{identifier(column)}"
    return f"comment on {target} is {literal(text)}"
