"""The index: every title with its current variants, sorted by where it is going."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from promptlab.contracts.gate import GateResult
from promptlab.reports.charts import LineChart, Point, line_chart
from promptlab.reports.judge import judges
from promptlab.reports.pages import Href, environment, render, script_hash
from promptlab.reports.printing import Filters
from promptlab.reports.queries import Row, rows, select
from promptlab.reports.sentences import Speech

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
"""Of more variants the index draws fewer runs and shortens the decisions."""
_DRAWN_WHERE_MANY = 15

Course = Literal["worse", "cannot_tell", "better", "new", "unchanged"]
"""Where a title is going, the first that one of its variants has. Worse and better are
the verdict on its cases, or another level of its latency, cost or errors."""

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
    tasks.created_at,
    case when tasks.is_partial then tasks.n_rows_held end as n_held,
    tasks.n_rows_claimed as n_claimed,
    summaries.* exclude (task_id),
    summaries.n_pass + summaries.n_fail + summaries.n_error as n_judged,
    histories.drawn,
    [tasks.model] as model_names, coalesce(tags.tags, []) as tag_names,
    list_filter([tasks.owner], lambda name: name is not null) as owner_names,
    coalesce(tasks.is_new, false) as is_new,
    changes.delta as change, coalesce(changes.verdict = 'improved', false) as is_better,
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

_QUALITY = ("overall_score", "pass_rate")
"""Measures of which the verdict alone says that they are worse."""


@dataclass(frozen=True)
class Index:
    """The entries of the index."""

    groups: Mapping[Course, Sequence[Row]]
    """Titles, the worst first. Each has ``title``, ``href`` (its page, else the newest
    report), ``run`` (the page of its variants), ``course``, ``marks`` (what it is found
    by) and ``lines``: its current variants, the worst first, as rows of the query
    above with ``gate``, ``course``, ``report``, ``moves`` (levels that changed, as
    text), ``since_at`` if a case broke, and ``chart``."""
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

    With *since*, variants whose first run is not older are new. The functions return
    the link of a page, if there is one.
    """
    found = rows(con, _LINES, {"since": since})
    gates = edition.gates_of(con, [row["task_id"] for row in found])
    facets = {}
    for facet, letter in _FACETS.items():
        names = dict.fromkeys(name for row in found for name in row[f"{facet}_names"])
        facets[facet] = {
            name: f"{letter}{at}" for at, name in enumerate(list(names)[:MOST_FACETS])
        }
    is_long = len(found) > MOST_LONG
    speech = Speech.of(edition.lang)
    levels: dict[tuple[str, str], list[Row]] = {}
    moved = select(
        con,
        "fct_level_changes",
        order="is_worse desc, measure desc",
        is_beyond_chance=True,
    )
    for level in moved:
        levels.setdefault((level["title"], level["variant"]), []).append(level)
    titles: dict[str, list[Row]] = {}
    for row in found:
        gate = gates[row["task_id"]]
        moves = [
            level
            for level in levels.get((row["title"], row["variant"]), [])
            if _is_said(level, row, gate)
        ]
        row["gate"] = gate
        row["since_at"] = min(
            (case.since_at for case in gate.cases if case.state == "broken"
             and case.since_at),
            default=None,
        )  # fmt: skip
        row["course"] = _course_of(row, gate, moves)
        row["moves"] = [_move(level, speech, edition.generated_at) for level in moves]
        row["report"] = task(row["task_id"])
        drawn = row["drawn"][-_DRAWN_WHERE_MANY:] if is_long else row["drawn"]
        row["chart"] = _chart(drawn, speech.filters)
        row["marks"] = {gate.decision} | {
            known[name]
            for facet, known in facets.items()
            for name in row[f"{facet}_names"]
            if name in known
        }
        titles.setdefault(row["title"], []).append(row)
    entries = []
    for name, lines in titles.items():
        lines.sort(key=lambda row: (*_size(row), row["variant"]))
        entries.append(
            {
                "title": name,
                "lines": lines,
                "course": lines[0]["course"],
                "href": title(name) or lines[0]["report"],
                "run": None if is_long else run(name),
                "marks": sorted(set().union(*(row["marks"] for row in lines))),
            }
        )
    entries.sort(key=lambda entry: (*_size(entry["lines"][0]), entry["title"]))
    return Index(
        groups={
            course: of_course
            for course in get_args(Course)
            if (of_course := [each for each in entries if each["course"] == course])
        },
        n_lines=len(entries),
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


def _is_said(level: Row, row: Row, gate: GateResult) -> bool:
    """Return whether an entry says that a number is at another level.

    Of quality it says that it rose, in verdicts or else in scores, and only where the
    gate does not refuse: what fell is in its decision.
    """
    if level["measure"] not in _QUALITY:
        return True
    shown = "pass_rate" if row["n_judged"] else "overall_score"
    is_refused = gate.decision == "do_not_ship"
    return level["measure"] == shown and not level["is_worse"] and not is_refused


def _move(level: Row, speech: Speech, at: datetime) -> str:
    """Return ``2.6 times slower since 24 Nov: 880 ms → 2.3 s``."""
    way = "worse" if level["is_worse"] else "better"
    return speech.text(f"level.{level['measure']}_{way}", level | {"at": at})


def _course_of(row: Row, gate: GateResult, moves: Sequence[Row]) -> Course:
    """Return where a variant is going."""
    if gate.decision == "do_not_ship" or any(level["is_worse"] for level in moves):
        return "worse"
    if gate.decision in ("cannot_tell", "run_again"):
        return "cannot_tell"
    if row["is_better"] or moves:
        return "better"
    return "new" if gate.decision == "first_run" or row["is_new"] else "unchanged"


def _size(row: Row) -> tuple[int, int, int, float]:
    """Return the sort key: the worst course first, then the most broken cases."""
    change = float(row["change"] or 0.0)
    course = get_args(Course).index(row["course"])
    gate, size = row["gate"], -change if row["course"] == "better" else change
    return course, gate.decision != "do_not_ship", -gate.broke.n, size


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
