"""The index: every title with its current variants, sorted by where it is going."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, get_args

from promptlab.contracts.gate import GateResult, HeadlinePart
from promptlab.contracts.pages import (
    Course,
    IndexEntry,
    IndexPage,
    IndexVariant,
    JudgeName,
    LevelChange,
)
from promptlab.reports.charts import LineChart, Point, line_chart
from promptlab.reports.gate.headline import brief, headline_parts
from promptlab.reports.judge import judges
from promptlab.reports.levels import level_changes_of, read_levels
from promptlab.reports.pages import Href, environment, render, script_hash
from promptlab.reports.printing import Filters
from promptlab.reports.queries import Row, of_contract, rows
from promptlab.reports.sentences import Speech
from promptlab.reports.texts import catalogue

if TYPE_CHECKING:
    from datetime import datetime

    import duckdb

    from promptlab.reports.report_options import ReportOptions

MOST_LINES = 1_000
"""Variants that are listed, those of the newest titles first."""
MOST_RUNS = 30
"""Number of drawn runs of a variant; the page of its title has more."""
MOST_FACETS = 100
"""Models, owners and tags that the index can be filtered by."""
MOST_LONG = 200
"""With more variants the index draws fewer runs and shortens the decisions."""
_DRAWN_WHERE_MANY = 15

BRIEF = 110
"""Width of the short form of a decision."""

_COURSES = get_args(Course)

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
        list(
            case
                when summaries.n_pass + summaries.n_fail + summaries.n_error > 0
                    then summaries.pass_rate
                else summaries.overall_score
            end
            order by tasks.run_number, tasks.task_id
        ) as drawn
    from tasks
    inner join marts.fct_task_summaries as summaries using (task_id)
    where tasks.recency_in_variant <= {MOST_RUNS}
    group by tasks.title, tasks.variant

),

tags as (

    select task_id, list(distinct tag order by tag) as tags
    from marts.dim_case_tags
    where task_id in (select tasks.task_id from tasks where recency_in_variant = 1)
    group by task_id

)

select
    tasks.task_id, tasks.title, tasks.variant, tasks.prompt_version, tasks.model,
    tasks.created_at, tasks.owner, tasks.n_rows_held, tasks.n_rows_claimed,
    summaries.* exclude (task_id),
    summaries.n_pass + summaries.n_fail + summaries.n_error as n_judged,
    histories.drawn, coalesce(tags.tags, []) as tags,
    coalesce(tasks.is_new, false) as is_new,
    changes.delta, coalesce(changes.verdict = 'improved', false) as is_better,
    count(*) over () as n_lines
from tasks
inner join marts.fct_task_summaries as summaries on tasks.task_id = summaries.task_id
inner join histories
    on tasks.title = histories.title and tasks.variant = histories.variant
left join marts.dim_variants as variants
    on tasks.title = variants.title and tasks.variant = variants.variant
left join tags on tasks.task_id = tags.task_id
left join marts.dim_task_baselines as baselines on tasks.task_id = baselines.task_id
left join marts.fct_task_comparisons as changes
    on
        tasks.task_id = changes.candidate_task_id
        and baselines.baseline_task_id = changes.baseline_task_id
        and changes.level = 'overall'
where
    tasks.recency = 1
    or (variants.is_current and variants.newest_task_id = tasks.task_id)
order by tasks.latest_at desc, tasks.title, tasks.recency
limit {MOST_LINES}
"""


def read_index(
    con: duckdb.DuckDBPyConnection,
    options: ReportOptions,
    *,
    since: datetime | None = None,
) -> IndexPage:
    """Return the index of the warehouse.

    With *since*, variants whose first run is not older are new.
    """
    lines = rows(con, _LINES, {"since": since})
    gates = options.gates_of(con, [row["task_id"] for row in lines])
    is_long = len(lines) > MOST_LONG
    speech = Speech.for_language(options.lang)
    levels = read_levels(con)
    titles: dict[str, list[IndexVariant]] = {}
    for row in lines:
        gate = gates[row["task_id"]]
        moves = level_changes_of(gate, levels, speech, options)
        variant = _variant(row, gate, moves, is_long=is_long)
        titles.setdefault(row["title"], []).append(variant)
    entries = []
    for title, variants in titles.items():
        variants.sort(key=lambda variant: (*_size(variant), variant.variant))
        course = variants[0].course
        entries.append(IndexEntry(title=title, course=course, variants=variants))
    entries.sort(key=lambda entry: (*_size(entry.variants[0]), entry.title))
    return IndexPage(
        generated_at=options.generated_at,
        lang=options.lang,
        groups={
            course: of_course
            for course in _COURSES
            if (of_course := [entry for entry in entries if entry.course == course])
        },
        n_titles=len(entries),
        n_more=lines[0]["n_lines"] - len(lines) if lines else 0,
        judges=[
            JudgeName(dimension_id=dimension_id, judge=name)
            for dimension_id, name in judges(con)
        ],
    )


