"""View of one case: the input, each version's answer, the expectation, the scores.

A text is on the page once: rounds that agree are one, an answer that is shown next to
the baseline's is not repeated below, nor is what a check or a piece of evidence quotes
of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import zip_longest
from typing import Any

from promptlab.contracts.analysis_result import (
    AssertionOutcome,
    CaseResult,
    CheckDifference,
    EvidenceLink,
    Prompt,
    RoundOutcome,
    Status,
)
from promptlab.contracts.comparison import CaseChange
from promptlab.reports.limits import ListLimits
from promptlab.reports.printing.filters import json_text
from promptlab.reports.printing.visible import TextPiece, bare, parts
from promptlab.reports.views.pieces import (
    CaseScore,
    CaseView,
    EvidenceView,
    Expected,
    Field,
    PromptView,
    RoundView,
    Said,
    Versions,
)
from promptlab.reports.views.word_diff import word_diff

STATUS_ORDER: tuple[Status, ...] = ("fail", "error", "unevaluated", "pass")
"""The order of the case groups; ``queries/tasks.py`` selects the worst cases by it."""

MOST_FIELDS = 20
_MOST_SCORES = 60
_MOST_FEEDBACK = 5
_MOST_VERSIONS = 3
"""Maximum number of different answers of a version."""
_QUESTION_KEYS = ("question", "query", "input", "text", "prompt", "user_input")
_NOTES_SHOWN_ELSEWHERE = frozenset({"unscored", "in_testset"})

Evidences = Callable[[Iterable[EvidenceLink], set[str | None]], list[EvidenceView]]


def case_view(
    case: CaseResult,
    *,
    anchor: str,
    change: CaseChange | None,
    names: dict[str, str],
    tags: Sequence[str] = (),
    limits: ListLimits,
    evidences: Evidences,
    optional: Collection[str] = (),
) -> CaseView:
    """Return the view of *case*.

    Args:
        case: The case.
        anchor: Its position on the page.
        change: Change against the baseline, if known.
        names: Names of the dimensions by id.
        tags: Tags that the page filters by.
        limits: Maximum number of rounds and checks.
        evidences: Arranges evidence, without texts already on the page.
        optional: Dimensions that are left out for cases without a score.
    """
    worst = sorted(case.rounds, key=lambda r: STATUS_ORDER.index(r.status))
    rounds = worst[: limits.rounds]
    differences = case.differences[: limits.checks]
    versions = _versions(case, rounds)
    sides = [pair.after for pair in versions if pair.after]
    beside = {round_.round_id for side in sides for round_ in side.rounds}
    expected = _expected(case)
    seen: set[str | None] = {r.answer for r in rounds}
    seen |= {item.text for item in expected}
    views = [
        _round_view(group, case, differences, beside, seen, limits, evidences)
        for group in _alike(rounds, differences, case.assertions, beside)
    ]
    listed = {round_.round_id for round_ in rounds}
    rest = [e for e in case.evidences if e.round_id not in listed]
    n_listed = sum(len(v.differences) * len(v.rounds) for v in views)
    return CaseView(
        case=case,
        anchor=anchor,
        question=question(case.context) or question(case.inputs),
        change=change,
        first_difference=next(iter(case.differences), None),
        first_error=first_error(case),
        first_broken=first_broken(case),
        first_evidence=next(iter(case.evidences), None),
        scores=_scores(case, names, optional),
        asked=fields(case.inputs | case.context)[: limits.fields],
        versions=versions[:1] if limits.is_short else versions,
        expected=expected[: limits.fields],
        notes=_notes(case)[: limits.fields],
        rounds=views,
        n_rounds_more=case.n_rounds - len(rounds),
        n_differences_more=case.n_differences - n_listed,
        evidence=evidences(rest, seen),
        state=_state(change),
        tag_numbers=[number for number, tag in enumerate(tags) if tag in case.tags],
        low_dimensions=[
            number
            for number, dimension_id in enumerate(names)
            if (score := case.dimension_scores.get(dimension_id)) is not None
            and score < 1
        ],
    )


def prompt_view(prompt: Prompt | None) -> PromptView | None:
    """Return the prompts side by side; ``None`` if both are unknown."""
    if prompt is None:
        return None
    if prompt.text is None or prompt.baseline_text is None:
        before, after = prompt.baseline_text, prompt.text
        return PromptView(
            None if before is None else parts(before),
            None if after is None else parts(after),
            is_same=False,
        )
    diff = word_diff(prompt.baseline_text, prompt.text)
    return PromptView(diff.before, diff.after, diff.is_same)


def question(context: dict[str, Any]) -> str | None:
    """Return the input in *context*: its text, or the object."""
    within = [context]
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


def fields(mapping: dict[str, Any]) -> list[Field]:
    """Return the first values of a JSON object, in its order."""
    return [Field(k, v) for k, v in list(mapping.items())[:MOST_FIELDS]]


def _versions(case: CaseResult, rounds: Sequence[RoundOutcome]) -> list[Versions]:
    """Return the different answers of both versions, the most frequent first."""
    if not case.baseline_rounds:
        return []
    before, after = _by_answer(case.baseline_rounds), _by_answer(rounds)
    found = []
    for old, new in list(zip_longest(before, after))[:_MOST_VERSIONS]:
        texts = [None if side is None else side[0].answer for side in (old, new)]
        if texts[0] is None or texts[1] is None:
            shown = [parts(text or "") for text in texts]
        else:
            diff = word_diff(texts[0], texts[1])
            shown = [diff.before, diff.after]
        found.append(Versions(_said(old, shown[0]), _said(new, shown[1])))
    return found


def _by_answer(rounds: Sequence[RoundOutcome]) -> list[list[RoundOutcome]]:
    groups: dict[tuple[str | None, str | None], list[RoundOutcome]] = {}
    for round_ in rounds:
        groups.setdefault((round_.answer, round_.error_code), []).append(round_)
    return sorted(groups.values(), key=len, reverse=True)


def _said(rounds: list[RoundOutcome] | None, shown: list[TextPiece]) -> Said | None:
    if rounds is None:
        return None
    return Said(rounds, shown, _n_cut(rounds[0]))


def _n_cut(round_: RoundOutcome) -> int:
    return max(0, (round_.answer_chars or 0) - len(round_.answer or ""))


def _expected(case: CaseResult) -> list[Expected]:
    """Return the expectations of the testset, and golden answers that differ."""
    found = [
        Expected(name, value if isinstance(value, str) else json_text(value))
        for name, value in list(case.expected.items())[:MOST_FIELDS]
    ]
    seen = {item.text for item in found}
    golden = [text for text in dict.fromkeys(case.golden_answers) if text not in seen]
    return found + [Expected(None, text) for text in golden[:_MOST_VERSIONS]]


def _scores(
    case: CaseResult, names: dict[str, str], optional: Collection[str]
) -> list[CaseScore]:
    """Return the case's scores, without optional dimensions that lack a score."""
    found = []
    for dimension_id, score in list(case.dimension_scores.items())[:_MOST_SCORES]:
        reason = _reason(case.notes, dimension_id)
        if score is None and dimension_id in optional and reason == "no_score":
            continue
        found.append(CaseScore(names.get(dimension_id, dimension_id), score, reason))
    return found


