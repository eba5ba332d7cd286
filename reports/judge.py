"""The page of a judge: how far it agrees with people, and corrected pass rates.

All numbers come from the marts; see `docs/judges.md` for their meaning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlab.reports.pages import Href, environment, render
from promptlab.reports.queries import rows, select

if TYPE_CHECKING:
    import duckdb

    from promptlab.reports.edition import Edition

MOST_RATES = 20
"""Maximum number of runs with their corrected pass rates, the newest."""
MOST_SLICES = 30
"""Maximum number of rows of a table by tag, model, length, month or title."""
MOST_DIFFERENCES = 50
"""Maximum number of answers on which judge and people differ."""

# shares are weighted by the draw, so that they may differ from those of the counts
_AGREEMENT = """
select
    *,
    coalesce(abs(tnr - n_both_fail / nullif(n_fail, 0)) > 1e-6, false)
    or coalesce(abs(tpr - n_both_pass / nullif(n_pass, 0)) > 1e-6, false) as is_weighted
from marts.fct_judge_agreement
where dimension_id = $dimension and judge = $judge
order by
    case when slice_kind = 'month' then slice end,
    case slice when 'short' then 1 when 'medium' then 2 else 3 end
        * (slice_kind = 'length')::int,
    n_judged desc, slice
"""

_RATES = f"""
select rates.*, tasks.variant, tasks.created_at
from marts.fct_corrected_pass_rates as rates
inner join marts.dim_tasks as tasks using (task_id)
where rates.dimension_id = $dimension and rates.judge = $judge
order by
    tasks.created_at desc, rates.title, tasks.variant, rates.task_id,
    rates.measure desc
limit {MOST_RATES}
"""

# failures that the judge passed first: these reach users
_DIFFERENCES = f"""
select
    task_id, case_id, round_id, truth, verdict,
    string_agg(distinct label_comment, '; ' order by label_comment) as comment,
    count(*) over () as n_differences
from marts.fct_labels
where dimension_id = $dimension and judge = $judge and truth <> verdict
group by task_id, case_id, round_id, truth, verdict
order by verdict = 'pass' desc, task_id, case_id, round_id
limit {MOST_DIFFERENCES}
"""

_CHANGES = f"""
select *
from marts.fct_judge_changes
where dimension_id = $dimension and $judge in (judge_before, judge_after)
order by n_outputs desc, judge_before, judge_after
limit {MOST_SLICES}
"""

_NAME = """
select max_by(scores.name, tasks.created_at) as name
from marts.fct_dimension_scores as scores
inner join marts.dim_tasks as tasks using (task_id)
where scores.dimension_id = $dimension
"""

_SLICES = ("tag", "length", "position", "family", "model", "month", "title")


def judges(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """Return the dimension and the name of each judge with labels."""
    found = select(
        con, "fct_judge_agreement", order="dimension_id, judge", slice_kind="all"
    )
    return [(row["dimension_id"], row["judge"]) for row in found]


def judge_html(
    con: duckdb.DuckDBPyConnection,
    dimension_id: str,
    judge: str,
    edition: Edition,
    *,
    href: Href,
    index: str | None,
) -> str:
    """Return the page of a judge with labels, without script.

    *dimension_id* ``verdict`` is the round as a whole; *index* the link of the index.
    """
    given = {"dimension": dimension_id, "judge": judge}
    agreement = rows(con, _AGREEMENT, given)
    slices = {
        kind: [row for row in agreement if row["slice_kind"] == kind]
        for kind in _SLICES
    }
    rates = rows(con, _RATES, given)
    for row in rates:
        row["href"] = href(row["task_id"])
    differences = rows(con, _DIFFERENCES, given)
    stability = select(
        con,
        "fct_judge_stability",
        order="judge",
        dimension_id=dimension_id,
        judge=judge,
    )
    named = rows(con, _NAME, {"dimension": dimension_id})
    return render(
        environment(edition.lang, edition.templates),
        "judge.html.j2",
        judge=judge,
        judged=named[0]["name"] or dimension_id,
        row=next(row for row in agreement if row["slice_kind"] == "all"),
        rates=rates,
        # by tag, length, model, month, …, where there are several
        slices={k: each[:MOST_SLICES] for k, each in slices.items() if len(each) > 1},
        stability=next(iter(stability), None),
        changes=rows(con, _CHANGES, given),
        differences=differences,
        n_differences=differences[0]["n_differences"] if differences else 0,
        hrefs={row["task_id"]: href(row["task_id"]) for row in differences},
        index=index,
        generated_at=edition.generated_at,
    )
