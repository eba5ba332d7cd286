"""The result of a query, with the names of its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    names, found = fetched(con, query, parameters)
    return [dict(zip(names, row, strict=True)) for row in found]
