"""``promptlab memory``: the figures of a memory run, or of two question by question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from promptlab.cli.cells import (
    from_to,
    ident,
    interval_of_points,
    judged,
    judged_from_to,
    milliseconds,
    named,
    p_value,
    plain,
    points,
    score,
    words,
)
from promptlab.cli.language import spoken
from promptlab.cli.options import Call, common
from promptlab.cli.output import (
    Column,
    Table,
    print_objects,
    print_rows,
    print_sides,
    print_text,
)

if TYPE_CHECKING:
    import duckdb

    from promptlab.contracts.memory_result import MemoryComparison

_SCORES = """
    pivot (
        select
            scores.run_id,
            scores.category,
            runs.dataset as name, -- it names its categories
            scores.metric,
            scores.score,
            max(scores.n_questions) over (
                partition by scores.run_id, scores.category
            ) as n_questions,
            max(scores.n_failed) over (
                partition by scores.run_id, scores.category
            ) as n_failed
        from marts.fct_memory_scores as scores
        inner join marts.dim_memory_runs as runs using (run_id)
        where
            scores.run_id = $run
            and scores.view = $view
            and scores.failed_calls = $failed_calls
            and scores.average = $average
            and scores.test_index is null
    )
    on metric in (
        'locomo_f1', 'token_f1', 'mem0_f1', 'exact_match', 'contains_reference'
    )
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

_FIGURES = Table(
    columns=(
        Column("run", ident, "run_id"),
        Column("category", named, "category", "name"),
        Column("questions", plain, "n_questions"),
        Column("failed", plain, "n_failed"),
        Column("LoCoMo F1", score, "locomo_f1"),
        Column("token F1", score, "token_f1"),
    ),
    wide=(
        Column("Mem0 F1", score, "mem0_f1"),
        Column("exact match", score, "exact_match"),
        Column("contains reference", score, "contains_reference"),
    ),
)

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


@click.command("memory", short_help="The figures of one memory run, or of two.")
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
    type=click.Choice(("figures", "comparison", "questions", "timings")),
    help="Only this part; JSON and CSV have one part, figures by default.",
)
@common()
def command(
    call: Call,
    runs: tuple[str, ...],
    view: str,
    failed_calls: str,
    average: str,
    show: str | None,
) -> int:
    """Print the scores of a memory run by category, or compare two runs.

    RUN is an id or a unique part of one; by default the newest run. Every figure is of
    the view, the rule for failed calls and the average that the options name: the
    last round, failed calls as 0, over questions.

    Two runs are compared question by question, over all and by category, where the
    warehouse keeps the pair: a run with the one before it of the same memory system,
    and with the newest before it of another. Times of inserting and retrieving follow.
    """
    from promptlab.errors import UsageError

    if len(runs) > 2:
        raise UsageError("one run, or two to compare")
    if show in ("comparison", "questions") and len(runs) < 2:
        raise UsageError(f"--show {show}: name two runs")
    with call.warehouse().built() as con:
        chosen = [_resolve(con, run) for run in runs] or [_newest(con)]
        lang = call.settings.lang
        values = {"view": view, "failed_calls": failed_calls, "average": average}
        figures = _side_by_side(con, chosen, values, lang)
        timings = _read(con, _TIMINGS, chosen, {})
        comparison = _comparison(con, chosen, lang) if len(chosen) == 2 else None
    if show in (None, "figures"):
        call.say(_rule(lang, view, failed_calls, average))
    if (
        show in (None, "comparison", "questions")
        and len(chosen) == 2
        and not comparison
    ):
        call.say(
            "not compared question by question: kept are a run with the one before it"
            " of the same data set and memory system, and with the newest of another"
        )
    _print(call, show, figures, timings, comparison)
    return 0


def _rule(lang: str, view: str, failed_calls: str, average: str) -> str:
    """What the figures are of, in words."""
    from promptlab.reports.texts.catalogue import catalogue

    texts = catalogue(lang)
    chosen = {
        "memory_view": view,
        "memory_failed": failed_calls,
        "memory_average": average,
    }
    words = (texts.label(group, code) for group, code in chosen.items())
    return texts.text("word.comma").join(words)


def _print(
    call: Call,
    show: str | None,
    figures: Rows,
    timings: Rows,
    comparison: MemoryComparison | None,
) -> None:
    questions = comparison.questions if comparison else []
    if call.format != "table":
        if show == "comparison":
            scores = comparison.scores if comparison else []
            print_objects(scores, _COMPARED, call.format)
        elif show == "questions":
            print_objects(questions, _QUESTIONS, call.format)
        else:
            print_rows(*(timings if show == "timings" else figures), call.format)
        return
    if show in (None, "figures"):
        print_rows(*figures, "table", _FIGURES, wide=call.wide)
    if comparison is not None and show in (None, "comparison"):
        if show is None:
            click.echo()
        _print_comparison(comparison, wide=call.wide)
    if show == "questions":
        print_objects(questions, _QUESTIONS, "table", _CHANGED, wide=call.wide)
    if show == "timings" or (show is None and timings[1]):
        if show is None:
            click.echo()
        print_rows(*timings, "table", _TIMES, wide=call.wide)


