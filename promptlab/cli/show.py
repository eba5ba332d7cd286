"""``promptlab show``: one task in the terminal."""

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
    from promptlab.contracts.analysis_result import AnalysisResult


@click.command("show", short_help="Show one task in the terminal.")
@click.argument("task", default="latest")
@common()
def command(call: Call, task: str) -> int:
    """Show one task: verdict, alerts, dimensions, cases that need a look.

    TASK is an id, a unique prefix of one, `latest` or `previous`. `--format json`
    prints the whole AnalysisResult, `--format csv` a line per case.
    """
    result = call.warehouse().result(task)
    if call.format == "json":
        print_json(result.as_json())
    elif call.format == "csv":
        dimensions = [d.dimension_id for d in result.dimensions]
        print_rows(
            ("case_id", "status", "must_have_pass", "aggregated_score", *dimensions),
            [
                (
                    case.case_id,
                    case.status,
                    case.must_have_pass,
                    case.aggregated_score,
                    *(case.dimension_scores[d] for d in dimensions),
                )
                for case in result.case_results
            ],
            "csv",
        )
    else:
        _print_for_people(result, wide=call.wide)
    return 0


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
    from reports.views.task import worst_first

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
