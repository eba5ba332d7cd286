"""The content of a mail about a task: the worst entries, and the number of others.

Like ``views.task``, which it builds on, it selects and sorts. It only computes the
widths of bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptlab.contracts.analysis_result import AnalysisResult, CaseResult, Severity
from promptlab.contracts.comparison import CaseChange, Comparison, ScoreComparison
from promptlab.reports.charts.trend_png import Trend
from promptlab.reports.limits import ListLimits
from promptlab.reports.printing.filters import Filters
from promptlab.reports.printing.visible import TextPiece, clip, highlighted, visible
from promptlab.reports.queries.history import PastRun
from promptlab.reports.views.pieces import AlertView, CaseView, DimensionView, View
from promptlab.reports.views.task import arrange

BAR = 96
"""Width of a dimension's bar, pixels."""

_SNIPPET = 160  # characters
_LINES = 6
_RUNS_WITH_PICTURE = 5
_RUNS_WITHOUT = 10
_TICK = 2  # pixels


@dataclass(frozen=True)
class MailLimits:
    """The maximum lengths of a mail's lists."""

    alerts: int = 8
    dimensions: int = 8
    cases: int = 10
    changes: int = 5


LIMITS = (
    MailLimits(),
    MailLimits(cases=5),
    MailLimits(alerts=5, dimensions=6, cases=3, changes=3),
    MailLimits(alerts=3, dimensions=4, cases=1, changes=1),
    MailLimits(alerts=1, dimensions=1, cases=0, changes=0),
)
"""Tried in this order until the mail is small enough."""


@dataclass(frozen=True)
class Proof:
    """The reasons for a bad case."""

    heading: str
    """A place and the error there."""
    expected: list[TextPiece] | None
    actual: list[TextPiece] | None
    snippet: list[TextPiece]


@dataclass(frozen=True)
class MailCase:
    """One of the worst cases."""

    view: CaseView
    question: str | None
    proof: Proof | None
    change: CaseChange | None
    """Its change against the baseline, if known."""


@dataclass(frozen=True)
class BarPiece:
    """A piece of a bar: ``fill``, ``track`` or ``tick``, and its width in pixels."""

    kind: str
    width: int


@dataclass(frozen=True)
class MailDimension:
    """One row of the dimensions."""

    view: DimensionView
    cells: list[BarPiece]
    change: ScoreComparison | None
    """Its change against the baseline, if compared."""


@dataclass(frozen=True)
class TrendStep:
    """One run in the table of the trend."""

    run: PastRun
    is_this: bool
    is_baseline: bool


@dataclass(frozen=True)
class MailView:
    """The mail."""

    page: View
    alerts: list[tuple[Severity, AlertView]]
    n_alerts_more: int
    dimensions: list[MailDimension]
    n_dimensions_more: int
    cases: list[MailCase]
    n_bad: int
    """Failed and error cases."""
    n_cases_more: int
    """Failed and error cases that are not listed."""
    comparison: Comparison | None
    changes: list[CaseChange]
    """Clear drops and lost must-haves of cases that are not listed above."""
    n_changes_more: int
    trend: Trend | None
    """The text for the picture, if there is one."""
    steps: list[TrendStep]
    """Runs of the title, newest first."""
    n_steps_more: int


def arrange_mail(
    result: AnalysisResult,
    filters: Filters,
    *,
    history: Sequence[PastRun] = (),
    picture: Trend | None = None,
    limits: MailLimits = LIMITS[0],
) -> MailView:
    """Return the content of a mail about *result*.

    Args:
        result: The task; a cut ``case_results`` is fine, the worst cases first.
        filters: Format values.
        history: Runs of the title up to this task, oldest first.
        picture: The trend, if it could be drawn.
        limits: Limits of the lists.
    """
    comparison = result.comparison
    page = arrange(
        result, ListLimits(cases=limits.cases, rounds=1, checks=1, changes=0)
    )
    alerts = [(severity, a) for severity, group in page.alerts for a in group]
    bad = [
        case
        for group in page.case_groups
        if group.status in ("fail", "error")
        for case in group.cases
    ]
    n_bad = result.summary.n_fail + result.summary.n_error
    by_case = {c.case_id: c for c in comparison.cases} if comparison else {}
    listed = {case.case.case_id for case in bad}
    worse = [c for c in by_case.values() if c.must_have_lost or c.change == "worse"]
    grave = [c for c in worse if c.severity and c.case_id not in listed]
    shown = grave[: limits.changes]
    n_told = len(shown) + sum(c.case_id in listed for c in worse)
    steps = _steps(result, history, comparison, pictured=picture is not None)
    by_dimension = {d.subject: d for d in comparison.dimensions} if comparison else {}
    return MailView(
        page=page,
        alerts=alerts[: limits.alerts],
        n_alerts_more=len(result.summary.alerts) - len(alerts[: limits.alerts]),
        dimensions=[
            MailDimension(
                view, bar_cells(view), by_dimension.get(view.dimension.dimension_id)
            )
            for view in page.dimensions[: limits.dimensions]
        ],
        n_dimensions_more=max(0, len(result.dimensions) - limits.dimensions),
        cases=[_case(c, by_case.get(c.case.case_id), filters) for c in bad],
        n_bad=n_bad,
        n_cases_more=n_bad - len(bad),
        comparison=comparison,
        changes=shown,
        n_changes_more=max(0, comparison.counts.worse - n_told) if comparison else 0,
        trend=picture,
        steps=steps,
        n_steps_more=steps[-1].run.number - 1 if steps else 0,
    )


