"""The index: every current variant of every title, sorted by trend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from promptlab.contracts.gate import GateResult
from promptlab.reports.charts import LineChart, Point, line_chart
from promptlab.reports.judge import judges
from promptlab.reports.pages import Href, environment, render, script_hash
from promptlab.reports.printing import Filters
from promptlab.reports.queries import Row, rows
from promptlab.reports.texts import catalogue

if TYPE_CHECKING:
    from datetime import datetime

    import duckdb

    from promptlab.reports.edition import Edition

MOST_LINES = 1_000
"""Variants that are listed, those of the newest titles first."""
MOST_RUNS = 30
"""Number of drawn runs of a variant; the page of its title has more."""
MOST_FACETS = 100
"""Models, owners and tags that the index can be filtered by."""
MOST_LONG = 200
"""Of more variants the index draws fewer runs, shortens the decisions, and names cost
and prompts only where they moved or are clear."""
_DRAWN_WHERE_MANY = 15
_MOVED = 1.25
"""Latency and cost are shown if they changed by a quarter or more."""

Course = Literal[
    "worse", "mixed", "cannot_tell", "better", "time_or_cost", "new", "unchanged"
]
"""Where a variant is going, in the order of the page; ``mixed``: one number rose, and
another fell or cases broke; ``time_or_cost``: its scores are unchanged, its latency or
cost is not."""

_FACETS = {"model": "m", "owner": "o", "tag": "t"}
"""What the index can be filtered by, and the letter of its marks."""

_LINES = f"""
with tasks as (

    select
        *,
        row_number() over in_title as recency,
        row_number() over in_variant as recency_in_variant,
        max(created_at) over (partition by title) as latest_at,
        min(created_at) over (partition by title, variant) >= $since as is_new
    from marts.dim_tasks
    where role = 'full'
    window
        in_title as (partition by title order by run_number desc, task_id desc),
        in_variant as (
            partition by title, variant order by run_number desc, task_id desc
        )

),

histories as (

    select
        tasks.title, tasks.variant,
        list(summaries.overall_score order by tasks.run_number, tasks.task_id)
            as scores,
        list(summaries.pass_rate order by tasks.run_number, tasks.task_id)
            as pass_rates
    from tasks
    inner join marts.fct_task_summaries as summaries using (task_id)
    where tasks.recency_in_variant <= {MOST_RUNS}
    group by tasks.title, tasks.variant

),

-- from the last run before $since, or the oldest drawn one
spans as (

    select *
    from tasks
    where recency_in_variant <= {MOST_RUNS}
    qualify
        run_number >= coalesce(
            max(run_number) filter (created_at < $since)
            over (partition by title, variant),
            0
        )

),

measured as (

    select
        spans.title, spans.variant, spans.run_number, spans.task_id,
        any_value(value) filter (measure = 'latency_p50') as latency,
        any_value(value) filter (measure = 'cost_total') as cost
    from spans
    left join marts.fct_trends as trends
        on spans.task_id = trends.task_id and trends.subject is null
    group by all

),

-- the first known value, and that of the newest run, which may be unknown
measures as (

    select
        title, variant,
        count(latency) as n_latencies,
        arg_min(latency, (run_number, task_id)) as latency_first,
        arg_max_null(latency, (run_number, task_id)) as latency,
        count(cost) as n_costs,
        arg_min(cost, (run_number, task_id)) as cost_first,
        arg_max_null(cost, (run_number, task_id)) as cost
    from measured
    group by title, variant

),

tags as (

    select task_id, list(distinct tag order by tag) as tags
    from marts.dim_case_tags
    where task_id in (select tasks.task_id from tasks where recency_in_variant = 1)
    group by task_id

),

prompts as (

    select
        title, testset_id, count(distinct prompt_version) as n_versions,
        min_by(prompt_version, (score_rank, created_at)) as best,
        min_by(overall_score, (score_rank, created_at)) as best_score,
        count(distinct prompt_version) filter (overlaps_leader) = 1 as is_clear
    from marts.fct_leaderboard
    where overall_score is not null and score_rank is not null
    group by title, testset_id

)

select
    tasks.task_id, tasks.title, tasks.variant, tasks.prompt_version, tasks.model,
    epoch_us(tasks.created_at) as created_at,
    case when tasks.is_partial then tasks.n_rows_held end as n_held,
    tasks.n_rows_claimed as n_claimed,
    summaries.overall_score, summaries.pass_rate, summaries.n_pass,
    summaries.n_pass + summaries.n_fail + summaries.n_error as n_judged,
    histories.scores, histories.pass_rates,
    [tasks.model] as model_names, coalesce(tags.tags, []) as tag_names,
    list_filter([tasks.owner], lambda name: name is not null) as owner_names,
    case when prompts.n_versions > 1 then prompts.best end as best_version,
    prompts.best_score, prompts.is_clear,
    measures.latency_first, measures.latency, measures.cost_first, measures.cost,
    measures.n_latencies, measures.n_costs, coalesce(tasks.is_new, false) as is_new,
    coalesce(abs(ln(nullif(measures.latency, 0) / nullif(measures.latency_first, 0)))
        > ln({_MOVED}), false) as latency_moved,
    coalesce(abs(ln(nullif(measures.cost, 0) / nullif(measures.cost_first, 0)))
        > ln({_MOVED}), false) as cost_moved,
    changes.delta as change, coalesce(changes.verdict = 'improved', false) as is_better,
    count(*) over () as n_lines
from tasks
inner join marts.fct_task_summaries as summaries on tasks.task_id = summaries.task_id
inner join histories
    on tasks.title = histories.title and tasks.variant = histories.variant
