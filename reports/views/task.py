"""View of an AnalysisResult: sorted, grouped, cut and counted.

The step between numbers and template: it selects and sorts, so that the template only
loops. It computes no score; every number on the page is in the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, get_args

from pydantic import ValidationError

from promptlab.contracts.analysis_result import (
    AlertItem,
    AnalysisResult,
    CaseResult,
    DimensionResult,
    EvidenceLink,
    Provenance,
    Severity,
    Status,
)
from promptlab.contracts.comparison import CaseChange
from promptlab.reports.charts.histogram import histogram
from promptlab.reports.files import folder_name
from promptlab.reports.limits import SHOWN, ListLimits
from promptlab.reports.printing.filters import json_text
from promptlab.reports.printing.visible import bare, highlighted
from promptlab.reports.views.cases import STATUS_ORDER, case_view, fields, prompt_view
from promptlab.reports.views.changes import arrange_changes
from promptlab.reports.views.headline import headline_view
from promptlab.reports.views.pieces import (
    AlertView,
    Bar,
    CaseGroup,
    CaseRef,
    CaseView,
    DimensionView,
    EvidenceView,
    Facets,
    Field,
    Segment,
    View,
)

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
_BAR_ORDER: tuple[Status, ...] = ("pass", "fail", "error", "unevaluated")

_FEW_CASES = 20
MOST_ALERTS = 100
MOST_DIMENSIONS = 60
MOST_IDS = 20
MOST_TAGS = 40
"""Maximum number of tags in the filter."""
MOST_EVIDENCE = 10

_TARGET_ORDER = {"missed": 0, "unknown": 1, "met": 2, "none": 2}
_SHARES = ("min_score", "max_score")


def arrange(result: AnalysisResult, limits: ListLimits = SHOWN) -> View:
    """Return the view of *result*."""
    summary = result.summary
    listed = worst_first(result.case_results)[: limits.cases]
    anchors = {case.case_id: case_anchor(case.case_id) for case in listed}
    names = {d.dimension_id: d.name for d in result.dimensions}
    counted = Counter(tag for case in listed for tag in dict.fromkeys(case.tags))
    tags = [tag for tag, _ in counted.most_common(MOST_TAGS)]
    compared = result.comparison.cases if result.comparison else []
    # other tools may measure different things per case
    optional = {d.dimension_id for d in result.dimensions if d.scorer == "reported"}
    page = _Page(
        anchors, names, limits, {c.case_id: c for c in compared}, tags, optional
    )
    dimensions = sorted(result.dimensions, key=_dimension_rank)
    extras = dict(result.extras)
    provenance = _provenance(extras.pop("promptlab", None))
    return View(
        headline=None if result.gate is None else headline_view(result.gate, page.ref),
        is_graded=provenance is None or provenance.source_kind == "analysis",
        bar=bar(summary.overall_score, summary.ci_low, summary.ci_high),
        n_judged=summary.n_pass + summary.n_fail + summary.n_error,
        has_must_haves=any(
            case.must_have_pass is not None or case.reported_must_have_pass is not None
            for case in result.case_results
        ),
        segments=_segments(counts(result)),
        changes=None
        if result.comparison is None
        else arrange_changes(
            result.comparison, most=limits.changes, ref=page.ref, names=names
        ),
        alerts=page.alerts(summary.alerts[:MOST_ALERTS]),
        n_alerts_more=max(0, len(summary.alerts) - MOST_ALERTS),
        dimensions=[page.dimension(d) for d in dimensions[:MOST_DIMENSIONS]],
        n_dimensions_more=max(0, len(dimensions) - MOST_DIMENSIONS),
        case_groups=page.case_groups(listed, counts(result)),
        facets=Facets(tags, list(names.values())),
        n_cases_listed=len(listed),
        n_cases_more=summary.n_cases - len(listed),
        is_short=limits.is_short,
        prompt=prompt_view(result.prompt),
        provenance=provenance,
        env=fields(result.task.env),
        extras=fields(extras),
    )


def worst_first(cases: Iterable[CaseResult]) -> list[CaseResult]:
    """Sort cases for reading: by status, then by score, lowest and missing first."""

    def rank(case: CaseResult) -> tuple[int, float]:
        score = case.aggregated_score
        return STATUS_ORDER.index(case.status), -1 if score is None else score

    return sorted(cases, key=rank)


def counts(result: AnalysisResult) -> dict[Status, int]:
    """Return the number of cases of each status, in the order of the page."""
    s = result.summary
    numbers = (s.n_fail, s.n_error, s.n_unevaluated, s.n_pass)
    return dict(zip(STATUS_ORDER, numbers, strict=True))


def case_anchor(case_id: str) -> str:
    """Return the anchor of a case on every page that lists it: `#case-<id>`."""
    return f"case-{folder_name(case_id)}"


def bar(
    score: float | None,
    low: float | None = None,
    high: float | None = None,
    mark: float | None = None,
) -> Bar:
    """Return the drawing of a score with its interval and target, all 0–1."""

    def at(share: float | None) -> float | None:
        return None if share is None else round(100 * share, 2)

    if low is None or high is None:
        return Bar(at(score), None, None, at(mark))
    return Bar(at(score), at(low), at(high - low), at(mark))


@dataclass(frozen=True)
class _Page:
    """State shared by the parts of a page."""

    anchors: dict[str, str]
    names: dict[str, str]
    limits: ListLimits
    changes: dict[str, CaseChange]
    tags: list[str]
    optional: set[str]

    def ref(self, case_id: str) -> CaseRef:
        return CaseRef(case_id, self.anchors.get(case_id))

    def alerts(
        self, alerts: Sequence[AlertItem]
    ) -> list[tuple[Severity, list[AlertView]]]:
        by_severity = sorted(alerts, key=lambda a: SEVERITIES.index(a.severity))
        return [
            (severity, [self._alert(alert) for alert in group])
            for severity, group in groupby(by_severity, key=lambda a: a.severity)
        ]

    def _alert(self, alert: AlertItem) -> AlertView:
        cases = [self.ref(case_id) for case_id in alert.case_ids[:MOST_IDS]]
        names = [self.names.get(d, d) for d in alert.dimension_ids[:MOST_IDS]]
        return AlertView(alert, names, cases, max(0, alert.n_cases - len(cases)))

    def dimension(self, dimension: DimensionResult) -> DimensionView:
        target = dimension.target.get("min_score")
        least = target if _is_share(target) else None
        return DimensionView(
            dimension=dimension,
            tone="worse" if dimension.target_status == "missed" else "plain",
            least=least,
            bar=bar(dimension.score, dimension.ci_low, dimension.ci_high, least),
            histogram=histogram(dimension.histogram),
            targets=[
                replace(f, is_share=f.name in _SHARES and _is_share(f.value))
                for f in fields(dimension.target)
            ],
            metrics=[Field(k, v) for k, v in list(dimension.raw_metrics.items())[:80]],
            evidence=self._evidences(dimension.contributions),
        )

    def _evidences(
        self, links: Iterable[EvidenceLink], seen: Collection[str | None] = ()
    ) -> list[EvidenceView]:
        return [self._evidence(link, seen) for link in list(links)[:MOST_EVIDENCE]]

    def _evidences_in_case(
        self, links: Iterable[EvidenceLink], seen: Collection[str | None] = ()
    ) -> list[EvidenceView]:
        """Leave out evidence of other tools that only repeats the case's scores."""
        return [
            each
            for each in self._evidences(links, seen)
            if each.says_more or each.evidence.dimension_id not in self.optional
        ]

    def _evidence(
        self, link: EvidenceLink, seen: Collection[str | None]
    ) -> EvidenceView:
        """Divide a payload into parts; texts in *seen* are not repeated."""
        payload = dict(link.payload)
        offsets = payload.pop("offsets", None)
        text = _taken(payload, "snippet") or ""
        snippet = highlighted(text, offsets)
        expected, actual = _taken(payload, "expected"), _taken(payload, "actual")
        told = actual is None or bare(actual) in seen or bare(actual) == text
        if (expected is None or bare(expected) in seen) and told:
            is_told = expected is not None or actual is not None
            expected = actual = None
        else:
            is_told = False
        if text in seen and not any(part.marked for part in snippet):
            snippet = []
        return EvidenceView(
            evidence=link,
            dimension=self.names.get(link.dimension_id, link.dimension_id),
            ref=self.ref(link.case_id),
            snippet=snippet,
            expected=expected,
            actual=actual,
            reason=_taken(payload, "reason"),
            pointer=_taken(payload, "pointer"),
            metric=_taken_number(payload, "metric"),
            score=payload.pop("score") if _is_share(payload.get("score")) else None,
            is_told=is_told,
            more=fields({k: v for k, v in payload.items() if v is not None}),
        )

    def case_groups(
        self, listed: Sequence[CaseResult], numbers: dict[Status, int]
    ) -> list[CaseGroup]:
        return [
            CaseGroup(
                status,
                n,
                [self._case(case) for case in listed if case.status == status],
            )
            for status, n in numbers.items()
            if n
        ]

    def _case(self, case: CaseResult) -> CaseView:
        return case_view(
            case,
            anchor=self.anchors[case.case_id],
            change=self.changes.get(case.case_id),
            names=self.names,
            tags=self.tags,
            limits=self.limits,
            evidences=self._evidences_in_case,
            optional=self.optional,
        )


