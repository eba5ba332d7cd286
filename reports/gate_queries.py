"""Marts to the numbers that a gate looks at: the only SQL of the gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from promptlab.errors import NothingToDo
from reports.rows import moment, rows

if TYPE_CHECKING:
    import duckdb

_TASK = """
select title, prompt_version, model, epoch_us(created_at) as created_at
from marts.dim_tasks
where task_id = $task_id
"""

_MEASURES = """
select measure, value
from marts.fct_trends
where task_id = $task_id and subject is null
"""

_DIMENSIONS = """
select dimension_id, score
from marts.fct_dimension_scores
where task_id = $task_id
"""

_TAGGED = """
select tags.tag, results.case_id, results.status
from marts.dim_case_tags as tags
inner join marts.fct_case_results as results
    on tags.task_id = results.task_id and tags.case_id = results.case_id
where tags.task_id = $task_id and tags.tag in (select unnest($tags))
order by tags.tag, results.case_id
"""

_CRITICAL = """
select code
from marts.fct_alerts
where task_id = $task_id and severity = 'critical'
order by alert_position
"""


@dataclass(frozen=True)
class TagCases:
    """The cases of a task with one tag, by how they ended."""

    n_cases: int
    n_pass: int
    not_passed: list[str]
    """Cases that failed or ended in an error."""
    unevaluated: list[str]


@dataclass(frozen=True)
class GateNumbers:
    """What a task has; shares and scores 0–1, ``None`` where it is not known."""

    title: str
    prompt_version: str
    model: str
    created_at: datetime
    measures: dict[str, float | None]
    """By measure of ``fct_trends``: milliseconds, tokens, cost, shares."""
    dimensions: dict[str, float | None]
    """Score by dimension."""
    tags: dict[str, TagCases]
    """Those of the tags asked for that a case has."""
    critical_alerts: list[str]
    """Codes of the critical alerts."""


def gate_numbers(
    con: duckdb.DuckDBPyConnection, task_id: str, tags: Sequence[str]
) -> GateNumbers:
    """Return the numbers of a task.

    Args:
        con: An open connection to a built warehouse.
        task_id: The whole id of the task.
        tags: Tags whose cases are wanted.

    Raises:
        NothingToDo: the marts hold no such task.
    """
    values = {"task_id": task_id}
    found = rows(con, _TASK, values)
    if not found:
        raise NothingToDo(f"{task_id}: there is no such task; `promptlab runs`")
    task = found[0]
    return GateNumbers(
        title=task["title"],
        prompt_version=task["prompt_version"],
        model=task["model"],
        created_at=moment(task["created_at"]),
        measures={r["measure"]: r["value"] for r in rows(con, _MEASURES, values)},
        dimensions={
            r["dimension_id"]: r["score"] for r in rows(con, _DIMENSIONS, values)
        },
        tags=_tags(con, task_id, tags),
        critical_alerts=[r["code"] for r in rows(con, _CRITICAL, values)],
    )


def _tags(
    con: duckdb.DuckDBPyConnection, task_id: str, tags: Sequence[str]
) -> dict[str, TagCases]:
    if not tags:
        return {}
    listed = rows(con, _TAGGED, {"task_id": task_id, "tags": list(tags)})
    found = {}
    for tag in sorted({row["tag"] for row in listed}):
        cases = [(r["case_id"], r["status"]) for r in listed if r["tag"] == tag]
        found[tag] = TagCases(
            n_cases=len(cases),
            n_pass=sum(status == "pass" for _, status in cases),
            not_passed=[c for c, status in cases if status in ("fail", "error")],
            unevaluated=[c for c, status in cases if status == "unevaluated"],
        )
    return found
