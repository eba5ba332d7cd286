"""``result.json``: the AnalysisResult, whole."""

from __future__ import annotations

from promptlab.contracts.analysis_result import AnalysisResult
from promptlab.reports.edition import Edition
from promptlab.reports.formats.base import Format, Surroundings


def to_json(result: AnalysisResult) -> str:
    """Return *result* as JSON: keys in the contract's order, letters unescaped."""
    return result.as_json() + "\n"


def _render(result: AnalysisResult, edition: Edition, around: Surroundings) -> bytes:
    return to_json(result).encode()


FORMAT = Format("json", "result.json", _render, lists_all=True)
