"""Read the facts of tasks from marts: plain selects, for all tasks at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from promptlab.errors import NothingToDo
from promptlab.reports.queries import JUDGES, Row, rows, select

if TYPE_CHECKING:
    import duckdb

_TASKS = """
select
    verdicts.*, tasks.prompt_version, tasks.model, tasks.source_kind, tasks.testset_id,
    tasks.run_number, tasks.created_at, last_tasks.created_at as last_run_at,
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
select odds.*, starts.prompt_version as since_prompt
from marts.fct_case_odds as odds
left join marts.dim_tasks as starts on odds.since_task_id = starts.task_id
where
    odds.task_id in (select unnest($tasks))
    and (odds.is_newly_failing or odds.is_newly_passing)
order by odds.log_evidence desc nulls last, odds.case_id
"""


class Fact(NamedTuple):
    """A number that a rule of the policy needs; ``marts.fct_gate_facts``."""

    subject: str | None
    value: float | None
    n: int | None
    """Number of cases or rounds behind the value …"""
    n_total: int | None
    """… of so many."""
    names: Sequence[str]
    reason: str | None


@dataclass(frozen=True)
class Facts:
    """The facts of one task for the gate."""

    task: Row
    """The row of ``fct_verdicts``, with names and counts of the task."""
    changed_cases: list[Row] = field(default_factory=list)
    """Rows of ``fct_case_odds``: cases that newly fail or pass, the worst first."""
    gaps: list[Row] = field(default_factory=list)
    """Rows of ``fct_gaps``: cases of the last run that are not compared."""
    judges: list[Row] = field(default_factory=list)
    """Rows of ``fct_corrected_pass_rates``: judges that have labels of people."""
    of_rule: dict[str, list[Fact]] = field(default_factory=dict)

    def fact(self, rule: str, subject: str | None = None) -> Fact | None:
        """Return the number for a rule, of a dimension or tag if there are several."""
        facts = self.of_rule.get(rule, [])
        return next((fact for fact in facts if fact.subject == subject), None)


def read_facts(
    con: duckdb.DuckDBPyConnection, task_ids: Sequence[str]
) -> dict[str, Facts]:
    """Return the facts of these tasks, whole ids.

    Raises:
        NothingToDo: a task is not in the marts.
    """
    parameters = {"tasks": list(task_ids)}
    tasks = {row["task_id"]: row for row in rows(con, _TASKS, parameters)}
    missing = [task_id for task_id in task_ids if task_id not in tasks]
    if missing:
        raise NothingToDo(f"{missing[0]}: there is no such task; `promptlab runs`")
    facts_of = {task_id: Facts(tasks[task_id]) for task_id in task_ids}
    for row in rows(con, _CASES, parameters):
        facts_of[row["task_id"]].changed_cases.append(row)
    ids = list(task_ids)
    for row in select(con, "fct_gaps", order="n_cases desc, reason", task_id=ids):
        facts_of[row["task_id"]].gaps.append(
            row | {"n": row["n_cases"], "names": row["names"] or []}
        )
    for row in rows(con, JUDGES, parameters):
        facts_of[row["task_id"]].judges.append(row)
    for row in select(con, "fct_gate_facts", order="rule, subject", task_id=ids):
        row["names"] = row["names"] or []
        fact = Fact(**{name: row[name] for name in Fact._fields})
        facts_of[row["task_id"]].of_rule.setdefault(row["rule"], []).append(fact)
    return facts_of
