"""Seeds of the dbt project that Python reads too: scorers, default dimensions."""

from __future__ import annotations

import csv
import functools

from promptlab.paths import dbt_project


def builtin_scorers() -> list[str]:
    """Return the scorers that need no entry point: those of SQL, and ``judge``."""
    return _column("promptlab_scorers", "scorer")


def default_dimensions() -> list[str]:
    """Return the ids of the dimensions of every task that was loaded from results."""
    return _column("promptlab_default_dimensions", "dimension_id")


def builtin_scorer(name: str) -> dict[str, str] | None:
    """Return the row of a built-in scorer: its unit, and if its metric is a share."""
    rows = _rows("promptlab_scorers")
    return next((row for row in rows if row["scorer"] == name), None)


def _column(seed: str, name: str) -> list[str]:
    return [row[name] for row in _rows(seed)]


@functools.cache
def _rows(seed: str) -> list[dict[str, str]]:
    file = dbt_project() / "seeds" / "scoring" / f"{seed}.csv"
    with file.open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))
