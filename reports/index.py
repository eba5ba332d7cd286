"""The index: every task of the warehouse by its title, with its history."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.contracts.gate import GateResult
from promptlab.reports.charts.sparkline import Sparkline, sparkline
from promptlab.reports.gate.verdict import gate_results
from promptlab.reports.pages.render import environment, render
from promptlab.reports.queries.rows import Row, rows
from promptlab.reports.run import worst
from promptlab.reports.views.headline import headline_view
from promptlab.reports.views.pieces import CaseRef, HeadlineView
from promptlab.reports.views.task import case_anchor

if TYPE_CHECKING:
    import duckdb

    from promptlab.reports.gate.policy import Policy

MOST_TITLES = 300
MOST_RUNS = 30
"""Runs of one title that are drawn and listed, the newest."""

Href = Callable[[str], str | None]
"""Task or run id to the link of its report, relative to the index, if there is one."""

_RUNS = f"""
with runs as (

    select
        tasks.task_id, tasks.title, tasks.variant, tasks.prompt_version, tasks.model,
        coalesce(variants.is_current and variants.newest_task_id = tasks.task_id, false)
            as is_current,
        epoch_us(tasks.created_at) as created_at,
        case when tasks.is_partial then tasks.n_rows_held end as n_held,
        tasks.n_rows_claimed as n_claimed,
        summaries.overall_score, summaries.grade, summaries.pass_rate,
        summaries.n_pass, summaries.n_fail, summaries.n_error, summaries.n_cases,
        row_number() over (
            partition by tasks.title order by tasks.run_number desc, tasks.task_id desc
        ) as recency,
        count(*) over (partition by tasks.title) as n_runs,
        max(epoch_us(tasks.created_at)) over (partition by tasks.title) as latest_at
    from marts.dim_tasks as tasks
    inner join marts.fct_task_summaries as summaries
        on tasks.task_id = summaries.task_id
    left join marts.dim_variants as variants
        on tasks.title = variants.title and tasks.variant = variants.variant

),

ranked as (

    select
        *,
        dense_rank() over (order by latest_at desc, title) as title_rank,
        count(*) filter (where recency = 1) over () as n_titles
    from runs

)

select ranked.*
from ranked
where ranked.recency <= {MOST_RUNS} and ranked.title_rank <= {MOST_TITLES}
order by ranked.title_rank, ranked.recency
"""


@dataclass(frozen=True)
class RunLine:
    """One task in the index."""

    task_id: str
    variant: str
    prompt_version: str
    model: str
    created_at: datetime
    overall_score: float | None
    grade: str
    pass_rate: float | None
    n_pass: int
    n_judged: int
    n_cases: int
    n_held: int | None
    """Rows that its file holds, where it claims more."""
    n_claimed: int | None
    href: str | None


@dataclass(frozen=True)
class TitleLine:
    """The tasks of one title, newest first."""

    title: str
    href: str | None
    """Link of the page of its run, else of the report of `latest`."""
    latest: RunLine
    """Of the current variants the one with the worst verdict."""
    n_variants: int
    """Current ones."""
    headline: HeadlineView
    """The verdict of `latest`."""
    previous: Sequence[RunLine]
    """All others, newest first."""
    n_more: int
    trend: Sparkline | None


@dataclass(frozen=True)
class Index:
    """What the index lists."""

    titles: list[TitleLine]
    n_titles_more: int


def read_index(
    con: duckdb.DuckDBPyConnection,
    task: Href,
    run: Href = lambda _: None,
    *,
    lang: str = "en",
    policy: Policy | None = None,
) -> Index:
    """Return the index of the warehouse.

    Args:
        con: An open connection to a built warehouse.
        task: Gives the link of a task's report.
        run: Gives the link of the page of a title's newest run.
        lang: Language of the verdicts, ``zh`` or ``en``.
        policy: What the gate asks for; the built-in policy by default.
    """
    found = rows(con, _RUNS)
    current = [row["task_id"] for row in found if _is_current(row)]
    gates = gate_results(con, current, policy, lang=lang)
    titles = [
        _title(title, list(group), task, run, gates)
        for title, group in groupby(found, key=lambda row: str(row["title"]))
    ]
    n_titles = found[0]["n_titles"] if found else 0
    return Index(titles, n_titles - len(titles))


def to_index_html(
    index: Index, *, lang: str, generated_at: datetime, templates: Path | None = None
) -> str:
    """Return the index as one page without script."""
    env = environment(lang, templates)
    return render(env, "index.html.j2", index=index, generated_at=generated_at)


def _title(
    title: str,
    found: list[Row],
    href: Href,
    page: Href,
    gates: Mapping[str, GateResult],
) -> TitleLine:
    runs = [_run(row, href) for row in found]
    current = [row["task_id"] for row in found if _is_current(row)]
    of_title = {task_id: gates[task_id] for task_id in current}
    gate = worst(of_title)
    latest = next(run for run in runs if run.task_id == gate.task_id)
    same = [run for run in runs if run.variant == latest.variant]
    return TitleLine(
        title=title,
        href=(page(title) if len(of_title) > 1 else None) or latest.href,
        latest=latest,
        n_variants=len(of_title),
        headline=headline_view(gate, lambda case: CaseRef(case, case_anchor(case))),
        previous=[run for run in runs if run is not latest],
        n_more=found[0]["n_runs"] - len(runs),
        trend=sparkline([run.overall_score for run in reversed(same)]),
    )


def _is_current(row: Row) -> bool:
    return bool(row["is_current"] or row["recency"] == 1)


def _run(row: Row, href: Href) -> RunLine:
    return RunLine(
        task_id=row["task_id"],
        variant=row["variant"],
        prompt_version=row["prompt_version"],
        model=row["model"],
        created_at=row["created_at"],
        overall_score=row["overall_score"],
        grade=row["grade"],
        pass_rate=row["pass_rate"],
        n_pass=row["n_pass"],
        n_judged=row["n_pass"] + row["n_fail"] + row["n_error"],
        n_cases=row["n_cases"],
        n_held=row["n_held"],
        n_claimed=row["n_claimed"],
        href=href(row["task_id"]),
    )
