"""Read the earlier runs of a task's title, and the drift of its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from promptlab.reports.queries.rows import Row, rows

if TYPE_CHECKING:
    import duckdb

MOST_RUNS = 30

_RUNS = """
with this_task as (

    select title, variant, run_number, task_id
    from marts.dim_tasks
    where task_id = $task_id

)

select
    tasks.task_id, tasks.prompt_version, tasks.model,
    epoch_us(tasks.created_at) as created_at,
    summaries.grade, summaries.overall_score, summaries.ci_low, summaries.ci_high,
    summaries.pass_rate, summaries.n_cases,
    row_number() over (order by tasks.run_number, tasks.task_id) as number
from marts.dim_tasks as tasks
inner join marts.fct_task_summaries as summaries
    on tasks.task_id = summaries.task_id
inner join this_task
    on
        tasks.title = this_task.title
        and tasks.variant = this_task.variant
        and (tasks.run_number, tasks.task_id)
        <= (this_task.run_number, this_task.task_id)
where tasks.role = 'full'
order by tasks.run_number desc, tasks.task_id desc
limit $most
"""


@dataclass(frozen=True)
class PastRun:
    """One task of a title, in one line; scores and shares 0–1."""

    task_id: str
    prompt_version: str
    model: str
    created_at: datetime
    grade: str
    overall_score: float | None
    ci_low: float | None
    ci_high: float | None
    pass_rate: float | None
    n_cases: int
    number: int
    """Number of the run in its title, from 1 for the oldest."""


def title_history(
    con: duckdb.DuckDBPyConnection, task_id: str, *, most: int = MOST_RUNS
) -> list[PastRun]:
    """Return the last runs of a task's title up to it, oldest first."""
    found = rows(con, _RUNS, {"task_id": task_id, "most": most})
    return [PastRun(**row) for row in reversed(found)]


# A step explains a whole fall, or else the fall goes on from run to run.
_DRIFT = """
with courses as (

    select
        *,
        is_step and (not is_declining or change <= value - value_first)
            as falls_at_once
    from marts.fct_drift

)

select
    task_id, variant, measure, value, n_runs,
    case when is_declining or is_step then 'falling' when is_rising then 'rising' end
        as course,
    case when falls_at_once then change else value - value_first end as change,
    epoch_us(case when falls_at_once then step_at else first_at end) as since_at
from courses
where task_id in (select unnest($tasks)) and measure = coalesce($measure, measure)
qualify row_number() over (
    partition by task_id
    order by is_declining or is_step desc, is_rising desc, measure
) = 1
"""


def drifts(
    con: duckdb.DuckDBPyConnection,
    task_ids: Sequence[str],
    measure: str | None = None,
) -> dict[str, Row]:
    """Return how each task's score or pass rate moved over the runs before it.

    The row of a task has ``measure``, ``value``, ``change``, ``since_at`` and
    ``course``: ``falling`` or ``rising`` where it moved by more than chance explains,
    else null. There is no row below five runs. By default *measure* is the one that
    fell, or rose.
    """
    found = rows(con, _DRIFT, {"tasks": list(task_ids), "measure": measure})
    return {row["task_id"]: row for row in found}
