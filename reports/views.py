"""View of an AnalysisResult: rows selected, sorted, grouped, cut and counted.

The step between numbers and template, so that the template only loops. It computes no
score; every number on the page is in the result. A text is on the page once: rounds
that agree are one, an answer that is shown next to the baseline's is not repeated
below, nor is what a check or a piece of evidence quotes of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import groupby, takewhile, zip_longest
from typing import Any, get_args

from pydantic import ValidationError

from promptlab.contracts.analysis_result import (
    AlertItem,
    AnalysisResult,
    AssertionOutcome,
    CaseResult,
    CheckDifference,
    DimensionResult,
    EvidenceLink,
    Prompt,
    Provenance,
    RoundOutcome,
    ScopeOutcome,
    Severity,
    Status,
    StepOutcome,
)
from promptlab.contracts.comparison import (
    CaseChange,
    Comparison,
    MeasureComparison,
    ScoreChange,
    ScoreComparison,
)
from promptlab.reports.charts import Forest, Histogram, forest, histogram
from promptlab.reports.edition import SHOWN, ListLimits
from promptlab.reports.files import folder_name
from promptlab.reports.printing import (
    TextPiece,
    bare,
    clip,
    highlighted,
    json_text,
    marked_parts,
    parts,
)

# ---------- the parts of a page


@dataclass(frozen=True)
class Field:
    """One named value; ``value`` is text or any JSON value."""

    name: str
    value: Any
    is_share: bool = False
    """If true, ``value`` is a share that people read as a score."""


@dataclass(frozen=True)
class Bar:
    """A score drawn on a track of width 100; ``None`` without a value."""

    fill: float | None
    low: float | None
    width: float | None
    """Width of the interval that begins at ``low``."""
    mark: float | None
    """Position of the target score."""


@dataclass(frozen=True)
class EvidenceView:
    """One piece of evidence, with the parts of its payload."""

    evidence: EvidenceLink
    dimension: str
    snippet: list[TextPiece]
    expected: str | None
    actual: str | None
    reason: str | None
    pointer: str | None
    metric: float | None
    score: float | None
    more: list[Field]
    """The payload's other keys."""
    is_told: bool = False
    """If true, the compared texts are already on the page."""

    @property
    def is_comparison(self) -> bool:
        """If true, expected and actual are shown side by side."""
        return self.expected is not None

    @property
    def says_more(self) -> bool:
        """Return true if it has anything to show besides its score."""
        words = self.snippet or self.reason or self.pointer or self.more
        return self.is_comparison or bool(words)


@dataclass(frozen=True)
class DimensionView:
    """One row of the dimensions table."""

    dimension: DimensionResult
    tone: str
    least: float | None
    """The minimum score, 0–1."""
    bar: Bar
    histogram: Histogram | None
    """Histogram of the case scores; ``None`` without scores."""
    targets: list[Field]
    metrics: list[Field]
    evidence: list[EvidenceView]


@dataclass(frozen=True)
class Said:
    """One answer, and its rounds."""

    rounds: list[RoundOutcome]
    parts: list[TextPiece]
    """Literal text; parts missing in the other version are marked."""
    n_cut: int
    """Number of characters of the answer that are not shown."""


@dataclass(frozen=True)
class Versions:
    """An answer of the baseline and one of this task; either may be missing."""

    before: Said | None
    after: Said | None

    @property
    def is_same(self) -> bool:
        """Return true if both texts are identical."""
        if self.before is None or self.after is None:
            return False
        return self.before.rounds[0].answer == self.after.rounds[0].answer


@dataclass(frozen=True)
class RoundView:
    """Rounds with the same answer and result, with all details."""

    rounds: list[RoundOutcome]
    answer: list[TextPiece] | None
    """``None`` if it is missing, or already shown next to the baseline's."""
    n_cut: int
    scopes: list[ScopeOutcome]
    differences: list[CheckDifference]
    broken: list[AssertionOutcome]
    """Assertions of another tool that failed or could not be judged."""
    held: list[AssertionOutcome]
    evidence: list[EvidenceView]
    feedback: list[str]
    steps: list[StepOutcome]

    @property
    def round(self) -> RoundOutcome:
        """The first ones."""
        return self.rounds[0]


