"""Rows for raw tables, kept column by column, as the loader hands them to DuckDB."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Rows:
    """Raw table → column → values; every column of a table has the same length.

    Column names are those of ``raw.sql``, which stays the only schema; ``load_id`` is
    the loader's. A table without rows is absent.
    """

    tables: dict[str, dict[str, list[Any]]] = field(default_factory=dict)

    def add(
        self, table: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
    ) -> None:
        """Append *rows* to *table*; each row has a value for each of *columns*.

        Raises:
            ValueError: A row is shorter or longer than *columns*, or the table already
                has other columns.
        """
        rows = list(rows)
        if not rows:
            return
        held = self.tables.setdefault(table, {name: [] for name in columns})
        if tuple(held) != tuple(columns):
            raise ValueError(f"{table} has the columns {list(held)}, not {columns}")
        if any(len(row) != len(columns) for row in rows):
            raise ValueError(f"a row of {table} does not have {len(columns)} values")
        for name, values in zip(columns, zip(*rows, strict=True), strict=True):
            held[name].extend(values)

    def count(self, table: str) -> int:
        """Return how many rows *table* has."""
        columns = self.tables.get(table)
        return len(next(iter(columns.values()))) if columns else 0

    def extend(self, other: Rows) -> None:
        """Append every row of *other*."""
        for table, columns in other.tables.items():
            held = self.tables.setdefault(table, {name: [] for name in columns})
            if tuple(held) != tuple(columns):
                raise ValueError(f"{table} has the columns {list(held)}")
            for name, values in columns.items():
                held[name].extend(values)
