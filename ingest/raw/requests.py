"""Rows of ``raw`` that come from no file: what people asked for, what has its report.

A request bears the time of its transaction, and so does a build: one that is made in
the transaction of its request has answered it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    import duckdb


def request_comparison(
    con: duckdb.DuckDBPyConnection, baseline: str, candidate: str
) -> None:
    """Ask that two tasks be compared, by this build and every later one."""
    con.execute(
        "insert into raw.requested_comparisons values (?, ?, current_timestamp)",
        [baseline, candidate],
    )


def name_baseline(
    con: duckdb.DuckDBPyConnection,
    title: str,
    testset_id: str | None,
    task_id: str | None,
) -> None:
    """Name the baseline of one title and testset; ``None`` takes it back."""
    con.execute(
        "insert into raw.named_baselines values (?, ?, ?, current_timestamp)",
        [title, testset_id, task_id],
    )


def note_reported(con: duckdb.DuckDBPyConnection, began_at: datetime) -> None:
    """Note that everything that was built before *began_at* has its report."""
    con.execute("insert into raw.reported_runs values (?)", [began_at])