@dataclass(frozen=True)
class CaseView:
    """One case, unfolded."""

    case: CaseResult
    question: str | None
    """The input, if the context contains it as a text."""
    change: CaseChange | None
    """Its change against the baseline, if known."""
    first_difference: CheckDifference | None
    first_error: RoundOutcome | None
    first_broken: AssertionOutcome | None
    """A failed assertion of another tool."""
    first_evidence: EvidenceLink | None
    scores: list[tuple[str, float | None, str | None]]
    """Dimension, score, and the reason for a missing score."""
    asked: list[Field]
    versions: list[Versions]
    """Empty without a change or a baseline."""
    expected: list[tuple[str | None, str]]
    """Fields of the output with their expectations; golden answers without a name."""
    notes: list[Field]
    rounds: list[RoundView]
    n_rounds_more: int
    n_differences_more: int
    evidence: list[EvidenceView]
    """Evidence of rounds that are not listed."""
    state: str
    """Change against the baseline: ``broke``, ``fixed``, ``changed``, or empty."""
    tag_numbers: list[int]
    low_dimensions: list[int]
    """Numbers of the dimensions on which it is below 100."""


@dataclass(frozen=True)
class ChangesView:
    """The comparison of the task with its baseline."""

    comparison: Comparison
    notes: list[str]
    dimensions: list[ScoreComparison]
    """Dimensions on which a pair of cases changed, or that cannot be compared."""
    same_dimensions: list[ScoreComparison]
    """Dimensions without changes."""
    n_dimensions_more: int
    measures: list[MeasureComparison]
    n_measures_more: int
    tags: list[ScoreComparison]
    """Tags with a reliable change, the largest loss first."""
    other_tags: list[ScoreComparison]
    """Other tags that changed."""
    n_tags_more: int
    cases: list[tuple[CaseChange, list[tuple[str, ScoreChange]]]]
    """Changed cases, each with the dimensions on which it changed most, by name."""
    n_cases_more: int
    spread: Histogram | None
    """Differences of the cases, where there are many."""
    forest: Forest
    """The axis of the differences of all these scores."""


@dataclass(frozen=True)
class View:
    """The page."""

    is_graded: bool
    """If true, a grade is shown: the file is an analysis input, which requests one."""
    bar: Bar
    n_judged: int
    """Number of cases in ``pass_rate``."""
    has_must_haves: bool
    """If true, a must-have of at least one case was evaluated."""
    segments: list[tuple[Status, int, float, float]]
    """Status bar: number of cases, start and width in percent of the bar."""
    changes: ChangesView | None
    """``None`` without a baseline."""
    alerts: list[tuple[Severity, list[AlertItem]]]
    n_alerts_more: int
    dimensions: list[DimensionView]
    n_dimensions_more: int
    case_groups: list[tuple[Status, int, list[CaseView]]]
    """The cases of each status: their number, and those listed."""
    names: dict[str, str]
    """Names of the dimensions by id; a case refers by number to those on which it is
    below 100."""
    tags: list[str]
    """Tags to filter by, the most frequent ones first; a case refers to them by
    number."""
    anchors: dict[str, str]
    """Positions of the listed cases on the page."""
    n_cases_listed: int
    n_cases_more: int
    is_short: bool
    """True if less of each case is listed than usual."""
    prompt: Diff | None
    provenance: Provenance | None
    env: list[Field]
    extras: list[Field]


# ---------- the differences of two texts


MOST_CHARS = 2_000
"""Maximum characters of each text that are shown and compared."""
_MOST_WORK = 400_000  # pairs of words, about a tenth of a second
_LEAST_ALIKE = 0.4
"""Minimum share of common words; below it, texts are not marked."""

_WIDE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_WIDE}]|[^\W{_WIDE}]+|\s+|[^\w\s]|_+")


@dataclass(frozen=True)
class Diff:
    """Both texts in pieces, with marked differences; an unknown one is ``None``."""

    before: list[TextPiece] | None
    after: list[TextPiece] | None
    is_same: bool


