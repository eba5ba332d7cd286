"""``promptlab compare``: one task against another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from promptlab.cli.cells import (
    Cell,
    from_to,
    ident,
    interval_of_points,
    judged,
    judged_from_to,
    must_have,
    p_value,
    plain,
    plain_from_to,
    plain_interval_of,
    points,
    score,
    words,
)
from promptlab.cli.language import spoken
from promptlab.cli.options import Call, common
from promptlab.cli.output import (
    Column,
    Table,
    print_headline,
    print_json,
    print_objects,
    print_rows,
    print_sides,
    print_text,
)
from promptlab.cli.report import policy_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from promptlab.contracts.comparison import Comparison, ScoreComparison
    from promptlab.contracts.gate import GateResult
    from promptlab.reports.edition import Edition

SHOWN = 20

_SOURCES = {
    "named": "the baseline that was named",
    "previous": "the previous task of this title",
    "requested": "as requested",
}


@click.command("compare", short_help="Compare two tasks case by case.")
@click.argument("tasks", nargs=-1, metavar="[[BASELINE] CANDIDATE]")
@click.option(
    "--cases",
    type=click.IntRange(min=0),
    default=SHOWN,
    show_default=True,
    help="Number of changed cases in a table or Markdown.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Also write the comparison as a page below this folder.",
)
@click.option("--allow-inconclusive", is_flag=True, help="Exit with 0 instead of 4.")
@policy_option
@common("policy", formats=("table", "json", "csv", "md"))
def command(
    call: Call,
    tasks: tuple[str, ...],
    cases: int,
    out: Path | None,
    allow_inconclusive: bool,
) -> int:
    """Compare two tasks case by case: better, worse, and whether it is real.

    BASELINE and CANDIDATE are ids, unique prefixes, or `latest`, `previous`,
    `baseline`; `previous` and `baseline` are those of the candidate. CANDIDATE alone is
    compared with its baseline, and without any the latest task is. It may also be a
    run, a `--run-name`, a title, a file or a folder: then each task of it is compared.
    `--format json` prints the whole comparison, `--format csv` a line per case;
    `--out DIR` writes a page with the answers of both, side by side.

    Exit codes are those of `gate`: 1 for "do not ship", 4 for "cannot tell".
    """
    from promptlab.errors import UsageError
    from promptlab.history.comparisons import compare
    from promptlab.history.gate import exit_code
    from promptlab.reports.gate.verdict import gate_result
    from promptlab.task_ids import require_built, resolve_task, selected_tasks

    if len(tasks) > 2:
        raise UsageError(f"compare: takes two tasks, found {len(tasks)}")
    warehouse = call.warehouse()
    edition = warehouse.edition()
    baseline = tasks[0] if len(tasks) == 2 else "baseline"
    with warehouse.built() as con:
        require_built(con)
        candidates = (
            selected_tasks(con, tasks[0])
            if len(tasks) == 1
            else [tasks[1] if tasks else resolve_task(con, "latest")]
        )
    pairs = []
    for candidate in candidates:
        comparison = compare(
            warehouse,
            baseline,
            candidate,
            lang=edition.lang,
            cases=None if call.format in ("json", "csv") else cases,
        )
        with warehouse.built() as con:
            gate = gate_result(
                con,
                comparison.candidate.task_id,
                edition.policy,
                lang=edition.lang,
                baseline=comparison.baseline.task_id,
            )
            page = None if out is None else _write(con, comparison, out, edition)
        pairs.append((comparison, gate))
        if page is not None:
            call.say(f"written: {page}")
    _print(pairs, call)
    return exit_code([gate for _, gate in pairs], allow_inconclusive=allow_inconclusive)


def _write(
    con: duckdb.DuckDBPyConnection,
    comparison: Comparison,
    out: Path,
    edition: Edition,
) -> Path:
    from promptlab.reports.write import write_comparison

    before, after = comparison.baseline.task_id, comparison.candidate.task_id
    return write_comparison(con, before, after, out, edition)


def _print(pairs: Sequence[tuple[Comparison, GateResult]], call: Call) -> None:
    from promptlab.reports.formats import comparison_markdown

    if call.format == "json":
        texts = [comparison.as_json() for comparison, _ in pairs]
        print_json(texts[0] if len(texts) == 1 else f"[{','.join(texts)}]")
    elif call.format == "csv" and len(pairs) == 1:
        print_objects(pairs[0][0].cases, _CASE_FIELDS, "csv")
    elif call.format == "csv":
        rows = [
            (comparison.candidate.task_id, *(getattr(c, name) for name in _CASE_FIELDS))
            for comparison, _ in pairs
            for c in comparison.cases
        ]
        print_rows(("task_id", *_CASE_FIELDS), rows, "csv")
    elif call.format == "md":
        texts = [comparison_markdown(*pair) for pair in pairs]
        click.echo("\n".join(texts), nl=False)
    else:
        for comparison, gate in pairs:
            print_headline(gate)
            _print_for_people(comparison, wide=call.wide)


def _print_for_people(comparison: Comparison, *, wide: bool) -> None:
    counts = comparison.counts
    _print_sides(comparison)
    print_text(comparison.conclusion)
    for note in comparison.notes:
        print_text(note, lead="  ")
    print_text(spoken(_COUNTS, **counts.model_dump()))
    for heading, scores in (
        ("dimension", [comparison.overall, *comparison.dimensions]),
        ("tag", comparison.tags),
    ):
        if scores:
            click.echo()
            rows = [_score(score) for score in scores]
            print_rows(_SCORE_NAMES, rows, "table", _score_table(heading), wide=wide)
    if comparison.measures:
        click.echo()
        measures = comparison.measures
        print_objects(measures, _MEASURE_NAMES, "table", _MEASURES, wide=wide)
    changed = [c for c in comparison.cases if c.change != "same"]
    if changed:
        click.echo()
        print_objects(changed, _CASE_FIELDS, "table", _CASES, wide=wide)


_COUNTS = (
    "cases: {better} better, {worse} worse, {same} same, {added} added,"
    " {removed} removed, {not_comparable} not comparable;"
    " {newly_failing} newly failing, {newly_fixed} newly fixed;"
    " must-haves: {must_have_lost} lost, {must_have_gained} gained"
)


def _print_sides(comparison: Comparison) -> None:
    baseline, candidate = (
        f"{task.task_id}  {task.prompt_version}  {task.model}"
        f"  {task.created_at:%Y-%m-%d}"
        for task in (comparison.baseline, comparison.candidate)
    )
    why = spoken("({why})", why=spoken(_SOURCES[comparison.pair_source]))
    print_sides(f"{baseline}  {why}", candidate)


_SCORE_NAMES = (
    "name", "baseline_score", "candidate_score", "delta", "ci_low", "ci_high",
    "p_value", "p_adjusted", "n_pairs", "n_lost", "n_gained", "mcnemar_p",
    "smallest_detectable", "verdict", "unit", "baseline_metric", "candidate_metric",
    "measured",
)  # fmt: skip


def _score(score: ScoreComparison) -> Sequence[object]:
    return (
        score.name or spoken(score.subject),
        *(getattr(score, name) for name in _SCORE_NAMES[1:]),
    )


def _from_to(before: float | None, after: float | None, measured: str | None) -> Cell:
    """Return both scores, or what was measured in its own unit."""
    return from_to(before, after) if measured is None else Cell(measured)


def _score_table(heading: str) -> Table:
    return Table(
        columns=(
            Column(heading, plain, "name"),
            Column("score", _from_to, "baseline_score", "candidate_score", "measured"),
            Column("change", points, "delta"),
            Column("95% interval", interval_of_points, "ci_low", "ci_high"),
            Column("verdict", judged, "verdict"),
        ),
        wide=(
            Column("p", p_value, "p_value"),
            Column("adjusted p", p_value, "p_adjusted"),
            Column("pairs", plain, "n_pairs"),
            Column("passes lost", plain, "n_lost"),
            Column("gained", plain, "n_gained"),
            Column("McNemar p", p_value, "mcnemar_p"),
            Column("detectable", score, "smallest_detectable"),
        ),
    )


_MEASURE_NAMES = (
    "name", "baseline_value", "candidate_value", "delta", "ci_low", "ci_high",
    "p_value", "p_adjusted", "n_pairs", "n_higher", "n_lower", "direction", "verdict",
)  # fmt: skip

_MEASURES = Table(
    columns=(
        Column("measure", plain, "name"),
        Column("mean", plain_from_to, "baseline_value", "candidate_value"),
        Column("change", plain, "delta"),
        Column("95% interval", plain_interval_of, "ci_low", "ci_high"),
        Column("verdict", judged, "verdict"),
    ),
    wide=(
        Column("p", p_value, "p_value"),
        Column("adjusted p", p_value, "p_adjusted"),
        Column("pairs", plain, "n_pairs"),
        Column("higher", plain, "n_higher"),
        Column("lower", plain, "n_lower"),
        Column("direction", words, "direction"),
    ),
)


_CASE_FIELDS = {
    "case_id": "case_id", "change": "change", "severity": "severity",
    "before": "baseline_score", "after": "candidate_score", "delta": "delta",
    "status_before": "baseline_status", "status_after": "candidate_status",
    "must_have_lost": "must_have_lost", "must_have_gained": "must_have_gained",
    "reason": "reason",
}  # fmt: skip

_CASES = Table(
    columns=(
        Column("case", ident, "case_id"),
        Column("change", judged, "change"),
        Column("score", from_to, "before", "after"),
        Column("status", judged_from_to, "status_before", "status_after"),
        Column("must-have", must_have, "must_have_lost", "must_have_gained"),
    ),
    wide=(
        Column("points", points, "delta"),
        Column("severity", judged, "severity"),
        Column("reason", words, "reason"),
    ),
)
