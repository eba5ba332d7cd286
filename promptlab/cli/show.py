"""``promptlab show``: one task in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from promptlab.cli.options import Call, common

if TYPE_CHECKING:
    from promptlab.contracts.analysis_result import AnalysisResult


@click.command("show", short_help="Show one task in the terminal.")
@click.argument("task", default="latest")
@click.option("--lang", type=click.Choice(("zh", "en")), help="Language of sentences.")
@common("lang")
def command(call: Call, task: str, lang: str) -> int:
    """Show one task: verdict, alerts, dimensions, cases that need a look.

    TASK is an id, a unique prefix of one, `latest` or `previous`. `--format json`
    prints the whole AnalysisResult, `--format csv` a line per case.
    """
    from promptlab.cli.output import print_rows
    from promptlab.pipeline import Warehouse

    result = Warehouse(call.settings.db, settings=call.settings).result(task, lang=lang)
    if call.format == "json":
        click.echo(result.model_dump_json(indent=2))
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
        _print_for_people(result)
    return 0


def _print_for_people(result: AnalysisResult) -> None:
    from promptlab.cli.output import print_rows

    task, summary = result.task, result.summary
    click.echo(f"{task.title}  {task.task_id}  {task.prompt_version}  {task.model}")
    click.echo(summary.conclusion)
    for alert in summary.alerts:
        click.echo(f"  {alert.severity}: {alert.message}")
    print_rows(
        ("dimension", "score", "low", "high", "weight", "cases", "diagnosis"),
        [
            (d.name, d.score, d.ci_low, d.ci_high, d.weight, d.n_cases, d.diagnosis)
            for d in result.dimensions
        ],
        "table",
    )
    bad = [c for c in result.case_results if c.status != "pass"]
    print_rows(
        ("case", "status", "score", "differs at", "reason"),
        [
            (
                case.case_id,
                case.status,
                case.aggregated_score,
                case.differences[0].pointer if case.differences else None,
                case.differences[0].reason if case.differences else None,
            )
            for case in bad
        ],
        "table",
    )
