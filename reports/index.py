"""The index: every task of the warehouse by its title, with its history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from reports.memory_queries import MemoryLine, memory_lines
from reports.render import environment, render
from reports.rows import Row, moment, rows
from reports.sparkline import Sparkline, sparkline

if TYPE_CHECKING:
    import duckdb

MOST_TITLES = 300
MOST_RUNS = 30
"""Runs of one title that are drawn and listed, the newest."""

Href = Callable[[str], str | None]
"""Task or run id to the link of its report, relative to the index, if there is one."""

_RUNS = f"""
with runs as (

    select
        tasks.task_id, tasks.title, tasks.prompt_version, tasks.model,
        epoch_us(tasks.created_at) as created_at,
        summaries.overall_score, summaries.grade, summaries.pass_rate,
        summaries.n_pass, summaries.n_fail, summaries.n_error, summaries.n_cases,
        row_number() over (
            partition by tasks.title order by tasks.created_at desc, tasks.task_id desc
        ) as recency,
        count(*) over (partition by tasks.title) as n_runs,
        max(epoch_us(tasks.created_at)) over (partition by tasks.title) as latest_at
    from marts.dim_tasks as tasks
    inner join marts.fct_task_summaries as summaries
        on tasks.task_id = summaries.task_id

),

ranked as (

    select
        *,
        dense_rank() over (order by latest_at desc, title) as title_rank,
        count(*) filter (where recency = 1) over () as n_titles
    from runs

),

changes as (

    select
        baselines.task_id, comparisons.verdict, comparisons.delta,
        tasks.prompt_version as baseline_version
    from marts.dim_task_baselines as baselines
    inner join marts.fct_task_comparisons as comparisons
        on
            baselines.baseline_task_id = comparisons.baseline_task_id
            and baselines.task_id = comparisons.candidate_task_id
            and comparisons.level = 'overall'
    inner join marts.dim_tasks as tasks
        on baselines.baseline_task_id = tasks.task_id

)

select ranked.*, changes.* exclude (task_id)
from ranked
left join changes on ranked.task_id = changes.task_id and ranked.recency = 1
where ranked.recency <= {MOST_RUNS} and ranked.title_rank <= {MOST_TITLES}
order by ranked.title_rank, ranked.recency
"""


@dataclass(frozen=True)
class RunLine:
    """One task in the index."""

    task_id: str
    prompt_version: str
    model: str
    created_at: datetime
    overall_score: float | None
    grade: str
    pass_rate: float | None
    n_pass: int
    n_judged: int
    n_cases: int
    href: str | None


@dataclass(frozen=True)
class ChangeLine:
    """A task against its baseline, in one line."""

    verdict: str
    delta: float | None
    baseline_version: str
    """Prompt version of the baseline."""


@dataclass(frozen=True)
class TitleLine:
    """The tasks of one title, newest first."""

    title: str
    latest: RunLine
    change: ChangeLine | None
    """Of the latest task; ``None`` where it has no baseline."""
    previous: Sequence[RunLine]
    n_more: int
    trend: Sparkline | None


@dataclass(frozen=True)
class Index:
    """What the index lists."""

    titles: list[TitleLine]
    n_titles_more: int
    memory: list[MemoryLine]


def read_index(con: duckdb.DuckDBPyConnection, task: Href, memory: Href) -> Index:
    """Return the index of the warehouse; *task* and *memory* give the links."""
    found = rows(con, _RUNS)
    titles = [
        _title(title, list(group), task)
        for title, group in groupby(found, key=lambda row: str(row["title"]))
    ]
    n_titles = found[0]["n_titles"] if found else 0
    return Index(titles, n_titles - len(titles), memory_lines(con, memory))


def to_index_html(
    index: Index, *, lang: str, generated_at: datetime, templates: Path | None = None
) -> str:
    """Return the index as one page without script."""
    env = environment(lang, templates)
    return render(env, "index.html.j2", index=index, generated_at=generated_at)


def _title(title: str, found: list[Row], href: Href) -> TitleLine:
    runs = [_run(row, href) for row in found]
    return TitleLine(
        title=title,
        latest=runs[0],
        change=_change(found[0]),
        previous=runs[1:],
        n_more=found[0]["n_runs"] - len(runs),
        trend=sparkline([run.overall_score for run in reversed(runs)]),
    )


def _change(row: Row) -> ChangeLine | None:
    if row["verdict"] is None:
        return None
    return ChangeLine(row["verdict"], row["delta"], row["baseline_version"])


def _run(row: Row, href: Href) -> RunLine:
    return RunLine(
        task_id=row["task_id"],
        prompt_version=row["prompt_version"],
        model=row["model"],
        created_at=moment(row["created_at"]),
        overall_score=row["overall_score"],
        grade=row["grade"],
        pass_rate=row["pass_rate"],
        n_pass=row["n_pass"],
        n_judged=row["n_pass"] + row["n_fail"] + row["n_error"],
        n_cases=row["n_cases"],
        href=href(row["task_id"]),
    )