def word_diff(before: str, after: str) -> Diff:
    """Compare two texts."""
    shown = [clip(text, MOST_CHARS) for text in (before, after)]
    if before == after:
        whole = marked_parts(shown[0], marked=False)
        return Diff(whole, whole, is_same=True)
    old, new = map(_TOKEN.findall, shown)
    blocks = _blocks(old, new)
    alike = sum(_words(old[i : i + n]) for i, _, n in blocks)
    if 2 * alike < _LEAST_ALIKE * (_words(old) + _words(new)):
        return Diff(_whole(old), _whole(new), is_same=False)
    return Diff(
        _marked(old, [(i, n) for i, _, n in blocks]),
        _marked(new, [(j, n) for _, j, n in blocks]),
        is_same=False,
    )


def _words(tokens: Sequence[str]) -> int:
    return sum(token[0].isalnum() for token in tokens)


def _blocks(old: list[str], new: list[str]) -> list[tuple[int, int, int]]:
    """A common part: its position in both texts, and its number of words."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    mid_old, mid_new = old[head : len(old) - tail], new[head : len(new) - tail]
    found = [(0, 0, head)]
    if len(mid_old) * len(mid_new) <= _MOST_WORK:
        matcher = SequenceMatcher(None, mid_old, mid_new, autojunk=False)
        found += [(head + i, head + j, n) for i, j, n in matcher.get_matching_blocks()]
    return [*found, (len(old) - tail, len(new) - tail, tail)]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    pairs = zip(old, new, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _whole(tokens: Sequence[str]) -> list[TextPiece]:
    return marked_parts("".join(tokens), marked=False)


def _marked(tokens: Sequence[str], same: Sequence[tuple[int, int]]) -> list[TextPiece]:
    found: list[TextPiece] = []
    at = 0
    for start, n in same:
        found += marked_parts("".join(tokens[at:start]), marked=True)
        found += marked_parts("".join(tokens[start : start + n]), marked=False)
        at = start + n
    return found + marked_parts("".join(tokens[at:]), marked=True)


# ---------- one case: the input, each version's answer, the expectation, the scores


STATUS_ORDER: tuple[Status, ...] = ("fail", "error", "unevaluated", "pass")
"""The order of the case groups; ``result.py`` selects the worst cases by it."""

MOST_FIELDS = 20
_MOST_SCORES = 60
_MOST_FEEDBACK = 5
_MOST_VERSIONS = 3
"""Maximum number of different answers of a version."""
_QUESTION_KEYS = ("question", "query", "input", "text", "prompt", "user_input")
_NOTES_SHOWN_ELSEWHERE = frozenset({"unscored", "in_testset"})


def prompt_view(prompt: Prompt | None) -> Diff | None:
    """Return the prompts side by side; ``None`` if both are unknown."""
    if prompt is None:
        return None
    before, after = prompt.baseline_text, prompt.text
    if before is not None and after is not None:
        return word_diff(before, after)
    return Diff(
        None if before is None else parts(before),
        None if after is None else parts(after),
        is_same=False,
    )


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
        text, other = (None if s is None else s[0].answer for s in (old, new))
        if text is None or other is None:
            shown = Diff(parts(text or ""), parts(other or ""), is_same=False)
        else:
            shown = word_diff(text, other)
        found.append(Versions(_said(old, shown.before), _said(new, shown.after)))
    return found


def _by_answer(rounds: Sequence[RoundOutcome]) -> list[list[RoundOutcome]]:
    groups: dict[tuple[str | None, str | None], list[RoundOutcome]] = {}
    for round_ in rounds:
        groups.setdefault((round_.answer, round_.error_code), []).append(round_)
    return sorted(groups.values(), key=len, reverse=True)


def _said(
    rounds: list[RoundOutcome] | None, shown: list[TextPiece] | None
) -> Said | None:
    return Said(rounds, shown or [], _n_cut(rounds[0])) if rounds else None


def _n_cut(round_: RoundOutcome) -> int:
    return max(0, (round_.answer_chars or 0) - len(round_.answer or ""))


def _expected(case: CaseResult) -> list[tuple[str | None, str]]:
    """Return the expectations of the testset, and golden answers that differ."""
    found: list[tuple[str | None, str]] = [
        (name, value if isinstance(value, str) else json_text(value))
        for name, value in list(case.expected.items())[:MOST_FIELDS]
    ]
    seen = {text for _, text in found}
    golden = [text for text in dict.fromkeys(case.golden_answers) if text not in seen]
    return found + [(None, text) for text in golden[:_MOST_VERSIONS]]


def _scores(
    case: CaseResult, names: dict[str, str], optional: Collection[str]
) -> list[tuple[str, float | None, str | None]]:
    """Return the case's scores, without optional dimensions that lack a score."""
    found = []
    for dimension_id in list(names)[:_MOST_SCORES]:
        score = case.dimension_scores.get(dimension_id)
        reason = _reason(case.notes, dimension_id)
        if score is None and dimension_id in optional and reason == "no_score":
            continue
        found.append((names.get(dimension_id, dimension_id), score, reason))
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


