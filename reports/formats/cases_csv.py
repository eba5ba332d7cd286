"""``cases.csv``: a row per case, for a spreadsheet; scores 0–1, missing ones empty."""

from __future__ import annotations

import csv
import io
from typing import Any

from promptlab.contracts.analysis_result import AnalysisResult, CaseResult
from promptlab.reports.edition import Edition
from promptlab.reports.formats.base import Format, Surroundings
from promptlab.reports.printing.visible import for_spreadsheet, visible
from promptlab.reports.views.cases import question

_BOM = "\ufeff"  # without a BOM, Excel does not read UTF-8


def to_csv(result: AnalysisResult) -> str:
    """Return the cases of *result* as CSV, with formulas escaped."""
    dimensions = [dimension.dimension_id for dimension in result.dimensions]
    out = io.StringIO(newline="")
    table = csv.writer(out)
    table.writerow(
        _cell(name)
        for name in (
            "case_id",
            "status",
            "must_have_pass",
            "aggregated_score",
            *(f"score.{dimension}" for dimension in dimensions),
            "n_rounds",
            "n_rounds_passed",
            "n_differences",
            "first_reason",
            "tags",
            "question",
        )
    )
    for case in result.case_results:
        table.writerow(_cell(value) for value in _row(case, dimensions))
    return _BOM + out.getvalue()


def _row(case: CaseResult, dimensions: list[str]) -> list[Any]:
    return [
        case.case_id,
        case.status,
        case.must_have_pass,
        case.aggregated_score,
        *(case.dimension_scores.get(dimension) for dimension in dimensions),
        case.n_rounds,
        case.n_rounds_passed,
        case.n_differences,
        next((d.reason for d in case.differences), None),
        " ".join(case.tags),
        question(case.context) or question(case.inputs),
    ]


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return value
    return for_spreadsheet(visible(value))


def _render(result: AnalysisResult, edition: Edition, around: Surroundings) -> bytes:
    return to_csv(result).encode()


FORMAT = Format("csv", "cases.csv", _render, lists_all=True)
