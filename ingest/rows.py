"""Rows for raw tables, kept column by column, as the loader hands them to DuckDB.

Column names are those of ``raw.sql``, which stays the only schema. ``load_id``, and
``file_uri`` where a table has it, are the loader's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Columns = dict[str, Sequence[Any]]
"""Column → its values, one per row; all of one length."""

Rows = dict[str, Columns]
"""Raw table → its columns. A table without rows may be absent."""


def columns_of(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Columns:
    """Turn rows into columns.

    Args:
        names: The columns, in the order of each row's values.
        rows: One sequence of values per row.

    Raises:
        ValueError: A row does not have one value per name.
    """
    table = list(rows)
    if any(len(row) != len(names) for row in table):
        raise ValueError(f"a row does not have the {len(names)} values of {names}")
    if not table:
        return {name: [] for name in names}
    return dict(zip(names, map(list, zip(*table, strict=True)), strict=True))


def height(columns: Columns) -> int:
    """Return how many rows the columns have."""
    return len(next(iter(columns.values()))) if columns else 0
