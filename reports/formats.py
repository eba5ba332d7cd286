"""The file formats of a task's report, and texts of comparisons and gates."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptlab.contracts.analysis_result import AnalysisResult, CaseResult
from promptlab.contracts.comparison import Comparison
from promptlab.contracts.gate import GateResult
from promptlab.reports.cases import first_broken, first_error, question
from promptlab.reports.gate.headline import next_step, next_step_as_code
from promptlab.reports.pages import (
    Links,
    environment,
    language_of,
    render,
    to_html,
)
from promptlab.reports.printing import Filters, clip, for_spreadsheet, visible
from promptlab.reports.report_options import ReportOptions
from promptlab.reports.texts import catalogue


def to_json(result: AnalysisResult) -> str:
    """Return *result* as JSON: keys in the contract's order, letters unescaped."""
    return result.as_json() + "\n"


MOST_BYTES = 60_000
_CASES_OF_TASK = (50, 25, 10, 5, 0)


def to_markdown(
    result: AnalysisResult, *, lang: str | None = None, templates: Path | None = None
) -> str:
    """Return a summary of *result* as Markdown, with untrusted texts escaped."""
    env = environment(lang or language_of(result), templates)
    for n_cases in _CASES_OF_TASK:
        page = render(env, "report.md.j2", result=result, n_cases=n_cases)
        if len(page.encode()) <= MOST_BYTES:
            break
    return page


MOST_DIFFERENCES = 20
"""Differences listed in the text of one failure."""


def to_junit(
    result: AnalysisResult, *, lang: str | None = None, templates: Path | None = None
) -> str:
    """Return the cases of *result* as JUnit XML."""
    lang = lang or language_of(result)
    cases = [_test_case(case, Filters(catalogue(lang))) for case in result.case_results]
    env = environment(lang, templates)
    return render(env, "junit.xml.j2", result=result, cases=cases)


def _test_case(case: CaseResult, filters: Filters) -> dict[str, Any]:
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
    return {
        "name": case.case_id,
        "seconds": _seconds(case),
        "status": case.status,
        "message": clip(message, 300),
        "lines": lines,
    }


def _seconds(case: CaseResult) -> str | None:
    times = [r.latency_ms for r in case.rounds if r.latency_ms is not None]
    if not times or len(times) < len(case.rounds):
        return None
    return f"{sum(times) / 1000:.3f}"


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
        _first_reason(case),
        " ".join(case.tags),
        question(case),
    ]


def _first_reason(case: CaseResult) -> str | None:
    """Return the first error, difference or failed assertion, as in JUnit XML."""
    if (error := first_error(case)) is not None:
        return error.error_code
    if case.differences:
        return case.differences[0].reason
    broken = first_broken(case)
    return None if broken is None else broken.reason or broken.name


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return value
    return for_spreadsheet(visible(value))


_CASES = (50, 25, 10, 0)
_SUBJECTS = 40
"""Maximum number of listed dimensions, and of tags."""


def comparison_markdown(comparison: Comparison) -> str:
    """Return *comparison* as Markdown of at most 60 KB."""
    env = environment(comparison.lang)
    changed = [c for c in comparison.cases if c.change != "same"]
    for most in _CASES:
        page = render(
            env,
            "comparison.md.j2",
            comparison=comparison,
            cases=changed[:most],
            n_more=comparison.counts.changed - len(changed[:most]),
            most=_SUBJECTS,
        )
        if len(page.encode()) <= MOST_BYTES:
            break
    return page


_STALE_DAYS = 4
"""Age of the base branch's last run from which the comment names it."""

_ROWS = 12
"""Rows of the table about several tasks; the comment has 25 lines at most."""


def gate_markdown(
    results: Sequence[GateResult], *, link: str | None = None, lang: str = "en"
) -> str:
    """Return *results*, the worst first, as the comment of a pull request.

    It is one table for all variants, at most 25 lines, with a *link* to the page.
    """
    broken = [result for result in results if result.advice]
    ages = [
        (result.created_at - result.last_run_at).days
        for result in results
        if result.last_run_at
    ]
    age = max(ages, default=0)
    return render(
        environment(lang),
        "gate.md.j2",
        results=results[:_ROWS],
        n_more=len(results) - len(results[:_ROWS]),
        titles=len({result.title for result in results}),
        next_step=next_step(broken[0]) if broken else None,
        next_step_as_code=next_step_as_code(broken[0]) if broken else None,
        link=link,
        age=age if age >= _STALE_DAYS else None,
    )


def gate_junit(results: Sequence[GateResult]) -> str:
    """Return *results* as JUnit XML: a suite per task, a test per rule.

    A rule that could not be judged is an error, because CI must not show it as passed.
    """
    return render(
        environment(results[0].lang),
        "gate.junit.xml.j2",
        suites=[(result, _counts([result])) for result in results],
        counts=_counts(results),
    )


def _counts(results: Sequence[GateResult]) -> dict[str, int]:
    verdicts = [rule.verdict for result in results for rule in result.rules]
    return {
        "all": len(verdicts),
        "fail": verdicts.count("fail"),
        "inconclusive": verdicts.count("inconclusive") + verdicts.count("check"),
        "skipped": verdicts.count("skipped"),
    }


# ---------- formats by name


@dataclass(frozen=True)
class Format:
    """One file format of a task's report."""

    file_name: str
    """File name in the task's folder: ``result.json``."""
    render: Callable[[AnalysisResult, ReportOptions, Links], bytes]
    lists_all: bool = False
    """If true, it lists the whole task, for programs; pages for people do not."""


def _eml(result: AnalysisResult, options: ReportOptions, _links: Links) -> bytes:
    from promptlab.reports.mail import Envelope, to_message

    return to_message(
        result,
        lang=options.lang,
        templates=options.templates,
        envelope=Envelope(report_url=options.report_url),
    ).as_bytes()


FORMATS: dict[str, Format] = {
    "json": Format(
        "result.json", lambda result, *_: to_json(result).encode(), lists_all=True
    ),
    "html": Format(
        "report.html",
        lambda result, options, links: to_html(
            result, lang=options.lang, templates=options.templates, links=links
        ).encode(),
    ),
    "email": Format("report.eml", _eml),
    "md": Format(
        "report.md",
        lambda result, options, *_: to_markdown(
            result, lang=options.lang, templates=options.templates
        ).encode(),
    ),
    "junit": Format(
        "junit.xml",
        lambda result, options, *_: to_junit(
            result, lang=options.lang, templates=options.templates
        ).encode(),
        lists_all=True,
    ),
    "csv": Format(
        "cases.csv", lambda result, *_: to_csv(result).encode(), lists_all=True
    ),
}