def _notes(case: CaseResult) -> list[Field]:
    return [
        field
        for field in fields(case.notes)
        if field.value and field.name not in _NOTES_SHOWN_ELSEWHERE
    ]


def _state(change: CaseChange | None) -> str:
    if change is None:
        return ""
    if change.must_have_lost or change.status_change == "newly_failing":
        return "broke"
    if change.status_change == "newly_fixed":
        return "fixed"
    return "" if change.change == "same" else "changed"


def _alike(
    rounds: Sequence[RoundOutcome],
    differences: Sequence[CheckDifference],
    assertions: Sequence[AssertionOutcome],
    beside: set[str],
) -> list[list[RoundOutcome]]:
    """Group rounds with equal results, by checks and by answers not shown above.

    *beside* are the rounds whose answers are shown next to the baseline's.
    """
    found: dict[Any, list[RoundOutcome]] = {}
    for round_ in rounds:
        checks = tuple(
            (d.scope, d.step_id, d.field, d.pointer, d.expected, _found(d, round_))
            for d in differences
            if d.round_id == round_.round_id
        )
        asserted = tuple(
            (a.name, a.type, a.status, None if a.status == "pass" else a.reason)
            for a in assertions
            if a.round_id == round_.round_id
        )
        answer = None if round_.round_id in beside else round_.answer
        end = (round_.status, answer, round_.error_code, checks, asserted)
        found.setdefault(end, []).append(round_)
    return list(found.values())


def _found(
    difference: CheckDifference, round_: RoundOutcome
) -> tuple[bool, str | None]:
    """Return whether a check found the whole answer; if not, what it found."""
    is_whole = round_.answer is not None and bare(difference.actual) == round_.answer
    return is_whole, None if is_whole else difference.actual


def _round_view(
    rounds: list[RoundOutcome],
    case: CaseResult,
    differences: Sequence[CheckDifference],
    beside: set[str],
    seen: set[str | None],
    limits: ListLimits,
    evidences: Evidences,
) -> RoundView:
    first = rounds[0]
    ids = {round_.round_id for round_ in rounds}
    found = [d for d in differences if d.round_id == first.round_id]
    scopes = [s for s in case.scopes if s.round_id == first.round_id]
    seen = seen | {first.answer, bare(first.answer)}
    quoted = [side for d in found for side in (d.expected, d.actual)]
    seen |= {text for side in quoted for text in (side, bare(side))}
    evidence = evidences([e for e in case.evidences if e.round_id in ids], seen)
    asserted = [a for a in case.assertions if a.round_id == first.round_id]
    broken = [a for a in asserted if a.status != "pass"][: limits.checks]
    held = [a for a in asserted if a.status == "pass"]
    most_held = None if limits.checks is None else limits.checks - len(broken)
    of_tool = {a.name for a in asserted if a.source == "tool"}
    worst = {
        e.evidence.dimension_id: e
        for e in reversed(evidence)
        if e.evidence.dimension_id not in of_tool
    }
    feedback = dict.fromkeys(r.feedback for r in rounds if r.feedback)
    return RoundView(
        rounds=rounds,
        answer=None
        if first.answer is None or first.round_id in beside
        else parts(first.answer),
        n_cut=_n_cut(first),
        scopes=scopes[: limits.checks],
        differences=found,
        broken=broken,
        held=[] if limits.is_short else held[:most_held],
        evidence=list(reversed(worst.values())),
        feedback=list(feedback)[:_MOST_FEEDBACK],
        steps=first.steps[: limits.fields],
    )


def _reason(notes: dict[str, Any], dimension_id: str) -> str | None:
    unscored = notes.get("unscored")
    reason = unscored.get(dimension_id) if isinstance(unscored, dict) else None
    return reason if isinstance(reason, str) else None
