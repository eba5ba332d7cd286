"""The page of a run: cases by variants, and the ranking with its significance.

Its columns are the current variants of a title: those whose newest task is of the
newest run, or was loaded together with it. All numbers come from the marts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from promptlab.reports.charts import pareto
from promptlab.reports.gate.verdict import alike, worst
from promptlab.reports.pages import Href, environment, render
from promptlab.reports.queries import JUDGES, Row, rows

if TYPE_CHECKING:
    import duckdb

    from promptlab.reports.edition import Edition

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

),

priced as (

    select tasks.task_id, measures.cost_total as cost, summaries.overall_score as score
    from marts.dim_variants as variants
    inner join marts.dim_tasks as tasks on variants.newest_task_id = tasks.task_id
    inner join marts.fct_task_summaries as summaries
        on tasks.task_id = summaries.task_id
    inner join measures on tasks.task_id = measures.task_id
    where
        variants.title = $title and variants.is_current and not tasks.is_partial
        and measures.cost_total is not null and summaries.overall_score is not null

),

-- no other variant is as good and cheaper, or as cheap and better
front as (

    select task_id
    from priced
    where not exists (
        select 1 from priced as others
        where
            others.cost <= priced.cost and others.score >= priced.score
            and (others.cost < priced.cost or others.score > priced.score)
    )

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
    variants.newest_task_id in (select task_id from priced) as is_priced,
    variants.newest_task_id in (select task_id from front) as is_on_front,
    others.leader_task_id is not null as is_compared,
    others.delta,
    others.n_pairs, others.n_only_here, others.n_only_leader, others.p_adjusted,
    others.is_within_chance,
    measures.cost_total / nullif(of_leader.cost_total, 0) as cost_ratio,
    tasks.task_id in (
        select leader_task_id from marts.fct_variant_comparisons where title = $title
    ) as is_leader
from marts.dim_variants as variants
inner join marts.dim_tasks as tasks on variants.newest_task_id = tasks.task_id
inner join marts.fct_task_summaries as summaries on tasks.task_id = summaries.task_id
left join marts.fct_leaderboard as ranked on tasks.task_id = ranked.task_id
left join marts.fct_variant_comparisons as others on tasks.task_id = others.task_id
left join measures on tasks.task_id = measures.task_id
left join measures as of_leader on others.leader_task_id = of_leader.task_id
where variants.title = $title and variants.is_current
order by
    is_leader desc, summaries.overall_score desc nulls last,
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
            'status': status, 'n': n_rounds, 'passed': n_rounds_passed,
            'change': status_change
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


def run_html(
    con: duckdb.DuckDBPyConnection,
    title: str,
    edition: Edition,
    *,
    href: Href,
    index: str | None,
    judge: Callable[[str, str], str | None],
) -> str:
    """Return the page of a title's newest run, without script.

    *index* is the link of the index, *judge* returns that of a dimension's judge.
    """
    columns = rows(con, _VARIANTS, {"title": title})
    task_ids = [column["task_id"] for column in columns]
    gates = edition.gates_of(con, task_ids)
    rates = rows(con, JUDGES, {"tasks": task_ids})
    for column in columns:
        task_id = column["task_id"]
        column["gate"] = gates[task_id]
        column["href"] = href(task_id)
        column["standing"] = _standing(column)
        column["judges"] = [rate for rate in rates if rate["task_id"] == task_id]
    metrics = {column["primary_metric"] for column in columns}
    most = max(1, MOST_CELLS // len(task_ids))
    cases = rows(con, _CASES, {"tasks": task_ids, "most": most})
    return render(
        environment(edition.lang, edition.templates),
        "run.html.j2",
        title=title,
        gate=worst(gates.values()),
        decided=alike(columns),
        columns=columns,
        cases=cases,
        is_linked=len(cases) * len(task_ids) <= MOST_LINKED_CELLS,
        n_cases=cases[0]["n_cases"] if cases else 0,
        pareto=pareto(
            [(number, row) for number, row in enumerate(columns, 1) if row["is_priced"]]
        ),
        primary_metric=metrics.pop() if len(metrics) == 1 else None,
        newest=max(column["created_at"] for column in columns),
        index=index,
        judge=judge,
        generated_at=edition.generated_at,
    )


def _standing(row: Row) -> str:
    if row["is_leader"]:
        return "leads"
    if not row["is_compared"] or not row["n_pairs"]:
        return "not_compared"
    return "within_chance" if row["is_within_chance"] else "behind"
