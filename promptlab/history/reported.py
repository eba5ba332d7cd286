"""The tasks built since the last ``promptlab run`` wrote its reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

# A time that is still to come is of a clock that was put back: it says nothing.
_NOT_REPORTED = """
    built_at >= coalesce(
        (
            select max(began_at)
            from raw.reported_runs
            where began_at <= current_timestamp
        ),
        '-infinity'::timestamptz
    )
"""


def to_report(con: duckdb.DuckDBPyConnection, *, everything: bool = False) -> list[str]:
    """Tasks without a report; ``Warehouse.to_report`` says more."""
    of_task = "true"
    if not everything:
        of_task = (
            "task_id in (select candidate_task_id from raw.comparison_builds"
            f" where {_NOT_REPORTED})"
        )
    tasks = con.execute(
        f"select task_id from marts.dim_tasks where role = 'full' and {of_task}"
        " order by created_at, task_id"
    ).fetchall()
    return [row[0] for row in tasks]
