"""DuckDB's settings for a build: by how much there is, and how much of it is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

SMALL = 2_000
"""Rounds and memory answers of a warehouse where planning costs more than computing."""

FIT_IN_MEMORY = 500_000
"""New rounds whose steps stay in memory, some 5 KB each.

Of more they are written to the file as they are made, so that memory is bounded. The
blocks stay there, empty, and half of the time goes into them.
"""

_FOR_MANY_ROWS = (
    "join_order",
    "common_subexpressions",
    "projection_pullup",
    "statistics_propagation",
    "cte_inlining",
)
"""They take a tenth of a small build, and make none of its queries quicker."""

_OF_A_SMALL_ONE = f"""
    set threads = 1;
    set disabled_optimizers = '{",".join(_FOR_MANY_ROWS)}';
    set force_compression = 'uncompressed';
"""


def tune(con: duckdb.DuckDBPyConnection) -> None:
    """Set what holds until *con* is closed: what was built goes to disk then."""
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