def fewer_cases(limits: ListLimits, result: AnalysisResult, fitted: int) -> ListLimits:
    """Return *limits* for a smaller page.

    If few cases fit, the cases are long: they are shortened before others are dropped.

    Args:
        limits: Limits of the page that was too large.
        result: Its content.
        fitted: Number of cases listed when it became too large; 0: unknown, then half
            of them are tried.
    """
    listed = len(result.case_results[: limits.cases])
    wanted = int(fitted * 0.95) - 1 if 0 < fitted < listed else listed // 2
    if wanted < _FEW_CASES and not limits.is_short:
        return limits.shortened()
    return replace(limits, cases=max(1, wanted))


def _dimension_rank(dimension: DimensionResult) -> int:
    """Sort missed targets first; otherwise as configured."""
    return _TARGET_ORDER[dimension.target_status]


def _taken(payload: dict[str, Any], key: str) -> str | None:
    value = payload.pop(key, None)
    return value if value is None or isinstance(value, str) else json_text(value)


def _taken_number(payload: dict[str, Any], key: str) -> float | None:
    value = payload.pop(key, None)
    return value if type(value) in (int, float) else None


def _provenance(own: object) -> Provenance | None:
    """Read ``extras.promptlab``; results of others may lack it."""
    try:
        return Provenance.model_validate(own)
    except ValidationError:
        return None


def _is_share(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1  # type: ignore[operator]  # narrowed by type()


def _segments(numbers: dict[Status, int]) -> list[Segment]:
    total = sum(numbers.values())
    segments, start = [], 0.0
    for status in _BAR_ORDER:
        n = numbers[status]
        if n:
            width = round(100 * n / total, 3)
            segments.append(Segment(status, n, round(start, 3), width))
            start += width
    return segments
