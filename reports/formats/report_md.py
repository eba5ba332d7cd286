"""``report.md``: a summary for a step of continuous integration, at most 60 KB."""

from __future__ import annotations

from pathlib import Path

from promptlab.contracts.analysis_result import AnalysisResult
from promptlab.reports.edition import Edition
from promptlab.reports.formats.base import Format, Surroundings
from promptlab.reports.limits import SHOWN, ListLimits
from promptlab.reports.pages.render import environment, language_of, render
from promptlab.reports.views.task import arrange

MOST_BYTES = 60_000
_CASES = (50, 25, 10, 5, 0)


def to_markdown(
    result: AnalysisResult, *, lang: str | None = None, templates: Path | None = None
) -> str:
    """Return a summary of *result* as Markdown, with untrusted texts escaped."""
    env = environment(lang or language_of(result), templates)
    for cases in _CASES:
        limits = ListLimits(cases=cases, rounds=SHOWN.rounds, checks=SHOWN.checks)
        view = arrange(result, limits)
        page = render(env, "report.md.j2", result=result, view=view)
        if len(page.encode()) <= MOST_BYTES:
            break
    return page


def _render(result: AnalysisResult, edition: Edition, around: Surroundings) -> bytes:
    text = to_markdown(result, lang=edition.lang, templates=edition.templates)
    return text.encode()


FORMAT = Format("md", "report.md", _render)
