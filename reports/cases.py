"""The question, rounds and evidence of one case, for the pages and formats.

A text is on a page once: rounds that agree are one, an answer next to the baseline's
is not repeated below, nor is what evidence quotes of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from promptlab.contracts.analysis_result import (
    AssertionOutcome,
    CaseResult,
    CheckDifference,
    EvidenceLink,
    RoundOutcome,
    Status,
)
from promptlab.contracts.comparison import CaseChange
from promptlab.reports.files import folder_name
from promptlab.reports.printing import Filters, bare, clip, highlighted, json_text

STATUS_ORDER: tuple[Status, ...] = ("fail", "error", "unevaluated", "pass")
"""The order of the groups of cases on a page, and of the rounds of a case."""

_MOST_GOLDEN = 3
_MOST_TAGS = 40
_QUESTION_KEYS = ("question", "query", "input", "text", "prompt", "user_input")


def case_anchor(case_id: str) -> str:
    """Return the anchor of a case on every page that lists it: `#case-<id>`."""
    return f"case-{folder_name(case_id)}"


def question(case: CaseResult) -> str | None:
    """Return the input, if the context or the testset contains it as a text."""
    return _first_text(case.context) or _first_text(case.inputs)


def _first_text(values: dict[str, Any]) -> str | None:
    within = [values]
    while within:
        values = within.pop()
        texts = {k: v for k, v in values.items() if isinstance(v, str) and v.strip()}
        if texts:
            key = next((key for key in _QUESTION_KEYS if key in texts), None)
            return texts[key] if key else next(iter(texts.values()))
        within += [v for v in reversed(values.values()) if isinstance(v, dict)]
    return None


def first_error(case: CaseResult) -> RoundOutcome | None:
    """Return the first round of *case* without a usable answer."""
    return next((r for r in case.rounds if r.status == "error"), None)


def first_broken(case: CaseResult) -> AssertionOutcome | None:
    """Return the first failed assertion of another tool in *case*."""
    return next((a for a in case.assertions if a.status == "fail"), None)


def why(case: CaseResult, filters: Filters) -> str | None:
    """Return the first reason why a case did not pass, on one line."""
    if (error := first_error(case)) is not None:
        code = filters.label(filters.value(error.error_code), "error_code")
        return filters.catalogue.text("case.error", code=clip(code, 80))
    if case.differences:
        reason = filters.label(case.differences[0].reason, "reason")
        place = clip(filters.place(case.differences[0]), 80)
        return filters.catalogue.text("case.difference", reason=reason, pointer=place)
    if (broken := first_broken(case)) is not None:
        return filters.asserted(broken)
    return case.evidences[0].summary if case.evidences else None


def expectations(case: CaseResult) -> list[tuple[str | None, str]]:
    """Return expected texts and their fields; golden answers that differ have none."""
    texts: list[tuple[str | None, str]] = [
        (name, _text(value) or "") for name, value in case.expected.items()
    ]
    known = {text for _, text in texts}
    golden = [text for text in dict.fromkeys(case.golden_answers) if text not in known]
    return texts + [(None, text) for text in golden[:_MOST_GOLDEN]]


def change_state(change: CaseChange | None) -> str:
    """Return ``broke``, ``fixed``, ``changed`` against the baseline, or nothing."""
    if change is None:
        return ""
    if change.must_have_lost or change.status_change == "newly_failing":
        return "broke"
    if change.status_change == "newly_fixed":
        return "fixed"
    return "" if change.change == "same" else "changed"


# ---------- rounds that agree


def by_answer(rounds: Iterable[RoundOutcome]) -> list[list[RoundOutcome]]:
    """Group rounds with the same answer, the most frequent first."""
    groups: dict[tuple[str | None, str | None], list[RoundOutcome]] = {}
    for outcome in rounds:
        groups.setdefault((outcome.answer, outcome.error_code), []).append(outcome)
    return sorted(groups.values(), key=len, reverse=True)


def versions(
    case: CaseResult, most: int
) -> list[tuple[list[RoundOutcome] | None, list[RoundOutcome] | None]]:
    """Return the answers of the baseline next to those of this task, by frequency."""
    if not case.baseline_rounds:
        return []
    before, after = by_answer(case.baseline_rounds), by_answer(case.rounds)
    return list(zip_longest(before, after))[:most]


def alike(case: CaseResult, most: int) -> list[list[RoundOutcome]]:
    """Group the worst rounds by result, checks, and answers that are not shown above.

    The answers are shown above if there are some of the baseline.
    """
    groups: dict[Any, list[RoundOutcome]] = {}
    worst = sorted(case.rounds, key=lambda outcome: STATUS_ORDER.index(outcome.status))
    for outcome in worst[:most]:
        checks = tuple(
            (
                d.scope,
                d.step_id,
                d.field,
                d.pointer,
                d.expected,
                _shown_actual(d, outcome),
            )
            for d in case.differences
            if d.round_id == outcome.round_id
        )
        asserted = tuple(
            (a.name, a.type, a.status, None if a.status == "pass" else a.reason)
            for a in case.assertions
            if a.round_id == outcome.round_id
        )
        answer = None if case.baseline_rounds else outcome.answer
        key = (outcome.status, answer, outcome.error_code, checks, asserted)
        groups.setdefault(key, []).append(outcome)
    return list(groups.values())


def _shown_actual(difference: CheckDifference, outcome: RoundOutcome) -> str | None:
    """Return the actual value of a check; ``None`` for the whole answer."""
    is_whole = outcome.answer is not None and bare(difference.actual) == outcome.answer
    return None if is_whole else difference.actual


# ---------- evidence


_SHOWN_BY_NAME = ("snippet", "expected", "actual", "offsets", "reason", "pointer")


def evidence(link: EvidenceLink, shown: Sequence[str | None] = ()) -> dict[str, Any]:
    """Divide the payload of *link* into parts; texts in *shown* are not repeated.

    The parts are those of the contract; ``snippet`` is in pieces, ``more`` has the
    payload's other keys, and with ``is_told`` the compared texts are on the page.
    """
    payload = {k: v for k, v in link.payload.items() if v is not None}
    texts = {name: _text(payload.get(name)) for name in _SHOWN_BY_NAME}
    snippet = highlighted(texts["snippet"] or "", payload.get("offsets"))
    known = {bare(text) for text in shown}
    if bare(texts["snippet"]) in known and not any(part.marked for part in snippet):
        snippet = []
    sides = {texts["expected"], texts["actual"]} - {None}
    for side in ("expected", "actual"):
        if bare(texts[side]) in known or texts[side] == texts["snippet"]:
            texts[side] = None
    is_shown = bool(sides) and texts["expected"] is None and texts["actual"] is None
    score, metric = payload.get("score"), payload.get("metric")
    is_number = isinstance(metric, int | float) and metric != score
    return texts | {
        "snippet": snippet,
        "is_told": is_shown,
        "score": score if is_share(score) else None,
        "metric": metric if is_number else None,
        "more": {
            name: value
            for name, value in payload.items()
            if name not in (*_SHOWN_BY_NAME, "score", "metric")
        },
    }


def compared(case: CaseResult) -> tuple[object, object] | None:
    """Return the expected and the actual value behind the first reason of a failure."""
    if first_error(case) is not None:
        return None
    if case.differences:
        return case.differences[0].expected, case.differences[0].actual
    broken = first_broken(case)
    if broken is not None:
        answers = {outcome.round_id: outcome.answer for outcome in case.rounds}
        return broken.expected, answers.get(broken.round_id)
    for link in case.evidences:
        payload = link.payload
        actual = payload.get("actual", payload.get("snippet"))
        return payload.get("expected"), actual
    return None


def is_share(value: object) -> bool:
    """Return true for a number from 0 to 1."""
    return type(value) in (int, float) and 0 <= value <= 1  # type: ignore[operator]  # narrowed by type()


def _text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json_text(value)


# ---------- the cases of a page


def common_tags(cases: Iterable[CaseResult]) -> list[str]:
    """Return the tags to filter by, the most frequent ones first."""
    counted = Counter(tag for case in cases for tag in dict.fromkeys(case.tags))
    return [tag for tag, _ in counted.most_common(_MOST_TAGS)]


@dataclass
class Room:
    """The room for cases on a page: they are drawn one after the other while they fit.

    A case that takes more than a twentieth of the room is drawn short.
    """

    most: int
    """Bytes of all drawings."""
    used: int = 0
    is_short: bool = False
    """True if a case was drawn short."""
    is_full: bool = False
    listed: dict[str, str] = field(default_factory=dict)
    """The drawn cases and their anchors."""

    def has_full(self, drawing: str) -> bool:
        """Return true if a case may be drawn in full."""
        fits = len(drawing.encode()) <= self.most // 20
        self.is_short = self.is_short or not fits
        return fits

    def takes(self, case_id: str, drawing: str) -> bool:
        """Return true, and note the case, if it fits; the first one always does."""
        self.used += len(drawing.encode())
        self.is_full = self.used > self.most
        if self.is_full and self.listed:
            return False
        self.listed[case_id] = case_anchor(case_id)
        return True