left join marts.dim_variants as variants
    on tasks.title = variants.title and tasks.variant = variants.variant
left join measures
    on tasks.title = measures.title and tasks.variant = measures.variant
left join tags on tasks.task_id = tags.task_id
left join marts.dim_task_baselines as baselines on tasks.task_id = baselines.task_id
left join marts.fct_task_comparisons as changes
    on
        tasks.task_id = changes.candidate_task_id
        and baselines.baseline_task_id = changes.baseline_task_id
        and changes.level = 'overall'
left join prompts
    on
        tasks.title = prompts.title
        and tasks.testset_id is not distinct from prompts.testset_id
where
    tasks.recency = 1
    or (variants.is_current and variants.newest_task_id = tasks.task_id)
order by tasks.latest_at desc, tasks.title, tasks.recency
limit {MOST_LINES}
"""


@dataclass(frozen=True)
class Index:
    """The entries of the index."""

    groups: Mapping[Course, Sequence[Row]]
    """Current variants, the largest change first: the rows of the query above with
    ``gate``, ``since_at`` if a case broke, ``course``, ``href`` (the
    page of the title, else the newest report), ``report`` (the newest), ``run`` (the
    page of its variants), ``chart``, and ``marks``: what it is found by, its decision
    and those of ``facets``."""
    n_lines: int
    n_more: int
    is_long: bool
    judges: Sequence[tuple[str, str, str]]
    """Dimension, name and link of each judge with labels and a page."""
    facets: Mapping[str, Mapping[str, str]]
    """``model``, ``owner`` and ``tag``: each value with its mark, such as ``m0``."""


def read_index(
    con: duckdb.DuckDBPyConnection,
    edition: Edition,
    *,
    since: datetime | None = None,
    task: Href = lambda _: None,
    title: Href = lambda _: None,
    run: Href = lambda _: None,
    judge: Callable[[str, str], str | None] = lambda *_: None,
) -> Index:
    """Return the index of the warehouse.

    With *since*, variants whose first run is not older are new, and latency and cost
    are compared with the last run before it. The functions return the link of a page,
    if there is one.
    """
    found = rows(con, _LINES, {"since": since})
    task_ids = [row["task_id"] for row in found]
    gates = edition.gates_of(con, task_ids)
    facets = {}
    for facet, letter in _FACETS.items():
        names = dict.fromkeys(name for row in found for name in row[f"{facet}_names"])
        facets[facet] = {
            name: f"{letter}{at}" for at, name in enumerate(list(names)[:MOST_FACETS])
        }
    is_long = len(found) > MOST_LONG
    filters = Filters(catalogue(edition.lang))
    for row in found:
        gate = gates[row["task_id"]]
        report = task(row["task_id"])
        is_scored = row["overall_score"] is not None or not row["n_judged"]
        values = row["scores"] if is_scored else row["pass_rates"]
        row["gate"] = gate
        row["since_at"] = min(
            (case.since_at for case in gate.cases if case.state == "broken"
             and case.since_at),
            default=None,
        )  # fmt: skip
        row["course"] = _course_of(row, gate)
        row["href"] = title(row["title"]) or report
        row["report"] = None if is_long else report
        row["run"] = None if is_long else run(row["title"])
        row["chart"] = _chart(
            values[-_DRAWN_WHERE_MANY:] if is_long else values, filters
        )
        marks = (
            known[name]
            for facet, known in facets.items()
            for name in row[f"{facet}_names"]
            if name in known
        )
        row["marks"] = [gate.decision, *marks]
    found.sort(key=lambda row: (_size(row), row["title"], row["variant"]))
    return Index(
        groups={
            course: of_course
            for course in get_args(Course)
            if (of_course := [row for row in found if row["course"] == course])
        },
        n_lines=len(found),
        n_more=found[0]["n_lines"] - len(found) if found else 0,
        is_long=is_long,
        judges=[
            (dimension_id, name, href)
            for dimension_id, name in judges(con)
            if (href := judge(dimension_id, name))
        ],
        facets=facets,
    )


def to_index_html(index: Index, edition: Edition) -> str:
    """Return the index as one page; its script only searches and filters."""
    env = environment(edition.lang, edition.templates)
    return render(
        env,
        "index.html.j2",
        index=index,
        generated_at=edition.generated_at,
        script=script_hash(env, "index.js"),
    )


def _course_of(row: Row, gate: GateResult) -> Course:
    """Return where a variant is going: its decision, and whether its score rose."""
    if gate.decision == "do_not_ship":
        return "mixed" if row["is_better"] else "worse"
    if gate.decision in ("cannot_tell", "run_again"):
        return "cannot_tell"
    if row["is_better"]:
        return "better"
    if gate.decision == "first_run" or row["is_new"]:
        return "new"
    return "time_or_cost" if row["latency_moved"] or row["cost_moved"] else "unchanged"


def _size(row: Row) -> float:
    """Return the sort key: large falls first, in `better` large rises."""
    change = float(row["change"] or 0.0)
    return -change if row["course"] == "better" else change


def _chart(values: Sequence[float | None], filters: Filters) -> LineChart | None:
    """Draw the last values of a variant; nothing for fewer than two."""
    points = [
        Point(run, value) for run, value in enumerate(values) if value is not None
    ]
    if len(points) < 2:
        return None
    return line_chart(
        {"": points},
        [""] * len(values),
        form=lambda value: filters.number(value * 100, 0),
        is_share=True,
        width=190,
        height=50,
        left=28,
        ticks=1,
        digits=0,
    )
