"""The page of a run: cases by variants, and the ranking with its significance.

Its columns are the current variants of a title: those whose newest task is of the
newest run, or was loaded together with it. All numbers come from the marts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from promptlab.contracts.pages import RateOfDimension, RunCase, RunPage, RunVariant
from promptlab.reports.charts import pareto
from promptlab.reports.gate.verdict import alike
from promptlab.reports.pages import Href, environment, render
from promptlab.reports.queries import JUDGES, of_contract, rows

if TYPE_CHECKING:
    import duckdb

    from promptlab.reports.report_options import ReportOptions

MOST_CELLS = 20_000
"""Maximum number of cells; above it, only rows with the most failures are listed."""
MOST_LINKED_CELLS = 4_000
"""Maximum number of cells with a link to the answers, to limit the page's size."""

_TITLES = """
select title
from marts.dim_variants
where is_current
group by title
having count(*) > 1
order by title
"""

_VARIANTS = """
with measures as (

    pivot (
        select task_id, measure, value from marts.fct_trends where subject is null
    )
    on measure in (
        'latency_p50', 'latency_p95', 'cost_total', 'cost_per_pass', 'tokens_total'
    )
    using first(value)

)

select
    variants.variant, tasks.task_id, tasks.run_id, tasks.model, tasks.prompt_version,
    tasks.branch, tasks.commit_sha, tasks.is_partial, tasks.primary_metric,
    tasks.created_at,
    summaries.* exclude (task_id, pass_rate),
    summaries.n_pass + summaries.n_fail + summaries.n_error as n_judged,
    ranked.pass_rate, ranked.pass_rate_low, ranked.pass_rate_high,
    measures.latency_p50, measures.latency_p95, measures.cost_total,
    measures.tokens_total, measures.cost_per_pass,
    standings.standing, standings.cost_ratio, standings.is_on_front,
    others.delta, others.n_only_here, others.n_only_leader, others.p_adjusted
from marts.dim_variants as variants
inner join marts.dim_tasks as tasks on variants.newest_task_id = tasks.task_id
inner join marts.fct_task_summaries as summaries on tasks.task_id = summaries.task_id
inner join marts.fct_variant_standings as standings on tasks.task_id = standings.task_id
left join marts.fct_leaderboard as ranked on tasks.task_id = ranked.task_id
left join marts.fct_variant_comparisons as others on tasks.task_id = others.task_id
left join measures on tasks.task_id = measures.task_id
where variants.title = $title and variants.is_current
order by
    standings.standing = 'leads' desc, summaries.overall_score desc nulls last,
    summaries.pass_rate desc nulls last, variants.variant
"""

# The worst cases first: newly failing ones, then those that fail in most variants.
_CASES = """
with cells as (

    select
        results.case_id, results.task_id, results.status, results.n_rounds,
        results.n_rounds_passed, cases.case_position,
        coalesce(changes.status_change, '') as status_change
    from marts.fct_case_results as results
    inner join marts.dim_cases as cases using (task_id, case_id)
    left join marts.dim_task_baselines as baselines using (task_id)
    left join marts.fct_case_changes as changes
        on
            results.task_id = changes.candidate_task_id
            and baselines.baseline_task_id = changes.baseline_task_id
            and results.case_id = changes.case_id
    where results.task_id in (select unnest($tasks))

)

select
    case_id,
    map(
        list(task_id),
        list({
            'status': status, 'n_rounds': n_rounds,
            'n_rounds_passed': n_rounds_passed, 'status_change': status_change
        })
    ) as cells,
    count(*) filter (where status_change = 'newly_failing') as n_newly_failing,
    count(*) filter (where status in ('fail', 'error')) as n_failing,
    count(distinct status) > 1 as is_split,
    count(*) over () as n_cases
from cells
group by case_id
order by
    n_newly_failing desc, n_failing desc, min(case_position), case_id
limit $most
"""


def titles_with_variants(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the titles that have more than one current variant."""
    return [str(row[0]) for row in con.execute(_TITLES).fetchall()]


def read_run(
    con: duckdb.DuckDBPyConnection, title: str, options: ReportOptions
) -> RunPage:
    """Return the page of a title's newest run."""
    tasks = rows(con, _VARIANTS, {"title": title})
    task_ids = [row["task_id"] for row in tasks]
    gates = options.gates_of(con, task_ids)
    rates = rows(con, JUDGES, {"tasks": task_ids})
    variants = [
        of_contract(
            RunVariant,
            row,
            gate=gates[row["task_id"]],
            judges=[
                of_contract(RateOfDimension, rate)
                for rate in rates
                if rate["task_id"] == row["task_id"]
            ],
        )
        for row in tasks
    ]
    metrics = {row["primary_metric"] for row in tasks}
    most = max(1, MOST_CELLS // len(task_ids))
    cases = rows(con, _CASES, {"tasks": task_ids, "most": most})
    return RunPage(
        generated_at=options.generated_at,
        lang=options.lang,
        title=title,
        created_at=max(row["created_at"] for row in tasks),
        primary_metric=metrics.pop() if len(metrics) == 1 else None,
        variants=variants,
        cases=[of_contract(RunCase, case) for case in cases],
        n_cases=cases[0]["n_cases"] if cases else 0,
    )


def to_run_html(
    page: RunPage,
    options: ReportOptions,
    *,
    href: Href = lambda _: None,
    index: str | None = None,
    judge: Callable[[str, str], str | None] = lambda *_: None,
) -> str:
    """Return the page of a run, without script.

    *href* returns the link of a task's report, *judge* that of a dimension's judge;
    *index* is the link of the index.
    """
    by_task = {variant.task_id: variant for variant in page.variants}
    decided = alike(variant.gate for variant in page.variants)
    return render(
        environment(options.lang, options.templates),
        "run.html.j2",
        page=page,
        decided=[[by_task[gate.task_id] for gate in gates] for gates in decided],
        is_linked=len(page.cases) * len(page.variants) <= MOST_LINKED_CELLS,
        pareto=pareto(
            [
                (number, variant)
                for number, variant in enumerate(page.variants, 1)
                if variant.is_on_front is not None
            ]
        ),
        href=href,
        index=index,
        judge=judge,
    )
