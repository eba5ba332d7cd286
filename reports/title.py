"""The page of a title: its numbers over time, its runs, and the changed cases.

Every number comes from the marts. Each variant is a line on one axis of runs, which
shows changes of the model or the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from promptlab.contracts.pages import (
    TitleCase,
    TitleCases,
    TitlePage,
    TitleRun,
    TitleVersion,
)
from promptlab.reports.charts import LineChart, Point, line_chart
from promptlab.reports.gate.verdict import alike, badness
from promptlab.reports.levels import level_changes_of, read_levels
from promptlab.reports.pages import Href, environment, render
from promptlab.reports.printing import Filters
from promptlab.reports.queries import Row, of_contract, rows, select
from promptlab.reports.sentences import Speech
from promptlab.reports.texts import catalogue

if TYPE_CHECKING:
    import duckdb

    from promptlab.reports.report_options import ReportOptions

MOST_RUNS = 400
"""Maximum number of drawn runs, the newest; older ones are counted."""
MOST_LISTED = 30
"""Maximum number of runs in the table."""
MOST_VARIANTS = 6
"""Maximum number of drawn variants: current ones first, then those with most runs."""
MOST_CASES = 40
"""Maximum number of listed cases of a variant."""
_LEAST_OPEN = 5
"""Rows of the only variant that are not folded, if fewer are broken or watched."""
MOST_WITH_INTERVALS = 2
"""Lines that have their intervals; more would lie on each other."""
_FLAT = 0.02
"""Times, costs and lengths that differ by less than this share are not drawn."""
MOST_COLUMNS = 20
"""Maximum number of runs next to its cases."""

# Read once for all titles: the plan of these views takes 30 ms.
_HISTORIES = """
create or replace temp table case_histories as
select title, variant, task_id, case_id, run_number, status, status_change
from marts.fct_case_history
where title in (select unnest($titles))
"""
_CHANGES = """
create or replace temp table task_changes as
select *
from marts.fct_task_changes
where title in (select unnest($titles))
"""

_RUNS = f"""
with measures as (

    select
        task_id,
        max(value) filter (measure = 'pass_rate') as pass_rate,
        max(ci_low) filter (measure = 'pass_rate') as pass_rate_low,
        max(ci_high) filter (measure = 'pass_rate') as pass_rate_high,
        max(value) filter (measure = 'cost_total') as cost_total,
        max(value) filter (measure = 'latency_p50') as latency_p50,
        max(value) filter (measure = 'error_share') as error_share,
        max(value) filter (measure = 'answer_chars_mean') as answer_chars_mean,
        max(value) filter (measure = 'output_tokens_mean') as output_tokens_mean
    from marts.fct_trends
    where title = $title and subject is null
    group by task_id

),

numbered as (

    select count(distinct run_number) as n_runs
    from marts.dim_tasks
    where title = $title and role = 'full'

)

select
    tasks.task_id, tasks.variant, tasks.run_number, tasks.prompt_version,
    tasks.prompt_hash, tasks.model,
    tasks.created_at, tasks.is_partial,
    coalesce(variants.is_current and variants.newest_task_id = tasks.task_id, false)
        as is_current,
    summaries.* exclude (task_id, pass_rate),
    summaries.n_pass + summaries.n_fail + summaries.n_error as n_judged,
    measures.* exclude (task_id), changes.* exclude (task_id, title),
    count(*) over () as n_results,
    numbered.n_runs
from marts.dim_tasks as tasks
inner join marts.fct_task_summaries as summaries on tasks.task_id = summaries.task_id
left join marts.dim_variants as variants
    on tasks.title = variants.title and tasks.variant = variants.variant
left join measures on tasks.task_id = measures.task_id
left join task_changes as changes on tasks.task_id = changes.task_id
cross join numbered
where tasks.title = $title and tasks.role = 'full'
order by tasks.run_number desc, tasks.task_id desc
limit {MOST_RUNS}
"""

# Broken and watched cases first, then those whose status changed between the shown
# runs, or whose rounds disagree.
_CASES = f"""
with cells as (

    select
        case_id,
        map(list(task_id), list(status)) as statuses,
        map(list(task_id), list(status_change)) as changes,
        max_by(status, (run_number, task_id)) as newest,
        max_by(status_change, (run_number, task_id)) as newest_change,
        count(distinct status = 'pass') filter (status <> 'unevaluated') > 1 as moved
    from case_histories
    where
        title = $title and variant = $variant
        and task_id in (select unnest($tasks))
    group by case_id

),

