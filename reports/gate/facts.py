"""Read the facts of tasks from marts: plain selects, for all tasks at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptlab.errors import NothingToDo
from promptlab.reports.queries import Row, from_json, rows

if TYPE_CHECKING:
    import duckdb

_TASKS = """
select
    verdicts.*, epoch_us(verdicts.accepted_at) as accepted_at,
    tasks.prompt_version, tasks.model, tasks.source_kind, tasks.testset_id,
    tasks.run_number, epoch_us(tasks.created_at) as created_at,
    epoch_us(last_tasks.created_at) as last_run_at,
    baselines.baseline_task_id,
    summaries.n_cases, summaries.n_pass, summaries.n_error,
    summaries.n_pass + summaries.n_fail + summaries.n_error as n_judged
from marts.fct_verdicts as verdicts
inner join marts.dim_tasks as tasks using (task_id)
inner join marts.fct_task_summaries as summaries using (task_id)
left join marts.dim_task_baselines as baselines using (task_id)
left join marts.dim_tasks as last_tasks
    on verdicts.last_task_id = last_tasks.task_id
where verdicts.task_id in (select unnest($tasks))
"""

_CASES = """
select
    odds.*, epoch_us(odds.since_at) as since_at,
    starts.prompt_version as since_prompt
from marts.fct_case_odds as odds
left join marts.dim_tasks as starts on odds.since_task_id = starts.task_id
where
    odds.task_id in (select unnest($tasks))
    and (odds.is_newly_failing or odds.is_newly_passing)
order by odds.log_evidence desc nulls last, odds.case_id
"""

_GAPS = """
select task_id, reason, n_cases as n, names
from marts.fct_gaps
where task_id in (select unnest($tasks))
order by n_cases desc, reason
"""

_FACTS = """
select task_id, rule, subject, value, n, n_total, names, reason
from marts.fct_gate_facts
where task_id in (select unnest($tasks))
order by rule, subject
"""


@dataclass(frozen=True)
class Fact:
    """A number that a rule of the policy needs; ``marts.fct_gate_facts``."""

    subject: str | None
    value: float | None
    n: int | None
    """Number of cases, rounds or labels behind the value …"""
    n_total: int | None
    """… of so many."""
    names: Sequence[str]
    reason: str | None


@dataclass(frozen=True)
class Facts:
    """What the gate knows of one task."""

    task: Row
    """The row of ``fct_verdicts``, with names and counts of the task."""
    cases: list[Row] = field(default_factory=list)
    """Rows of ``fct_case_odds``: cases that newly fail or pass, the worst first."""
    gaps: list[Row] = field(default_factory=list)
    """Rows of ``fct_gaps``: cases of the last run that are not compared."""
    of_rule: dict[str, list[Fact]] = field(default_factory=dict)

    def fact(self, rule: str, subject: str | None = None) -> Fact | None:
        """Return the number for a rule, of a dimension or tag if there are several."""
        found = self.of_rule.get(rule, [])
        return next((fact for fact in found if fact.subject == subject), None)


def read_facts(
    con: duckdb.DuckDBPyConnection, task_ids: Sequence[str]
) -> dict[str, Facts]:
    """Return the facts of these tasks, whole ids.

    Raises:
        NothingToDo: a task is not in the marts.
    """
    asked = {"tasks": list(task_ids)}
    found = {
        row["task_id"]: Facts(row | {"changes": from_json(row["changes"]) or []})
        for row in rows(con, _TASKS, asked)
    }
    missing = [task_id for task_id in task_ids if task_id not in found]
    if missing:
        raise NothingToDo(f"{missing[0]}: there is no such task; `promptlab runs`")
    for row in rows(con, _CASES, asked):
        found[row["task_id"]].cases.append(row)
    for row in rows(con, _GAPS, asked):
        row["names"] = from_json(row["names"]) or []
        found[row["task_id"]].gaps.append(row)
    of_rules: dict[str, dict[str, list[Fact]]] = defaultdict(lambda: defaultdict(list))
    for row in rows(con, _FACTS, asked):
        row["names"] = from_json(row["names"]) or []
        task_id, rule = row.pop("task_id"), row.pop("rule")
        of_rules[task_id][rule].append(Fact(**row))
    for task_id, of_rule in of_rules.items():
        found[task_id].of_rule.update(of_rule)
    return found