def _variant(
    row: Row, gate: GateResult, moves: list[LevelChange], *, is_long: bool
) -> IndexVariant:
    short = brief(gate, BRIEF)
    since = [
        case.since_at for case in gate.cases if case.state == "broken" and case.since_at
    ]
    return of_contract(
        IndexVariant,
        row,
        drawn=row["drawn"][-_DRAWN_WHERE_MANY:] if is_long else row["drawn"],
        course=_course_of(row, gate, moves),
        decision=gate.decision,
        headline=[HeadlinePart(short)]
        if is_long
        else headline_parts(gate, with_records=False),
        brief=short,
        n_broke=gate.broke.n,
        n_watched=gate.watched.n,
        since_at=min(since, default=None),
        moves=moves,
    )


def to_index_html(
    index: IndexPage,
    options: ReportOptions,
    *,
    task: Href = lambda _: None,
    title: Href = lambda _: None,
    run: Href = lambda _: None,
    judge: Callable[[str, str], str | None] = lambda *_: None,
) -> str:
    """Return the index as one page; its script only searches and filters.

    The functions return the link of a page, if there is one.
    """
    env = environment(options.lang, options.templates)
    filters = Filters(catalogue(options.lang))
    n_variants = sum(len(entry.variants) for entry in _entries(index))
    facets = facets_of(index)
    return render(
        env,
        "index.html.j2",
        index=index,
        facets=facets,
        marks=lambda entry: marks_of(entry, facets),
        chart=lambda variant: _chart(variant.drawn, filters),
        task=task,
        title=title,
        run=run if n_variants <= MOST_LONG else lambda _: None,
        judges=[
            (named, href)
            for named in index.judges
            if (href := judge(named.dimension_id, named.judge))
        ],
        script=script_hash(env, "index.js"),
    )


# ---------- filters: a value has a mark, such as ``m0``, that its entries have

Facets = dict[str, dict[str, str]]


def facets_of(index: IndexPage) -> Facets:
    """Return the models, owners and tags of the index, each with its mark."""
    facets: Facets = {"model": {}, "owner": {}, "tag": {}}
    for entry in _entries(index):
        for facet, name in _values(entry):
            known = facets[facet]
            if len(known) < MOST_FACETS:
                known.setdefault(name, f"{facet[0]}{len(known)}")
    return facets


def marks_of(entry: IndexEntry, facets: Facets) -> list[str]:
    """Return the marks of an entry, and the decisions on its variants."""
    marks: set[str] = {variant.decision for variant in entry.variants}
    for facet, name in _values(entry):
        if mark := facets[facet].get(name):
            marks.add(mark)
    return sorted(marks)


def _values(entry: IndexEntry) -> Iterator[tuple[str, str]]:
    for variant in entry.variants:
        yield "model", variant.model
        if variant.owner is not None:
            yield "owner", variant.owner
        for tag in variant.tags:
            yield "tag", tag


def _entries(index: IndexPage) -> Iterator[IndexEntry]:
    for entries in index.groups.values():
        yield from entries


# ---------- where a variant is going


def _course_of(row: Row, gate: GateResult, moves: Sequence[LevelChange]) -> Course:
    """Return where a variant is going."""
    if gate.decision == "do_not_ship" or any(level.is_worse for level in moves):
        return "worse"
    if gate.decision in ("cannot_tell", "run_again"):
        return "cannot_tell"
    if row["is_better"] or moves:
        return "better"
    return "new" if gate.decision == "first_run" or row["is_new"] else "unchanged"


def _size(variant: IndexVariant) -> tuple[int, bool, int, float]:
    """Return the sort key: the worst course first, then the most broken cases."""
    delta = variant.delta or 0.0
    return (
        _COURSES.index(variant.course),
        variant.decision != "do_not_ship",
        -variant.n_broke,
        -delta if variant.course == "better" else delta,
    )


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
