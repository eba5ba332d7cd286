"""Set DuckDB's options for a build, by the amount of data and of new data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

SMALL = 2_000
"""Number of rounds and memory answers below which planning dominates the time."""

FIT_IN_MEMORY = 500_000
"""Maximum number of new rounds for steps in memory, about 5 KB each.

With more, steps are written to the file to limit memory. That doubles the time, and the
freed blocks stay in the file.
"""

_FOR_MANY_ROWS = (
    "join_order",
    "common_subexpressions",
    "projection_pullup",
    "statistics_propagation",
    "cte_inlining",
)
"""Optimizers that take a tenth of a small build and do not speed it up."""

_OF_A_SMALL_ONE = f"""
    set threads = 1;
    set disabled_optimizers = '{",".join(_FOR_MANY_ROWS)}';
    set force_compression = 'uncompressed';
"""


def tune(con: duckdb.DuckDBPyConnection) -> None:
    """Set options until *con* is closed, which writes the result to disk."""
    con.execute("set preserve_insertion_order = false")
    if _rows_of_raw(con) <= SMALL:
        con.execute(_OF_A_SMALL_ONE)


def steps_fit_in_memory(con: duckdb.DuckDBPyConnection, *, anew: bool) -> bool:
    """Return true if the steps of a build fit in memory.

    Args:
        con: a connection.
        anew: everything counts as new.
    """
    waiting = _rows_of_raw(con)
    if not anew:
        (built,) = con.execute(
            "select (select count(*) from marts.fct_rounds)"
            " + (select count(*) from marts.fct_memory_answers)"
        ).fetchall()[0]
        waiting -= built
    return waiting <= FIT_IN_MEMORY


def _rows_of_raw(con: duckdb.DuckDBPyConnection) -> int:
    (count,) = con.execute(
        "select (select count(*) from raw.rounds)"
        " + (select count(*) from raw.memory_answers)"
    ).fetchall()[0]
    return int(count)
