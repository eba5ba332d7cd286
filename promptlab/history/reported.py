"""What was built since the last ``promptlab run`` wrote its reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_NOT_REPORTED = """
    built_at >= coalesce(
        (select max(began_at) from raw.reported_runs), '-infinity'::timestamptz
    )
"""


def to_report(
    con: duckdb.DuckDBPyConnection, *, everything: bool = False
) -> tuple[list[str], list[str]]:
    """Tasks and memory runs without a report; ``Warehouse.to_report`` says more."""
    of_task = of_run = "true"
    if not everything:
        of_task = (
            "task_id in (select candidate_task_id from raw.comparison_builds"
            f" where {_NOT_REPORTED})"
        )
        of_run = (
            f"run_id in (select run_id from raw.memory_builds where {_NOT_REPORTED})"
        )
    tasks = con.execute(
        f"select task_id from marts.dim_tasks where role = 'full' and {of_task}"
        " order by created_at, task_id"
    ).fetchall()
    runs = con.execute(
        f"select run_id from marts.dim_memory_runs where {of_run}"
        " order by started_at desc nulls last, run_id desc"
    ).fetchall()
    return [row[0] for row in tasks], [row[0] for row in runs]
