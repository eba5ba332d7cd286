"""The page of a run: cases by variants, and the ranking with its significance.

Its columns are the current variants of a title: those whose newest task is of the
newest run, or was loaded together with it. All numbers come from the marts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from promptlab.contracts.gate import GateResult
from promptlab.reports.charts import Pareto, Priced, pareto
from promptlab.reports.pages import environment, render
from promptlab.reports.queries.gate import JUDGES
from promptlab.reports.queries.rows import Row, rows
from promptlab.reports.views import CaseRef, HeadlineView, case_anchor, headline_view

if TYPE_CHECKING:
    import duckdb

    from promptlab.reports.edition import Edition

MOST_CELLS = 20_000
"""Maximum number of cells; above it, only rows with the most failures are listed."""
MOST_LINKED_CELLS = 4_000
"""Maximum number of cells with a link to the answers, to limit the page's size."""

Standing = Literal["leads", "within_chance", "behind", "not_compared"]
Href = Callable[[str], str | None]
"""Task id to the link of its report, relative to the page, if there is one."""

_TITLES = """
select title
from marts.dim_variants
where is_current and ($title is null or title = $title)
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
    epoch_us(tasks.created_at) as created_at,
    summaries.overall_score, summaries.ci_low, summaries.ci_high, summaries.n_cases,
    summaries.n_pass, summaries.n_error,
    summaries.n_pass + summaries.n_fail + summaries.n_error as n_judged,
    ranked.pass_rate, ranked.pass_rate_low, ranked.pass_rate_high,
    measures.latency_p50, measures.latency_p95, measures.cost_total,
    measures.tokens_total, measures.cost_per_pass,
    variants.newest_task_id in (select task_id from priced) as is_priced,
    variants.newest_task_id in (select task_id from front) as is_on_front,
    others.leader_task_id is not null as is_compared,
    others.delta, others.ci_low as delta_low, others.ci_high as delta_high,
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


@dataclass(frozen=True)
class VariantColumn:
    """A variant and its newest task."""

    row: Row
    """The row of the query above."""
    headline: HeadlineView
    href: str | None
    standing: Standing
    judges: Sequence[Row]
    """Its pass rate by each judge with labels, raw and corrected."""


@dataclass(frozen=True)
class CaseCell:
    """The result of a case with a variant."""

    status: str
    n: int
    passed: int
    change: str
    href: str | None


@dataclass(frozen=True)
class CaseLine:
    """A case with every variant; ``None`` if the variant does not have it."""

    case_id: str
    cells: Sequence[CaseCell | None]
    n_newly_failing: int
    n_failing: int
    is_split: bool


@dataclass(frozen=True)
class Decided:
    """Variants with the same verdict text."""

    headline: HeadlineView
    href: str | None
    columns: Sequence[VariantColumn]


@dataclass(frozen=True)
class RunView:
    """The content of the page of a run."""

    title: str
    gate: GateResult
    """The worst verdict of its variants."""
    decided: Sequence[Decided]
    """The worst first."""
    columns: Sequence[VariantColumn]
    """The leader first."""
    lines: Sequence[CaseLine]
    n_cases: int
    pareto: Pareto | None
    """Score and cost; ``None`` for fewer than two variants with a known cost."""
    primary_metric: str | None
    """Dimension that is the score of all variants, if any."""

    @property
    def smallest_drop(self) -> float | None:
        """The smallest drop that every variant with a known noise could have shown."""
        drops = (column.headline.gate.smallest_drop for column in self.columns)
        return max((drop for drop in drops if drop is not None), default=None)

    def count(self, standing: Standing) -> int:
        """Return the number of variants with this result against the leader."""
        return sum(each.standing == standing for each in self.columns)


WORST_FIRST = ("fail", "inconclusive", "check", "pass")


def worst(gates: Mapping[str, GateResult]) -> GateResult:
    """Return the verdict of a selection: the worst of its tasks."""
    return min(gates.values(), key=lambda gate: WORST_FIRST.index(gate.verdict))


def titles_with_variants(
    con: duckdb.DuckDBPyConnection, title: str | None = None
) -> list[str]:
    """Return the titles that have more than one current variant."""
    found = con.execute(_TITLES, {"title": title}).fetchall()
    return [str(row[0]) for row in found]


def read_run(
    con: duckdb.DuckDBPyConnection, title: str, href: Href, edition: Edition
) -> RunView:
    """Return the content of the page of a title's newest run.

    Args:
        con: An open connection to a built warehouse.
        title: A title with current variants.
        href: Returns the link of a task's report.
        edition: The language, and the policy of the gate.
    """
    variants = rows(con, _VARIANTS, {"title": title})
    task_ids = [row["task_id"] for row in variants]
    gates = edition.gates_of(con, task_ids)
    links = {task_id: href(task_id) for task_id in task_ids}
    rates = rows(con, JUDGES, {"tasks": task_ids})
    metrics = {row["primary_metric"] for row in variants}
    most = max(1, MOST_CELLS // len(task_ids))
    cases = rows(con, _CASES, {"tasks": task_ids, "most": most})
    is_linked = len(cases) * len(task_ids) <= MOST_LINKED_CELLS
    columns = [
        VariantColumn(
            row,
            headline_view(
                gates[row["task_id"]], lambda case: CaseRef(case, case_anchor(case))
            ),
            links[row["task_id"]],
            _standing(row),
            [rate for rate in rates if rate["task_id"] == row["task_id"]],
        )
        for row in variants
    ]
    return RunView(
        title=title,
        gate=worst(gates),
        decided=_decided(columns),
        columns=columns,
        lines=[
            CaseLine(
                row["case_id"],
                [
                    _cell(
                        row["cells"].get(task_id),
                        row["case_id"],
                        links[task_id] if is_linked else None,
                    )
                    for task_id in task_ids
                ],
                row["n_newly_failing"],
                row["n_failing"],
                row["is_split"],
            )
            for row in cases
        ],
        n_cases=cases[0]["n_cases"] if cases else 0,
        pareto=pareto(
            [
                Priced(
                    number,
                    row["variant"],
                    row["cost_total"],
                    row["overall_score"],
                    row["ci_low"],
                    row["ci_high"],
                    row["is_on_front"],
                )
                for number, row in enumerate(variants, 1)
                if row["is_priced"]
            ]
        ),
        primary_metric=metrics.pop() if len(metrics) == 1 else None,
    )


def to_run_html(
    view: RunView,
    edition: Edition,
    *,
    index: str | None,
    judge: Callable[[str, str], str | None] = lambda *_: None,
) -> str:
    """Return the page of a run, without script.

    Args:
        view: Its content.
        edition: Language and time.
        index: Link of the index, if there is one.
        judge: Returns the link of the page of a dimension's judge.
    """
    env = environment(edition.lang, edition.templates)
    return render(
        env,
        "run.html.j2",
        view=view,
        index=index,
        judge=judge,
        generated_at=edition.generated_at,
        newest=_newest(view),
    )


def _newest(view: RunView) -> datetime:
    times: list[datetime] = [column.row["created_at"] for column in view.columns]
    return max(times)


def _decided(columns: Sequence[VariantColumn]) -> list[Decided]:
    """Group the variants with the same verdict text."""
    alike: dict[str, list[VariantColumn]] = {}
    for column in columns:
        alike.setdefault(column.headline.gate.headline, []).append(column)
    found = [Decided(each[0].headline, each[0].href, each) for each in alike.values()]
    return sorted(found, key=lambda each: WORST_FIRST.index(each.headline.gate.verdict))


def _standing(row: Row) -> Standing:
    if row["is_leader"]:
        return "leads"
    if not row["is_compared"] or not row["n_pairs"]:
        return "not_compared"
    return "within_chance" if row["is_within_chance"] else "behind"


def _cell(
    found: Mapping[str, Any] | None, case_id: str, href: str | None
) -> CaseCell | None:
    if found is None:
        return None
    # no link for a passed case
    link = None if href is None or found["status"] == "pass" else href
    return CaseCell(
        found["status"],
        found["n"],
        found["passed"],
        found["change"],
        None if link is None else f"{link}#{case_anchor(case_id)}",
    )