_COUNTS = (
    "questions: {better} better, {worse} worse, {same} same, {added} added,"
    " {removed} removed, {not_comparable} not comparable;"
    " {newly_failing} newly failing, {newly_fixed} newly fixed"
)


def _print_comparison(comparison: MemoryComparison, *, wide: bool) -> None:
    counts = comparison.counts
    print_sides(comparison.baseline_run_id, comparison.candidate_run_id)
    verdict = judged(comparison.verdict)
    print_text(
        comparison.conclusion, lead=f"{verdict.text[0]} ", lead_style=verdict.style
    )
    print_text(spoken(_COUNTS, **counts.model_dump()))
    click.echo()
    scores = [each for each in comparison.scores if each.is_right_metric]
    print_objects(scores, _COMPARED, "table", _COMPARISON, wide=wide)


_COMPARED = {
    "metric": "metric", "category": "subject", "name": "name",
    "before": "baseline_score", "after": "candidate_score", "delta": "delta",
    "low": "ci_low", "high": "ci_high", "p": "p_value", "adjusted_p": "p_adjusted",
    "pairs": "n_pairs", "right_lost": "n_lost", "right_gained": "n_gained",
    "mcnemar_p": "mcnemar_p", "detectable": "smallest_detectable",
    "verdict": "verdict", "reason": "reason",
}  # fmt: skip

_COMPARISON = Table(
    columns=(
        Column("category", named, "category", "name"),
        Column("score", from_to, "before", "after"),
        Column("change", points, "delta"),
        Column("95% interval", interval_of_points, "low", "high"),
        Column("verdict", judged, "verdict"),
    ),
    wide=(
        Column("why", words, "reason"),
        Column("p", p_value, "p"),
        Column("adjusted p", p_value, "adjusted_p"),
        Column("pairs", plain, "pairs"),
        Column("right lost", plain, "right_lost"),
        Column("gained", plain, "right_gained"),
        Column("McNemar p", p_value, "mcnemar_p"),
        Column("detectable", score, "detectable"),
    ),
    by=("metric",),
)


_QUESTIONS = {
    "task_id": "task_id", "question_index": "question_index", "category": "category",
    "change": "change", "before": "baseline_score", "after": "candidate_score",
    "delta": "delta", "status_before": "baseline_status",
    "status_after": "candidate_status", "question_text": "question_text",
    "answer_before": "baseline_answer", "answer_after": "candidate_answer",
}  # fmt: skip

_CHANGED = Table(
    columns=(
        Column("question", plain, "question_text"),
        Column("change", judged, "change"),
        Column("score", from_to, "before", "after"),
        Column("answer before", plain, "answer_before"),
        Column("answer after", plain, "answer_after"),
    ),
    wide=(
        Column("points", points, "delta"),
        Column("status", judged_from_to, "status_before", "status_after"),
        Column("category", plain, "category"),
        Column("conversation", ident, "task_id"),
        Column("index", plain, "question_index"),
    ),
)


def _side_by_side(
    con: duckdb.DuckDBPyConnection,
    runs: Sequence[str],
    values: dict[str, str],
    lang: str,
) -> Rows:
    from promptlab.reports.sentences import Speech, category_name

    columns, found = _read(con, _SCORES, runs, values)
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
    from promptlab.database.rows import fetched

    columns: Sequence[str] = ()
    found: list[Sequence[Any]] = []
    for run in runs:
        columns, rows = fetched(con, sql, {"run": run, **values})
        found += rows
    return columns, found


def _comparison(
    con: duckdb.DuckDBPyConnection, runs: Sequence[str], lang: str
) -> MemoryComparison | None:
    """The two runs compared; the later one is the candidate, however they are given."""
    from promptlab.reports.queries.memory_comparisons import memory_comparisons

    for baseline, candidate in (runs, runs[::-1]):
        kept = memory_comparisons(con, candidate, lang=lang, baseline=baseline)
        if kept:
            return kept[0]
    return None


def _newest(con: duckdb.DuckDBPyConnection) -> str:
    from promptlab.errors import NothingToDo

    row = con.execute(
        "select run_id from marts.dim_memory_runs"
        " order by started_at desc nulls last, run_id desc limit 1"
    ).fetchone()
    if row is None:
        raise NothingToDo("the warehouse holds no memory run; `promptlab run PATH`")
    return str(row[0])


def _resolve(con: duckdb.DuckDBPyConnection, wanted: str) -> str:
    from promptlab.errors import UsageError

    ids = [
        row[0]
        for row in con.execute(
            "select run_id from marts.dim_memory_runs where contains(run_id, $1)"
            " order by run_id",
            [wanted],
        ).fetchall()
    ]
    if wanted in ids or len(ids) == 1:
        return wanted if wanted in ids else str(ids[0])
    if ids:
        raise UsageError(f"{wanted}: {len(ids)} runs match: {', '.join(ids[:5])}")
    raise UsageError(f"{wanted}: there is no such memory run")
