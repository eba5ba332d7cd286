"""``promptlab show``: show tasks in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from promptlab.cli.cells import ident, interval, judged, plain, score, target, words
from promptlab.cli.language import spoken
from promptlab.cli.options import Call, common
from promptlab.cli.output import (
    Column,
    Table,
    print_headline,
    print_json,
    print_objects,
    print_rows,
    print_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlab.contracts.analysis_result import AnalysisResult


@click.command("show", short_help="Show one task in the terminal.")
@click.argument("task", metavar="[RUN]", default="latest")
@common()
def command(call: Call, task: str) -> int:
    """Show tasks: verdict, alerts, dimensions, the most important cases.

    RUN is the id of a run or a task, a `--run-name`, a title, a file or folder that was
    loaded, `previous`, or `latest`: what was loaded last. `--format json` prints the
    whole AnalysisResult (of several tasks a list), `--format csv` a line per case.
    """
    from promptlab.task_ids import selected_tasks

    warehouse = call.warehouse()
    with warehouse.built() as con:
        task_ids = selected_tasks(con, task)
    results = [warehouse.result(task_id) for task_id in task_ids]
    if call.format == "json":
        texts = [result.as_json() for result in results]
        print_json(texts[0] if len(texts) == 1 else f"[{','.join(texts)}]")
    elif call.format == "csv":
        _print_cases(results)
    else:
        for result in results:
            _print_for_people(result, wide=call.wide)
    return 0


def _print_cases(results: Sequence[AnalysisResult]) -> None:
    """Print a line per case; with several tasks, each line starts with its task."""
    several = len(results) > 1
    dimensions = list(
        dict.fromkeys(d.dimension_id for result in results for d in result.dimensions)
    )
    names = ("case_id", "status", "must_have_pass", "aggregated_score", *dimensions)
    print_rows(
        (*(["task_id"] if several else []), *names),
        [
            (
                *([result.task.task_id] if several else []),
                case.case_id,
                case.status,
                case.must_have_pass,
                case.aggregated_score,
                *(case.dimension_scores.get(d) for d in dimensions),
            )
            for result in results
            for case in result.case_results
        ],
        "csv",
    )


_DIMENSIONS = Table(
    columns=(
        Column("dimension", plain, "name"),
        Column("score", score, "score"),
        Column("95% interval", interval, "ci_low", "ci_high"),
        Column("target", target, "target_status"),
        Column("weight", plain, "weight"),
        Column("cases", plain, "n_cases"),
    ),
    wide=(
        Column("id", ident, "dimension_id"),
        Column("diagnosis", plain, "diagnosis"),
    ),
)

_CASES = Table(
    columns=(
        Column("case", ident, "case_id"),
        Column("status", judged, "status"),
        Column("score", score, "score"),
        Column("differs at", plain, "pointer"),
        Column("reason", words, "reason"),
    ),
)


_MOST_CASES = 30


def _print_for_people(result: AnalysisResult, *, wide: bool) -> None:
    from promptlab.reports.views import worst_first

    task, summary = result.task, result.summary
    if result.gate is not None:
        print_headline(result.gate)
    print_text(f"{task.title}  {task.task_id}  {task.prompt_version}  {task.model}")
    print_text(summary.conclusion)
    for alert in summary.alerts:
        sign = judged(alert.severity)
        print_text(
            alert.message,
            lead=spoken("  {severity}: ", severity=sign.text),
            lead_style=sign.style,
        )
    click.echo()
    names = ("dimension_id", "name", "score", "ci_low", "ci_high", "target_status",
             "weight", "n_cases", "diagnosis")  # fmt: skip
    print_objects(result.dimensions, names, "table", _DIMENSIONS, wide=wide)
    bad = [c for c in worst_first(result.case_results) if c.status != "pass"]
    shown = bad if wide else bad[:_MOST_CASES]
    if bad:
        click.echo()
        print_rows(
            ("case_id", "status", "score", "pointer", "reason"),
            [
                (
                    case.case_id,
                    case.status,
                    case.aggregated_score,
                    case.differences[0].pointer if case.differences else None,
                    case.differences[0].reason if case.differences else None,
                )
                for case in shown
            ],
            "table",
            _CASES,
            wide=wide,
        )
    if shown != bad:
        more = len(bad) - len(shown)
        print_text(spoken("{n} more that did not pass: --wide lists them", n=more))