flaky as (

    select case_id, sum(n_pass) as n_pass, sum(n_rounds) as n_rounds
    from marts.fct_flaky_cases
    where title = $title and variant = $variant and prompt_hash = $prompt_hash
    group by case_id

)

select
    cells.case_id, cells.statuses, cells.changes, flaky.n_pass, flaky.n_rounds,
    coalesce(odds.state in ('broken', 'watched'), false) as is_listed,
    count(*) over () as n_cases
from cells
left join flaky using (case_id)
left join marts.fct_case_odds as odds
    on cells.case_id = odds.case_id and odds.task_id = $newest
where cells.moved or flaky.case_id is not null or is_listed
order by
    odds.state = 'broken' desc nulls last, is_listed desc,
    cells.newest_change = 'newly_failing' desc, cells.newest in ('fail', 'error') desc,
    flaky.case_id is null desc, cells.case_id
limit {MOST_CASES}
"""

_CHARTS = (
    ("overall_score", "overall_score", "ci_low", "ci_high"),
    ("pass_rate", "pass_rate", "pass_rate_low", "pass_rate_high"),
    ("latency_p50", "latency_p50", None, None),
    ("cost_total", "cost_total", None, None),
    ("answer_chars_mean", "answer_chars_mean", None, None),
    ("output_tokens_mean", "output_tokens_mean", None, None),
    ("error_share", "error_share", None, None),
)
"""Measure, and the columns of its value and interval."""


def keep_histories(con: duckdb.DuckDBPyConnection, titles: Sequence[str]) -> None:
    """Keep the cases of these titles for `read_title`, in the connection."""
    for kept in (_HISTORIES, _CHANGES):
        con.execute(kept, {"titles": list(titles)})


def read_title(
    con: duckdb.DuckDBPyConnection, title: str, options: ReportOptions
) -> TitlePage:
    """Return the page of a title, which `keep_histories` was given."""
    runs = rows(con, _RUNS, {"title": title})
    current = [run for run in runs if run["is_current"]] or runs[:1]
    gates = options.gates_of(con, [run["task_id"] for run in current])
    by_variant: dict[str, list[Row]] = {}
    for run in reversed(runs):
        by_variant.setdefault(run["variant"], []).append(run)
    is_current = {run["variant"] for run in current}
    variants = sorted(
        by_variant,
        key=lambda name: (name not in is_current, -len(by_variant[name]), name),
    )
    levels, speech = read_levels(con, title=title), Speech.for_language(options.lang)
    worst_first = sorted(gates.items(), key=lambda pair: badness(pair[1]))
    least = _LEAST_OPEN if len(is_current) == 1 else 0
    cases = [
        _cases(con, title, by_variant[gate.variant], least)
        for _, gate in worst_first[:MOST_VARIANTS]
    ]
    return TitlePage(
        generated_at=options.generated_at,
        lang=options.lang,
        title=title,
        gates=dict(worst_first),
        moves={
            task_id: level_changes_of(gate, levels, speech, options)
            for task_id, gate in worst_first
        },
        n_runs=runs[0]["n_runs"] if runs else 0,
        n_results=runs[0]["n_results"] if runs else 0,
        runs=[of_contract(TitleRun, run) for run in runs],
        variants=variants[:MOST_VARIANTS],
        n_variants_more=len(variants[MOST_VARIANTS:]),
        versions=[
            of_contract(TitleVersion, row)
            for row in select(
                con,
                "fct_leaderboard",
                order="score_rank nulls last, pass_rate desc nulls last, variant,"
                " prompt_version",
                limit=MOST_LISTED,
                title=title,
            )
        ],
        cases=[history for history in cases if history.cases],
    )


def to_title_html(
    page: TitlePage,
    options: ReportOptions,
    *,
    href: Href = lambda _: None,
    index: str | None = None,
    run: str | None = None,
) -> str:
    """Return the page of a title, without script.

    *href* returns the link of a task's report, if there is one; *index* and *run* are
    the links of the index and of the page of the newest run.
    """
    return render(
        environment(options.lang, options.templates),
        "title.html.j2",
        page=page,
        by_task={run.task_id: run for run in page.runs},
        decided=alike(page.gates.values()),
        charts_of_runs=_charts(page, href, options),
        has_intervals=len(page.variants) <= MOST_WITH_INTERVALS,
        most=MOST_LISTED,
        href=href,
        index=index,
        run=run,
    )


def _charts(
    page: TitlePage, href: Href, options: ReportOptions
) -> list[tuple[str, LineChart]]:
    filters = Filters(catalogue(options.lang))
    by_variant = {
        variant: [run for run in reversed(page.runs) if run.variant == variant]
        for variant in page.variants
    }
    times = {
        run.run_number: run.created_at for runs in by_variant.values() for run in runs
    }
    columns = {number: at for at, number in enumerate(sorted(times))}
    labels = [filters.day(times[number]) for number in sorted(times)]
    if len(set(labels)) == 1:
        labels = [filters.clock(times[number]) for number in sorted(times)]
    marks: dict[int, str] = {}
    for runs in by_variant.values():
        for before, run in pairwise(runs):
            if run.prompt_version != before.prompt_version:
                marks[columns[run.run_number]] = run.prompt_version
            elif run.model != before.model:
                marks[columns[run.run_number]] = run.model
    forms: dict[str, Callable[[float], str]] = {
        "overall_score": lambda value: filters.number(value * 100, 0),
        "pass_rate": lambda value: f"{filters.number(value * 100, 0)}%",
        "error_share": lambda value: f"{filters.number(value * 100, 0)}%",
        "latency_p50": lambda value: f"{filters.number(value / 1000, 2)} s",
        "cost_total": filters.number,
        "answer_chars_mean": lambda value: filters.number(value, 0),
        "output_tokens_mean": lambda value: filters.number(value, 0),
    }
    words: dict[str, Callable[[float], str]] = {
        "overall_score": filters.score,
        "pass_rate": filters.percent,
        "error_share": filters.percent,
        "latency_p50": filters.seconds,
        "cost_total": filters.number,
        "answer_chars_mean": lambda value: filters.number(value, 0),
        "output_tokens_mean": lambda value: filters.number(value, 0),
    }
    charts = []
    is_crowded = len(by_variant) > MOST_WITH_INTERVALS
    for measure, value, low, high in _CHARTS:
        series = {
            variant: [
                Point(
                    run=columns[run.run_number],
                    value=getattr(run, value),
                    low=None if low is None or is_crowded else getattr(run, low),
                    high=None if high is None or is_crowded else getattr(run, high),
                    label=" · ".join(
                        (
                            filters.moment(run.created_at),
                            words[measure](getattr(run, value)),
                        )
                    ),
                    href=href(run.task_id),
                )
                for run in runs
                if getattr(run, value) is not None
            ]
            for variant, runs in by_variant.items()
        }
        values = [point.value for points in series.values() for point in points]
        # no errors, or times, costs and lengths that stay as they are
        is_share = measure in ("overall_score", "pass_rate", "error_share")
        if measure == "error_share" and not any(values):
            continue
        if not is_share and _is_flat(values):
            continue
        chart = line_chart(
            series,
            labels,
            form=forms[measure],
            is_share=is_share,
            marks=marks,
        )
        if chart is not None:
            charts.append((measure, chart))
    return charts


def _is_flat(values: Sequence[float]) -> bool:
    return not values or max(values) - min(values) <= _FLAT * max(values)


def _cases(
    con: duckdb.DuckDBPyConnection, title: str, runs: Sequence[Row], least: int
) -> TitleCases:
    shown = runs[-MOST_COLUMNS:]
    newest = shown[-1]
    cases = rows(
        con,
        _CASES,
        {
            "title": title,
            "variant": newest["variant"],
            "prompt_hash": newest["prompt_hash"],
            "tasks": [run["task_id"] for run in shown],
            "newest": newest["task_id"],
        },
    )
    return TitleCases(
        variant=newest["variant"],
        task_ids=[run["task_id"] for run in shown],
        cases=[of_contract(TitleCase, case) for case in cases],
        n_open=max(least, sum(case["is_listed"] for case in cases)),
        n_more=cases[0]["n_cases"] - len(cases) if cases else 0,
    )