def _reason(notes: dict[str, Any], dimension_id: str) -> str | None:
    unscored = notes.get("unscored")
    reason = unscored.get(dimension_id) if isinstance(unscored, dict) else None
    return reason if isinstance(reason, str) else None


# ---------- a comparison: the changes, the worst first


MOST_SCORES = 40
"""Maximum number of listed dimensions, and of measures."""
MOST_OTHER_TAGS = 20
"""Tags that are listed in addition to those with reliable changes."""
MOST_NOTES = 20
_MANY_PAIRS = 20
"""From so many pairs on the spread of their differences is drawn."""
_MOST_MOVES = 3
_RELIABLE = ("regressed", "improved")


def arrange_changes(
    comparison: Comparison,
    *,
    most: int | None,
    names: Mapping[str, str],
) -> ChangesView:
    """Return the view of *comparison*.

    *names* are those of the task's dimensions by id.
    """
    cases = comparison.cases[:most]
    # must-haves may be lost at the same score
    listed = [
        case
        for case in cases
        if case.change != "same" or case.must_have_lost or case.must_have_gained
    ]
    n_listed = sum(case.change != "same" for case in listed)
    moved = [tag for tag in comparison.tags if tag.delta]
    other_tags = [tag for tag in moved if tag.verdict not in _RELIABLE]
    scores = comparison.dimensions[:MOST_SCORES]
    same = [
        score
        for score in scores
        if score.delta is not None and not (score.n_better or score.n_worse)
    ]
    said = {score.conclusion.rstrip(".。") for score in scores}
    return ChangesView(
        comparison=comparison,
        notes=[note for note in comparison.notes if note not in said][:MOST_NOTES],
        dimensions=[score for score in scores if score not in same],
        same_dimensions=same,
        n_dimensions_more=max(0, len(comparison.dimensions) - MOST_SCORES),
        measures=comparison.measures[:MOST_SCORES],
        n_measures_more=max(0, len(comparison.measures) - MOST_SCORES),
        tags=[tag for tag in moved if tag.verdict in _RELIABLE],
        other_tags=other_tags[:MOST_OTHER_TAGS],
        n_tags_more=max(0, len(other_tags) - MOST_OTHER_TAGS),
        cases=[(case, _moves(case, names)) for case in listed],
        n_cases_more=comparison.counts.changed - n_listed,
        spread=histogram(comparison.differences, -105, 105)
        if comparison.overall.n_pairs >= _MANY_PAIRS
        else None,
        forest=forest([comparison.overall, *scores, *moved]),
    )


def _moves(case: CaseChange, names: Mapping[str, str]) -> list[tuple[str, ScoreChange]]:
    """Return the dimensions on which a case changed most."""
    moved = [move for move in case.dimensions if move.delta]
    moved.sort(key=lambda move: (-abs(move.delta), move.dimension_id))
    return [
        (names.get(move.dimension_id, move.dimension_id), move)
        for move in moved[:_MOST_MOVES]
    ]


# ---------- the whole page


SEVERITIES: tuple[Severity, ...] = get_args(Severity)
_BAR_ORDER: tuple[Status, ...] = ("pass", "fail", "error", "unevaluated")

_FEW_CASES = 20
MOST_ALERTS = 100
MOST_DIMENSIONS = 60
MOST_TAGS = 40
"""Maximum number of tags in the filter."""
MOST_EVIDENCE = 10

_SAID_BY_THE_GATE = frozenset({"significant_regression"})
_TARGET_ORDER = {"missed": 0, "unknown": 1, "met": 2, "none": 2}
_SHARES = ("min_score", "max_score")


