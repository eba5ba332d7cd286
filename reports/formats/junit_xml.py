"""``junit.xml``: the cases as tests, for continuous integration.

A failed case is a failure, an error case an error, an unevaluated one skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from promptlab.contracts.analysis_result import AnalysisResult, CaseResult
from promptlab.reports.edition import Edition
from promptlab.reports.formats.base import Format, Surroundings
from promptlab.reports.pages.render import environment, language_of, render
from promptlab.reports.printing.filters import Filters
from promptlab.reports.printing.visible import clip
from promptlab.reports.texts.catalogue import catalogue
from promptlab.reports.views.cases import first_error

MOST_DIFFERENCES = 20
"""Differences listed in the text of one failure."""


@dataclass(frozen=True)
class JunitCase:
    """One case as a test."""

    name: str
    seconds: str | None
    """Time of its rounds; ``None`` if one was not measured."""
    status: str
    message: str
    lines: list[str]


def to_junit(
    result: AnalysisResult, *, lang: str | None = None, templates: Path | None = None
) -> str:
    """Return the cases of *result* as JUnit XML."""
    lang = lang or language_of(result)
    cases = [_test_case(case, Filters(catalogue(lang))) for case in result.case_results]
    env = environment(lang, templates)
    return render(env, "junit.xml.j2", result=result, cases=cases)


def _test_case(case: CaseResult, filters: Filters) -> JunitCase:
    lines = [filters.sentence(d) for d in case.differences[:MOST_DIFFERENCES]]
    broken = [a for a in case.assertions if a.status == "fail"]
    lines += [filters.asserted(a) for a in broken[: MOST_DIFFERENCES - len(lines)]]
    error = first_error(case)
    if error is not None:
        message = error.error_code or ""
    elif lines:
        message = lines[0]
    else:
        message = next((e.summary for e in case.evidences), "")
    return JunitCase(
        name=case.case_id,
        seconds=_seconds(case),
        status=case.status,
        message=clip(message, 300),
        lines=lines,
    )


def _seconds(case: CaseResult) -> str | None:
    times = [r.latency_ms for r in case.rounds if r.latency_ms is not None]
    if not times or len(times) < len(case.rounds):
        return None
    return f"{sum(times) / 1000:.3f}"


def _render(result: AnalysisResult, edition: Edition, around: Surroundings) -> bytes:
    return to_junit(result, lang=edition.lang, templates=edition.templates).encode()


FORMAT = Format("junit", "junit.xml", _render, lists_all=True)
