"""``promptlab memory``: print the figures of a memory run, or of two side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from promptlab.cli.options import Call, common
from promptlab.cli.output import (
    Column,
    Table,
    ident,
    interval,
    milliseconds,
    named,
    plain,
    score,
    spoken,
    words,
)
from promptlab.database import fetched
from promptlab.errors import NothingToDo, UsageError

if TYPE_CHECKING:
    import duckdb

_METRICS = """
    select scores.metric
    from marts.fct_memory_scores as scores
    left join marts.fct_dimension_scores as dimensions
        on
            scores.run_id = dimensions.task_id
            and scores.metric = dimensions.dimension_id
    where list_contains($runs, scores.run_id)
    group by scores.metric
    order by min(dimensions.dimension_position) nulls last, scores.metric
"""

_SCORES = """
    pivot (
        select
            scores.run_id,
            scores.category,
            runs.dataset as name, -- it names its categories
            scores.metric,
            scores.score,
            max(scores.n_questions) over in_category as n_questions,
            max(scores.n_failed) over in_category as n_failed,
            max(scores.ci_low) filter (scores.metric = runs.right_metric)
                over in_category as ci_low,
            max(scores.ci_high) filter (scores.metric = runs.right_metric)
                over in_category as ci_high
        from marts.fct_memory_scores as scores
        inner join marts.dim_memory_runs as runs using (run_id)
        where
            scores.run_id = $run
            and scores.view = $view
            and scores.failed_calls = $failed_calls
            and scores.average = $average
            and scores.test_index is null
        window in_category as (partition by scores.run_id, scores.category)
    )
    on metric in ({metrics})
    using max(score)
    order by category
"""

_TIMINGS = """
    select
        run_id, operation, stage, n_calls, mean_ms, min_ms, p50_ms, p90_ms, p95_ms,
        p99_ms, max_ms
    from marts.fct_memory_timings
    where run_id = $run
    order by operation, stage = 'total', stage
