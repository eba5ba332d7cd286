"""``report.html``: the full report, one self-contained page."""

from __future__ import annotations

from promptlab.contracts.analysis_result import AnalysisResult
from reports.formats.base import Format, Options
from reports.pages.render import to_html


def _render(result: AnalysisResult, options: Options) -> bytes:
    return to_html(
        result,
        lang=options.lang,
        templates=options.templates,
        links=options.links,
    ).encode()


FORMAT = Format("html", "report.html", _render)