def arrange(result: AnalysisResult, limits: ListLimits = SHOWN) -> View:
    """Return the view of *result*."""
    summary = result.summary
    # the decision of the gate and the comparison say these already
    said = _SAID_BY_THE_GATE if result.gate and result.comparison else frozenset()
    alerts = [alert for alert in summary.alerts if alert.code not in said]
    listed = worst_first(result)[: limits.cases]
    anchors = {case.case_id: case_anchor(case.case_id) for case in listed}
    names = {d.dimension_id: d.name for d in result.dimensions}
    counted = Counter(tag for case in listed for tag in dict.fromkeys(case.tags))
    tags = [tag for tag, _ in counted.most_common(MOST_TAGS)]
    compared = result.comparison.cases if result.comparison else []
    # other tools may measure different things per case
    optional = {d.dimension_id for d in result.dimensions if d.scorer == "reported"}
    changes = {change.case_id: change for change in compared}
    page = Page(limits, names, changes, tags, optional)
    # missed targets first; otherwise as configured
    dimensions = sorted(
        result.dimensions, key=lambda each: _TARGET_ORDER[each.target_status]
    )
    extras = dict(result.extras)
    provenance = _provenance(extras.pop("promptlab", None))
    return View(
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
        else arrange_changes(result.comparison, most=limits.changes, names=names),
        alerts=_by_severity(alerts[:MOST_ALERTS]),
        n_alerts_more=max(0, len(alerts) - MOST_ALERTS),
        dimensions=[page.dimension(d) for d in dimensions[:MOST_DIMENSIONS]],
        n_dimensions_more=max(0, len(dimensions) - MOST_DIMENSIONS),
        case_groups=[
            (status, n, [page.case(case) for case in listed if case.status == status])
            for status, n in counts(result).items()
            if n
        ],
        names=names,
        tags=tags,
        anchors=anchors,
        n_cases_listed=len(listed),
        n_cases_more=summary.n_cases - len(listed),
        is_short=limits.is_short,
        prompt=prompt_view(result.prompt),
        provenance=provenance,
        env=fields(result.task.env),
        extras=fields(extras),
    )