"""

Rows = tuple[Sequence[str], list[Sequence[Any]]]
"""Names of columns, and the values below them."""

_TIMES = Table(
    columns=(
        Column("operation", words, "operation"),
        Column("stage", plain, "stage"),
        Column("calls", plain, "n_calls"),
        Column("mean ms", milliseconds, "mean_ms"),
        Column("p50 ms", milliseconds, "p50_ms"),
        Column("p95 ms", milliseconds, "p95_ms"),
    ),
    wide=(
        Column("min ms", milliseconds, "min_ms"),
        Column("p90 ms", milliseconds, "p90_ms"),
        Column("p99 ms", milliseconds, "p99_ms"),
        Column("max ms", milliseconds, "max_ms"),
    ),
    by=("run_id",),
)


@click.command("memory", short_help="Show one memory run, or compare two.")
@click.argument("runs", nargs=-1, metavar="[RUN] [RUN]")
@click.option(
    "--view", type=click.Choice(("last_round", "pooled")), default="last_round"
)
@click.option(
    "--failed-calls", type=click.Choice(("as_zero", "left_out")), default="as_zero"
)
@click.option("--average", type=click.Choice(("micro", "macro")), default="micro")
@click.option(
    "--show",
    type=click.Choice(("figures", "timings")),
    help="Only this part; JSON and CSV have one part, figures by default.",
)
@common()
def memory(
    call: Call,
    runs: tuple[str, ...],
    view: str,
    failed_calls: str,
    average: str,
    show: str | None,
) -> int:
    """Print the scores of a memory run by category, or of two runs side by side.

    RUN is an id or a unique part of one; by default the newest run. Options select the
    view, the rule for failed calls and the average of all figures; defaults: the last
    round, failed calls as 0, over questions. The interval is that of the metric that
    decides whether an answer is right, clustered by conversation. Times of inserting
    and retrieving follow.

    `promptlab compare RUN RUN` compares two runs question by question, and
    `promptlab gate RUN` judges one, like any other run.
    """
    if len(runs) > 2:
        raise UsageError("one run, or two to compare")
    with call.warehouse().built() as con:
        chosen = _chosen(con, runs)
        lang = call.settings.lang
        metrics = [row[0] for row in con.execute(_METRICS, {"runs": chosen}).fetchall()]
        values = {"view": view, "failed_calls": failed_calls, "average": average}
        figures = _side_by_side(con, chosen, metrics, values, lang)
        timings = _read(con, _TIMINGS, chosen, {})
    if show in (None, "figures"):
        call.say(_rule(lang, view, failed_calls, average))
    if call.format != "table":
        call.print_rows(*(timings if show == "timings" else figures))
        return 0
    if show in (None, "figures"):
        names, found = figures
        place = names.index("category")
        rows = [
            (*row[:place], spoken(row[place] or ""), *row[place + 1 :]) for row in found
        ]
        table = _figures(metrics, lang, is_pair=len(chosen) == 2)
        call.print_rows(names, rows, table)
    if show == "timings" or (show is None and timings[1]):
        if show is None:
            click.echo()
        call.print_rows(*timings, _TIMES)
    return 0


def _rule(lang: str, view: str, failed_calls: str, average: str) -> str:
    """Return a sentence about what the figures are based on."""
    from promptlab.reports.texts import catalogue

    texts = catalogue(lang)
    chosen = {
        "memory_view": view,
        "memory_failed": failed_calls,
        "memory_average": average,
    }
    words = (texts.label(group, code) for group, code in chosen.items())
    return texts.text("word.comma").join(words)


def _figures(metrics: Sequence[str], lang: str, *, is_pair: bool) -> Table:
    """Return the table of figures: the first two metrics, and the others if wide.

    One run has a line for each category; of two runs, each category is a part.
    """
    from promptlab.reports.texts import catalogue

    texts = catalogue(lang)
    headings = {metric: texts.label("memory_metric", metric) for metric in metrics}
    scores = [Column(heading, score, metric) for metric, heading in headings.items()]
    first = Column("category", named, "category", "name")
    if is_pair:
        first = Column("run", ident, "run_id")
    return Table(
        columns=(
            first,
            Column("questions", plain, "n_questions"),
            Column("failed", plain, "n_failed"),
            Column("95% interval", interval, "ci_low", "ci_high"),
            *scores[:2],
        ),
        wide=tuple(scores[2:]),
        by=("category", "name") if is_pair else ("run_id",),
    )


def _side_by_side(
    con: duckdb.DuckDBPyConnection,
    runs: Sequence[str],
    metrics: Sequence[str],
    values: dict[str, str],
    lang: str,
) -> Rows:
    from promptlab.reports.sentences import Speech, category_name

    listed = ", ".join("'" + metric.replace("'", "''") + "'" for metric in metrics)
    columns, found = _read(con, _SCORES.format(metrics=listed), runs, values)
    category, name = columns.index("category"), columns.index("name")
    speech = Speech.of(lang)
    found = [
        (*row[:name], category_name(speech, row[name], row[category]), *row[name + 1 :])
        for row in found
    ]
    if len(runs) == 2:
        found.sort(key=lambda row: (row[category] or "", runs.index(row[0])))
    return columns, found


def _read(
    con: duckdb.DuckDBPyConnection,
    sql: str,
    runs: Sequence[str],
    values: dict[str, str],
) -> Rows:
    columns: Sequence[str] = ()
    found: list[Sequence[Any]] = []
    for run in runs:
        columns, rows = fetched(con, sql, {"run": run, **values})
        found += rows
    return columns, found


def _chosen(con: duckdb.DuckDBPyConnection, wanted: Sequence[str]) -> list[str]:
    """Return the whole ids of these runs; by default that of the newest run."""
    found = con.execute(
        "select run_id from marts.dim_memory_runs"
        " order by started_at desc nulls last, run_id desc"
    ).fetchall()
    ids = [str(row[0]) for row in found]
    if not (ids or wanted):
        raise NothingToDo("the warehouse holds no memory run; `promptlab run PATH`")
    return [_resolve(ids, run) for run in wanted] or ids[:1]


def _resolve(ids: Sequence[str], wanted: str) -> str:
    matching = sorted(run_id for run_id in ids if wanted in run_id)
    if wanted in matching:
        return wanted
    if not matching:
        raise UsageError(f"{wanted}: there is no such memory run")
    if len(matching) > 1:
        named = ", ".join(matching[:5])
        raise UsageError(f"{wanted}: {len(matching)} runs match: {named}")
    return matching[0]