def bar_cells(view: DimensionView, width: int = BAR) -> list[BarPiece]:
    """Return a dimension's bar as table cells whose widths add up to *width*."""
    fill = _pixels(view.bar.fill, width)
    cells = [("fill", 0, fill), ("track", fill, width)]
    if view.bar.mark is not None:
        tick = min(_pixels(view.bar.mark, width), width - _TICK)
        cells = [
            ("fill", 0, min(fill, tick)),
            ("track", min(fill, tick), tick),
            ("tick", tick, tick + _TICK),
            ("fill", tick + _TICK, fill),
            ("track", max(fill, tick + _TICK), width),
        ]
    return [BarPiece(kind, end - start) for kind, start, end in cells if end > start]


def _pixels(hundredths: float | None, width: int) -> int:
    if not hundredths:
        return 0
    return max(1, round(hundredths * width / 100))  # a score above 0 is visible


def _steps(
    result: AnalysisResult,
    history: Sequence[PastRun],
    comparison: Comparison | None,
    *,
    pictured: bool,
) -> list[TrendStep]:
    most = _RUNS_WITH_PICTURE if pictured else _RUNS_WITHOUT
    return [
        TrendStep(
            run,
            run.task_id == result.task.task_id,
            comparison is not None and run.task_id == comparison.baseline.task_id,
        )
        for run in history[::-1][:most]
    ]


def _case(view: CaseView, change: CaseChange | None, filters: Filters) -> MailCase:
    asked = None if view.question is None else " ".join(view.question.split())
    return MailCase(view, asked, _proof(view.case, view, filters), change)


def _proof(case: CaseResult, view: CaseView, filters: Filters) -> Proof | None:
    """Return the first reason: a check, else an error, else evidence."""
    label, text = filters.label, filters.catalogue.text
    if view.first_error is not None:
        code = view.first_error.error_code
        shown = filters.value(code) if code is None else label(code, "error_code")
        return Proof(text("case.error", code=clip(shown, 80)), None, None, [])
    if case.differences:
        found = case.differences[0]
        reason, place = label(found.reason, "reason"), clip(filters.place(found), 90)
        return Proof(
            text("case.difference", reason=reason, pointer=place),
            _side(found.expected, found.actual, filters),
            _side(found.actual, found.expected, filters),
            [],
        )
    if view.first_broken is not None:
        broken = view.first_broken
        answers = {each.round_id: each.answer for each in case.rounds}
        answer = answers.get(broken.round_id)
        return Proof(
            clip(filters.asserted(broken), _SNIPPET),
            None
            if broken.expected is None
            else _side(broken.expected, answer, filters),
            None
            if answer is None
            else _short(highlighted(answer, None, limit=_SNIPPET)),
            [],
        )
    if view.first_evidence is not None:
        evidence = view.first_evidence
        payload = evidence.payload
        expected, actual = payload.get("expected"), payload.get("actual")
        compared = expected is not None or actual is not None
        snippet = payload.get("snippet")
        return Proof(
            clip(evidence.summary, _SNIPPET),
            None if expected is None else _side(expected, actual, filters),
            _side(actual, expected, filters) if compared else None,
            []
            if compared or not isinstance(snippet, str)
            else _short(highlighted(snippet, payload.get("offsets"), limit=_SNIPPET)),
        )
    return None


def _side(value: object, beside: object, filters: Filters) -> list[TextPiece]:
    """Return an expected or actual value, next to the other one."""
    shown = filters.json_value(value, beside)
    return _short(highlighted(shown, None, limit=_SNIPPET))


def _short(parts: list[TextPiece]) -> list[TextPiece]:
    """Keep at most six lines; use non-breaking spaces where HTML would drop them."""
    kept, lines = [], 1
    for part in parts:
        text = part.text
        pieces = text.split("\n")[: _LINES - lines + 1]
        if len(pieces) <= text.count("\n"):
            kept.append(TextPiece("\n".join(pieces) + "…", part.code, part.marked))
            break
        lines += text.count("\n")
        kept.append(TextPiece(_blanks(text), part.code, part.marked))
    return kept


def _blanks(text: str) -> str:
    return text.replace("\t", "    ").replace("  ", "\u00a0 ")


def one_line(text: object, most: int) -> str:
    """Return *text* on one line, hidden characters named, at most *most* long."""
    return clip(" ".join(visible(text).split()), most)
