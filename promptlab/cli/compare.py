"""``promptlab compare``: one task against another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from promptlab.cli.options import Call, common

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlab.contracts.comparison import (
        CaseChange,
        ComparedTask,
        Comparison,
        ScoreComparison,
    )

EXIT_CODES = {
    "improved": 0,
    "no_reliable_change": 0,
    "regressed": 1,
    "inconclusive": 4,
    "not_comparable": 4,
}
SHOWN = 20

_SOURCES = {
    "named": "the baseline that was named",
    "previous": "the task of this title before it",
    "requested": "as requested",
}


@click.command("compare", short_help="Two tasks case by case, and is it real?")
@click.argument("tasks", nargs=-1, metavar="[[BASELINE] CANDIDATE]")
@click.option("--lang", type=click.Choice(("zh", "en")), help="Language of sentences.")
@click.option(
    "--cases",
    type=click.IntRange(min=0),
    default=SHOWN,
    show_default=True,
    help="Changed cases that a table or Markdown lists.",
)
@click.option("--allow-inconclusive", is_flag=True, help="Exit 0 where it would be 4.")
@common("lang", formats=("table", "json", "csv", "md"))
def command(
    call: Call,
    tasks: tuple[str, ...],
    lang: str,
    cases: int,
    allow_inconclusive: bool,
) -> int:
    """Compare two tasks case by case: better, worse, and whether it is real.

    BASELINE and CANDIDATE are ids, unique prefixes, or `latest`, `previous`,
    `baseline`; `previous` and `baseline` are those of the candidate. CANDIDATE alone is
    compared with its baseline, and without any the latest task is. `--format json`
    prints the whole comparison, `--format csv` a line per case.

    Exits 1 if the overall score regressed or a must-have was lost, 4 if nothing can be
    concluded.
    """
    from promptlab.errors import UsageError
    from promptlab.history import compare
    from promptlab.pipeline import Warehouse

    if len(tasks) > 2:
        raise UsageError(f"compare: takes two tasks, found {len(tasks)}")
    candidate = tasks[-1] if tasks else "latest"
    baseline = tasks[0] if len(tasks) == 2 else "baseline"
    comparison = compare(
        Warehouse(call.settings.db, settings=call.settings),
        baseline,
        candidate,
        lang=lang,
        cases=None if call.format in ("json", "csv") else cases,
        say=call.say,
    )
    _print(comparison, call.format)
    code = 1 if comparison.counts.must_have_lost else EXIT_CODES[comparison.verdict]
    return 0 if code == 4 and allow_inconclusive else code


def _print(comparison: Comparison, form: str) -> None:
    from promptlab.cli.output import print_rows
    from reports.comparison_report import comparison_markdown

    if form == "json":
        click.echo(comparison.model_dump_json(indent=2))
    elif form == "csv":
        print_rows(_CASE_COLUMNS, [_case(c) for c in comparison.cases], "csv")
    elif form == "md":
        click.echo(comparison_markdown(comparison), nl=False)
    else:
        _print_for_people(comparison)


def _print_for_people(comparison: Comparison) -> None:
    from promptlab.cli.output import print_rows

    counts = comparison.counts
    _print_task("baseline ", comparison.baseline, _SOURCES[comparison.pair_source])
    _print_task("candidate", comparison.candidate)
    click.echo(comparison.conclusion)
    for note in comparison.notes:
        click.echo(f"  {note}")
    click.echo(
        f"cases: {counts.better} better, {counts.worse} worse, {counts.same} same,"
        f" {counts.added} added, {counts.removed} removed,"
        f" {counts.not_comparable} not comparable;"
        f" {counts.newly_failing} newly failing, {counts.newly_fixed} newly fixed;"
        f" must-haves: {counts.must_have_lost} lost, {counts.must_have_gained} gained"
    )
    print_rows(
        ("dimension", *_SCORE_COLUMNS),
        [_score(s) for s in (comparison.overall, *comparison.dimensions)],
        "table",
    )
    if comparison.tags:
        print_rows(
            ("tag", *_SCORE_COLUMNS), [_score(s) for s in comparison.tags], "table"
        )
    changed = [c for c in comparison.cases if c.change != "same"]
    if changed:
        print_rows(_CASE_COLUMNS, [_case(c) for c in changed], "table")


def _print_task(side: str, task: ComparedTask, why: str | None = None) -> None:
    click.echo(
        f"{side}  {task.task_id}  {task.prompt_version}  {task.model}"
        f"  {task.created_at:%Y-%m-%d %H:%M}{f'  ({why})' if why else ''}"
    )


_SCORE_COLUMNS = (
    "before", "after", "delta", "low", "high", "p", "adjusted p", "pairs",
    "passes lost", "gained", "McNemar p", "detectable", "verdict",
)  # fmt: skip


def _score(score: ScoreComparison) -> Sequence[object]:
    return (
        score.name or score.subject,
        score.baseline_score,
        score.candidate_score,
        score.delta,
        score.ci_low,
        score.ci_high,
        score.p_value,
        score.p_adjusted,
        score.n_pairs,
        score.n_lost,
        score.n_gained,
        score.mcnemar_p,
        score.smallest_detectable,
        score.verdict,
    )


_CASE_COLUMNS = (
    "case_id", "change", "severity", "before", "after", "delta", "status_before",
    "status_after", "must_have_lost", "must_have_gained", "reason",
)  # fmt: skip


def _case(case: CaseChange) -> Sequence[object]:
    return (
        case.case_id,
        case.change,
        case.severity,
        case.baseline_score,
        case.candidate_score,
        case.delta,
        case.baseline_status,
        case.candidate_status,
        case.must_have_lost,
        case.must_have_gained,
        case.reason,
    )
