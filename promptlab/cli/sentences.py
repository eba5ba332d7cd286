"""``promptlab sentences``: the codes and facts of the marts as sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from promptlab.cli.cells import ident, plain, words
from promptlab.cli.options import Call, common
from promptlab.cli.output import Column, Table, print_rows

if TYPE_CHECKING:
    from promptlab.contracts.analysis_result import AnalysisResult

MARTS = (
    "fct_task_summaries",
    "fct_alerts",
    "fct_dimension_scores",
    "fct_evidence",
    "fct_match_results",
    "fct_task_comparisons",
    "fct_tag_comparisons",
    "fct_comparison_notes",
)
"""Marts with a sentence per row, in the order of the output."""

_NAMES = ("mart", "subject", "case_id", "round_id", "code", "sentence")

_Line = tuple[str, str | None, str | None, str | None, str | None, str]

_SENTENCES = Table(
    columns=(
        Column("about", ident, "subject"),
        Column("case", ident, "case_id"),
        Column("code", words, "code"),
        Column("sentence", plain, "sentence"),
    ),
    wide=(Column("round", ident, "round_id"),),
    by=("mart",),
)


@click.command("sentences", short_help="Print the sentences about a task.")
@click.argument("task", default="latest")
@click.option("--mart", type=click.Choice(MARTS), help="Only the rows of this mart.")
@common()
def command(call: Call, task: str, mart: str | None) -> int:
    """Print a sentence for every alert, note and diagnosis of a task in the marts.

    Marts contain codes and facts; reports turn them into these sentences. TASK
    is an id, a unique prefix of one, `latest` or `previous`. The subject of a line is
    a dimension, a tag, a scope, or the place of an alert or note in its list.
    """
    result = call.warehouse().result(task)
    lines = [line for line in _lines(result) if mart in (None, line[0])]
    print_rows(_NAMES, lines, call.format, _SENTENCES, wide=call.wide)
    return 0


def _lines(result: AnalysisResult) -> Iterator[_Line]:
    summary = result.summary
    grade = summary.grade
    yield "fct_task_summaries", None, None, None, grade, summary.conclusion
    for place, alert in enumerate(summary.alerts, 1):
        yield "fct_alerts", str(place), None, None, alert.code, alert.message
    for dimension in result.dimensions:
        of = dimension.dimension_id
        yield "fct_dimension_scores", of, None, None, None, dimension.diagnosis
        for each in dimension.contributions:
            yield "fct_evidence", of, each.case_id, each.round_id, None, each.summary
    for case in result.case_results:
        for scope in case.scopes:
            of = scope.step_id or scope.scope
            where = case.case_id, scope.round_id
            yield "fct_match_results", of, *where, scope.status, scope.details
    comparison = result.comparison
    if comparison is None:
        return
    for score in (comparison.overall, *comparison.dimensions):
        told = score.verdict, score.conclusion
        yield "fct_task_comparisons", score.subject, None, None, *told
    for tag in comparison.tags:
        told = tag.verdict, tag.conclusion
        yield "fct_tag_comparisons", tag.subject, None, None, *told
    for place, note in enumerate(comparison.notes, 1):
        yield "fct_comparison_notes", str(place), None, None, None, note
