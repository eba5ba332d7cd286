"""``report.html``: the full report, one self-contained page."""

from __future__ import annotations

from promptlab.contracts.analysis_result import AnalysisResult
from promptlab.reports.edition import Edition
from promptlab.reports.formats.base import Format, Surroundings
from promptlab.reports.pages.render import to_html


def _render(result: AnalysisResult, edition: Edition, around: Surroundings) -> bytes:
    return to_html(
        result,
        lang=edition.lang,
        templates=edition.templates,
        links=around.links,
    ).encode()


FORMAT = Format("html", "report.html", _render)
