"""The page of a judge: how far it agrees with people, and corrected pass rates.

All numbers come from the marts; see `docs/judges.md` for their meaning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlab.contracts.pages import (
    JudgeAgreement,
    JudgeChange,
    JudgeDifference,
    JudgePage,
    JudgeStability,
    RateOfResult,
)
from promptlab.reports.pages import Href, environment, render
from promptlab.reports.queries import of_contract, rows, select

if TYPE_CHECKING:
    import duckdb

    from promptlab.reports.report_options import ReportOptions

MOST_RATES = 20
"""Maximum number of runs with their corrected pass rates, the newest."""
MOST_SLICES = 30
"""Maximum number of rows of a table by tag, model, length, month or title."""
MOST_DIFFERENCES = 50
"""Maximum number of answers on which judge and people differ."""

_AGREEMENT = """
select *
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
    agreements = select(
        con, "fct_judge_agreement", order="dimension_id, judge", slice_kind="all"
    )
    return [(row["dimension_id"], row["judge"]) for row in agreements]


def read_judge(
    con: duckdb.DuckDBPyConnection,
    dimension_id: str,
    judge: str,
    options: ReportOptions,
) -> JudgePage:
    """Return the page of a judge with labels.

    *dimension_id* ``verdict`` is the round as a whole.
    """
    parameters = {"dimension": dimension_id, "judge": judge}
    agreement = [
        of_contract(JudgeAgreement, row) for row in rows(con, _AGREEMENT, parameters)
    ]
    slices = {
        kind: [row for row in agreement if row.slice_kind == kind] for kind in _SLICES
    }
    differences = rows(con, _DIFFERENCES, parameters)
    stability = select(
        con,
        "fct_judge_stability",
        order="judge",
        dimension_id=dimension_id,
        judge=judge,
    )
    named = rows(con, _NAME, {"dimension": dimension_id})
    return JudgePage(
        generated_at=options.generated_at,
        lang=options.lang,
        dimension_id=dimension_id,
        judge=judge,
        name=named[0]["name"] or dimension_id,
        agreement=next(row for row in agreement if row.slice_kind == "all"),
        slices={
            kind: of_kind[:MOST_SLICES]
            for kind, of_kind in slices.items()
            if len(of_kind) > 1
        },
        stability=next((of_contract(JudgeStability, row) for row in stability), None),
        rates=[of_contract(RateOfResult, row) for row in rows(con, _RATES, parameters)],
        changes=[
            of_contract(JudgeChange, row) for row in rows(con, _CHANGES, parameters)
        ],
        differences=[of_contract(JudgeDifference, row) for row in differences],
        n_differences=differences[0]["n_differences"] if differences else 0,
    )


def to_judge_html(
    page: JudgePage,
    options: ReportOptions,
    *,
    href: Href = lambda _: None,
    index: str | None = None,
) -> str:
    """Return the page of a judge, without script.

    *href* returns the link of a task's report; *index* is the link of the index.
    """
    env = environment(options.lang, options.templates)
    return render(env, "judge.html.j2", page=page, href=href, index=index)
