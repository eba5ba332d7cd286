"""The parts of a page for the templates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from promptlab.contracts.analysis_result import (
    AlertItem,
    AssertionOutcome,
    CaseResult,
    CheckDifference,
    DimensionResult,
    EvidenceLink,
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
from promptlab.contracts.gate import GateResult
from promptlab.reports.charts.forest import Forest
from promptlab.reports.charts.histogram import Histogram
from promptlab.reports.printing.visible import TextPiece


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
class CaseRef:
    """A case id and its position on this page."""

    case_id: str
    anchor: str | None


@dataclass(frozen=True)
class HeadlineView:
    """The verdict at the top of the page, in pieces: text, and cases to link."""

    gate: GateResult
    decision: str
    pieces: list[tuple[str, CaseRef | None]]
    """The text after the decision."""


@dataclass(frozen=True)
class PromptView:
    """The prompt and the baseline's prompt; either may be unknown."""

    before: list[TextPiece] | None
    after: list[TextPiece] | None
    is_same: bool


@dataclass(frozen=True)
class AlertView:
    """One alert with the names in it."""

    alert: AlertItem
    dimensions: list[str]
    cases: list[CaseRef]
    n_more: int


@dataclass(frozen=True)
class EvidenceView:
    """One piece of evidence, with the parts of its payload."""

    evidence: EvidenceLink
    dimension: str
    ref: CaseRef
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
class CaseScore:
    """A case's score on one dimension, or the reason for a missing score."""

    name: str
    score: float | None
    reason: str | None


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
class Expected:
    """An expectation: a field of the output, or a golden answer."""

    name: str | None
    text: str


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
class Facets:
    """The filters for the cases of a page; a case refers to them by number."""

    tags: list[str]
    """The most frequent ones first."""
    dimensions: list[str]
    """Names; a case refers by number to those on which it is below 100."""


@dataclass(frozen=True)
class CaseView:
    """One case, unfolded."""

    case: CaseResult
    anchor: str
    question: str | None
    """The input, if the context contains it as a text."""
    change: CaseChange | None
    """Its change against the baseline, if known."""
    first_difference: CheckDifference | None
    first_error: RoundOutcome | None
    first_broken: AssertionOutcome | None
    """A failed assertion of another tool."""
    first_evidence: EvidenceLink | None
    scores: list[CaseScore]
    asked: list[Field]
    versions: list[Versions]
    """Empty without a change or a baseline."""
    expected: list[Expected]
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
class CaseGroup:
    """The cases of one status: their number, and those listed."""

    status: Status
    n: int
    cases: list[CaseView]

    @property
    def n_more(self) -> int:
        """Cases of this status that the page only counts."""
        return self.n - len(self.cases)


@dataclass(frozen=True)
class Segment:
    """A part of the status bar, in percent of its width."""

    status: Status
    n: int
    start: float
    width: float


@dataclass(frozen=True)
class ScoreMove:
    """A dimension on which a case changed."""

    name: str
    change: ScoreChange


@dataclass(frozen=True)
class ChangedCase:
    """One case that changed."""

    change: CaseChange
    ref: CaseRef
    moves: list[ScoreMove]
    track: tuple[float, float] | None
    """Positions of its scores before and after, for ``charts.forest``."""


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
    cases: list[ChangedCase]
    n_cases_more: int
    spread: Histogram | None
    """Differences of the cases, where there are many."""
    forest: Forest
    """The axis of the differences of all these scores."""


@dataclass(frozen=True)
class View:
    """The page."""

    headline: HeadlineView | None
    """``None`` in results that promptlab did not write."""
    is_graded: bool
    """If true, a grade is shown: the file is an analysis input, which requests one."""
    bar: Bar
    n_judged: int
    """Number of cases in ``pass_rate``."""
    has_must_haves: bool
    """If true, a must-have of at least one case was evaluated."""
    segments: list[Segment]
    changes: ChangesView | None
    """``None`` without a baseline."""
    alerts: list[tuple[Severity, list[AlertView]]]
    n_alerts_more: int
    dimensions: list[DimensionView]
    n_dimensions_more: int
    case_groups: list[CaseGroup]
    facets: Facets
    n_cases_listed: int
    n_cases_more: int
    is_short: bool
    """True if less of each case is listed than usual."""
    prompt: PromptView | None
    provenance: Provenance | None
    env: list[Field]
    extras: list[Field]