def worst_first(result: AnalysisResult) -> list[CaseResult]:
    """Sort cases for reading: those of the gate in its order, then the failing ones.

    Newly failing cases come before others, then status and the lowest score decide;
    cases without a score come before those with one.
    """
    compared = result.comparison.cases if result.comparison else []
    failing = {c.case_id for c in compared if c.status_change == "newly_failing"}
    named = [case.case_id for case in result.gate.cases] if result.gate else []
    places = {case_id: place for place, case_id in enumerate(named)}

    def rank(case: CaseResult) -> tuple[int, bool, int, float]:
        score = -1 if case.aggregated_score is None else case.aggregated_score
        place, case_id = STATUS_ORDER.index(case.status), case.case_id
        return places.get(case_id, len(named)), case_id not in failing, place, score

    return sorted(result.case_results, key=rank)


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
class Page:
    """State shared by the parts of a page."""

    limits: ListLimits
    names: dict[str, str] = field(default_factory=dict)
    changes: dict[str, CaseChange] = field(default_factory=dict)
    tags: Sequence[str] = ()
    optional: Collection[str] = ()
    """Dimensions that are left out for cases without a score."""

    def dimension(self, dimension: DimensionResult) -> DimensionView:
        """Return the view of *dimension*."""
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
        metric = payload.pop("metric", None)
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
            snippet=snippet,
            expected=expected,
            actual=actual,
            reason=_taken(payload, "reason"),
            pointer=_taken(payload, "pointer"),
            metric=metric if type(metric) in (int, float) else None,
            score=payload.pop("score") if _is_share(payload.get("score")) else None,
            is_told=is_told,
            more=fields({k: v for k, v in payload.items() if v is not None}),
        )

    def case(self, case: CaseResult) -> CaseView:
        """Return the view of *case*."""
        change = self.changes.get(case.case_id)
        worst = sorted(case.rounds, key=lambda r: STATUS_ORDER.index(r.status))
        rounds = worst[: self.limits.rounds]
        differences = case.differences[: self.limits.checks]
        versions = _versions(case, rounds)
        sides = [pair.after for pair in versions if pair.after]
        beside = {round_.round_id for side in sides for round_ in side.rounds}
        expected = _expected(case)
        seen: set[str | None] = {r.answer for r in rounds}
        seen |= {text for _, text in expected}
        views = [
            self._round(group, case, differences, beside, seen)
            for group in _alike(rounds, differences, case.assertions, beside)
        ]
        listed = {round_.round_id for round_ in rounds}
        rest = [e for e in case.evidences if e.round_id not in listed]
        n_listed = sum(len(v.differences) * len(v.rounds) for v in views)
        return CaseView(
            case=case,
            question=question(case.context) or question(case.inputs),
            change=change,
            first_difference=next(iter(case.differences), None),
            first_error=first_error(case),
            first_broken=first_broken(case),
            first_evidence=next(iter(case.evidences), None),
            scores=_scores(case, self.names, self.optional),
            asked=fields(case.inputs | case.context)[: self.limits.fields],
            versions=versions[:1] if self.limits.is_short else versions,
            expected=expected[: self.limits.fields],
            notes=_notes(case)[: self.limits.fields],
            rounds=views,
            n_rounds_more=case.n_rounds - len(rounds),
            n_differences_more=case.n_differences - n_listed,
            evidence=self._evidences_in_case(rest, seen),
            state=_state(change),
            tag_numbers=[
                number for number, tag in enumerate(self.tags) if tag in case.tags
            ],
            low_dimensions=[
                number
                for number, dimension_id in enumerate(self.names)
                if (score := case.dimension_scores.get(dimension_id)) is not None
                and score < 1
            ],
        )

    def _round(
        self,
        rounds: list[RoundOutcome],
        case: CaseResult,
        differences: Sequence[CheckDifference],
        beside: set[str],
        seen: set[str | None],
    ) -> RoundView:
        first = rounds[0]
        ids = {round_.round_id for round_ in rounds}
        found = [d for d in differences if d.round_id == first.round_id]
        scopes = [s for s in case.scopes if s.round_id == first.round_id]
        seen = seen | {first.answer, bare(first.answer)}
        quoted = [side for d in found for side in (d.expected, d.actual)]
        seen |= {text for side in quoted for text in (side, bare(side))}
        evidence = self._evidences_in_case(
            [e for e in case.evidences if e.round_id in ids], seen
        )
        asserted = [a for a in case.assertions if a.round_id == first.round_id]
        broken = [a for a in asserted if a.status != "pass"][: self.limits.checks]
        held = [a for a in asserted if a.status == "pass"]
        most_held = (
            None if self.limits.checks is None else self.limits.checks - len(broken)
        )
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
            scopes=scopes[: self.limits.checks],
            differences=found,
            broken=broken,
            held=[] if self.limits.is_short else held[:most_held],
            evidence=list(reversed(worst.values())),
            feedback=list(feedback)[:_MOST_FEEDBACK],
            steps=first.steps[: self.limits.fields],
        )


def fewer_cases(limits: ListLimits, result: AnalysisResult, fitted: int) -> ListLimits:
    """Return *limits* for a smaller page.

    If few cases fit, the cases are long: they are shortened before others are dropped.
    *fitted* is the number of cases listed when the page became too large; 0: unknown,
    then half of them are tried.
    """
    listed = len(result.case_results[: limits.cases])
    wanted = int(fitted * 0.95) - 1 if 0 < fitted < listed else listed // 2
    if wanted < _FEW_CASES and not limits.is_short:
        return limits.shortened()
    return replace(limits, cases=max(1, wanted))


def _taken(payload: dict[str, Any], key: str) -> str | None:
    value = payload.pop(key, None)
    return value if value is None or isinstance(value, str) else json_text(value)


def _provenance(own: object) -> Provenance | None:
    """Read ``extras.promptlab``; results of others may lack it."""
    try:
        return Provenance.model_validate(own)
    except ValidationError:
        return None


def _is_share(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1  # type: ignore[operator]  # narrowed by type()


def _by_severity(
    alerts: Sequence[AlertItem],
) -> list[tuple[Severity, list[AlertItem]]]:
    ranked = sorted(alerts, key=lambda a: SEVERITIES.index(a.severity))
    groups = groupby(ranked, key=lambda a: a.severity)
    return [(severity, list(group)) for severity, group in groups]


def _segments(numbers: dict[Status, int]) -> list[tuple[Status, int, float, float]]:
    total = sum(numbers.values())
    segments, start = [], 0.0
    for status in _BAR_ORDER:
        n = numbers[status]
        if n:
            width = round(100 * n / total, 3)
            segments.append((status, n, round(start, 3), width))
            start += width
    return segments
