"""Names that the seeds of the dbt project decide, for Python that has to know them."""

from __future__ import annotations

import csv
from functools import cache

from promptlab.paths import dbt_project


def builtin_scorers() -> list[str]:
    """The scorers that need no entry point: those of SQL, and ``judge``."""
    return _column("scorers", "scorer")


def default_dimensions() -> list[str]:
    """Ids of the dimensions of every task that was loaded from results."""
    return _column("default_dimensions", "dimension_id")


def scorer(name: str) -> dict[str, str] | None:
    """The row of a built-in scorer: its unit, and whether its metric is a share."""
    return next((row for row in _rows("scorers") if row["scorer"] == name), None)


def _column(seed: str, name: str) -> list[str]:
    return [row[name] for row in _rows(seed)]


@cache
def _rows(seed: str) -> list[dict[str, str]]:
    file = dbt_project() / "seeds" / "scoring" / f"{seed}.csv"
    with file.open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))
