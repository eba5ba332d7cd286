"""The result of a comparison: two tasks, paired case by case.

Scores, shares and differences of scores are 0–1 (a difference −1 to 1, above 0 is
better); p-values are not rounded. ``None`` means "not known" or "not defined", never 0.
Lists come in a fixed order, so the same warehouse gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from promptlab.contracts.base import Contract, Severity, Share, Status, html_table

COMPARISON_FORMAT_VERSION = "1.3"
# 1.0  first version
# 1.1  the variant of each side
# 1.2  how the differences of the cases are spread
# 1.3  the runs between the baseline and the candidate

Verdict = Literal[
    "improved", "regressed", "no_reliable_change", "inconclusive", "not_comparable"
]
Change = Literal["better", "worse", "same", "added", "removed", "not_comparable"]
StatusChange = Literal["newly_failing", "newly_fixed", "still_failing", "still_passing"]
MeasureVerdict = Literal[
    "improved", "regressed", "higher", "lower", "same", "inconclusive"
]
PairSource = Literal["accepted", "previous", "requested"]
HeldBack = Literal["too_few_pairs", "too_few_clusters", "adjusted_p"]
"""Reasons why a difference whose interval excludes 0 is not called a change."""


class ComparedTask(Contract):
    """One side of a comparison."""

    task_id: str
    title: str
    variant: str
    """The variant inside the title."""
    prompt_version: str
    model: str
    testset_id: str | None
    created_at: datetime
    """Time at which the task was created, UTC."""


class ScoreComparison(Contract):
    """The change of the overall score, a dimension or a tag over the pairs."""

    subject: str
    """``overall``, the dimension's id, or the tag."""
    name: str | None
    """The dimension's or the tag's name for people."""
    verdict: Verdict
    reason: str | None
    """Reason code if it is inconclusive or not comparable."""
    conclusion: str
    """The verdict in one sentence, in the requested language."""
    n_pairs: int
    """Comparable cases with a score on both sides."""
    n_better: int
    n_worse: int
    n_same: int
    baseline_score: Share | None
    """Unweighted mean of the baseline's case scores over the pairs."""
    candidate_score: Share | None
    unit: str | None = None
    """Unit of the measured value, such as ``ms`` or ``cost``; ``None`` for scores."""
    baseline_metric: float | None = None
    """Mean of the baseline in this unit, over all its rounds."""
    candidate_metric: float | None = None
    measured: str | None = None
    """Both means, formatted: ``3.5 s → 4.3 s``."""
    delta: float | None
    """Mean of candidate minus baseline."""
    ci_low: float | None
    """Lower end of the 95 % paired t interval of ``delta``, over clusters if cases have
    some."""
    ci_high: float | None
    p_value: float | None
    """Two-sided, paired t-test, over clusters if cases have some."""
    p_adjusted: float | None
    """After Benjamini–Hochberg over dimensions and tags; ``None`` for the overall."""
    smallest_detectable: float | None
    """The mean difference that this comparison detects with 80 % probability."""
    n_judged: int | None
    """Pairs that were judged on both sides."""
    n_lost: int | None
    """Of these, pairs that passed before and do not now."""
    n_gained: int | None
    """Of these, pairs that pass now and did not before."""
    mcnemar_p: float | None
    """McNemar's exact test of ``n_lost`` against ``n_gained``; ``None`` where cases
    have clusters."""

    @property
    def held_back_by(self) -> HeldBack | None:
        """The reason why a difference that looks clear is not called a change."""
        low, high = self.ci_low, self.ci_high
        is_clear = low is not None and high is not None and (low > 0 or high < 0)
        if not is_clear or self.verdict in ("improved", "regressed"):
            return None
        match self.reason:
            case "too_few_pairs" | "too_few_clusters" as reason:
                return reason
        return "adjusted_p"


class MeasureComparison(Contract):
    """The change of a number that is not a 0–1 score, over the pairs."""

    dimension_id: str
    name: str
    direction: Literal["higher_better", "lower_better"] | None
    """The direction, if the tool reports it."""
    verdict: MeasureVerdict
    """``higher`` and ``lower`` where no direction is known."""
    n_pairs: int
    """Cases with a value on both sides."""
    n_higher: int
    n_lower: int
    n_same: int
    baseline_value: float
    """Mean over the pairs, in the tool's unit."""
    candidate_value: float
    delta: float
    """Mean of candidate minus baseline."""
    ci_low: float | None
    """Lower end of the 95 % paired t interval of ``delta``."""
    ci_high: float | None
    p_value: float | None
    """Two-sided, paired t-test."""
    p_adjusted: float | None
    """After Benjamini–Hochberg over these numbers."""


class ScoreChange(Contract):
    """One case on one dimension, on both sides."""

    dimension_id: str
    baseline_score: Share
    candidate_score: Share
    delta: float


class CaseChange(Contract):
    """The change of one case."""

    case_id: str
    change: Change
    severity: Severity | None = None
    """Severity of a lost must-have or a drop in score."""
    reason: str | None = None
    """Reason code if it is not comparable."""
    reason_text: str | None = None
    """The reason as a sentence."""
    status_change: StatusChange | None = None
    baseline_status: Status | None = None
    candidate_status: Status | None = None
    baseline_score: Share | None = None
    candidate_score: Share | None = None
    delta: float | None = None
    must_have_lost: bool = False
    must_have_gained: bool = False
    dimensions: list[ScoreChange] = Field(default_factory=list)
    """Dimensions whose score changed, the largest change first."""


class ChangeCounts(Contract):
    """Units of a comparison, counted by change; each unit is counted once."""

    better: int
    worse: int
    same: int
    added: int
    removed: int
    not_comparable: int

    @property
    def changed(self) -> int:
        """Units that are anything but the same."""
        gone_or_new = self.added + self.removed + self.not_comparable
        return self.better + self.worse + gone_or_new


class CaseCounts(ChangeCounts):
    """Cases, counted by change; each case is in exactly one of the first six counts."""

    must_have_lost: int
    must_have_gained: int
    newly_failing: int
    newly_fixed: int


class Comparison(Contract):
    """Two tasks of the warehouse, the baseline being the "before"."""

    baseline: ComparedTask
    candidate: ComparedTask
    pair_source: PairSource
    """Reason for the comparison: the baseline is a run that a person ``accepted``, or
    the one before (``previous``), or it was ``requested``."""
    n_runs_between: int = 0
    """Runs of the candidate's variant between both. If the baseline is a ``previous``
    one, these are incomplete or of another branch."""
    verdict: Verdict
    """Verdict about the overall score."""
    conclusion: str
    """The overall verdict in one sentence."""
    notes: list[str]
    """Differences that limit the comparison, and other notes that no conclusion says;
    without full stops."""
    counts: CaseCounts
    overall: ScoreComparison
    differences: list[int] = Field(default_factory=list)
    """Cases by the difference of their scores, in 21 steps of 10 points from -100 to
    100; the middle one counts differences of less than 5 points."""
    dimensions: list[ScoreComparison]
    tags: list[ScoreComparison]
    measures: list[MeasureComparison] = Field(default_factory=list)
    """Numbers of other tools that are not on a scale from 0 to 1."""
    cases: list[CaseChange]
    """The worst first, the unchanged last; in a result only those that changed."""
    lang: str
    version: str
    """Version of this format; ``COMPARISON_FORMAT_VERSION`` documents its history."""

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        yield "baseline", self.baseline.task_id
        yield "candidate", self.candidate.task_id
        yield "verdict", self.verdict
        yield "delta", self.overall.delta
        yield "p_value", self.overall.p_value

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the conclusion and the scores."""
        return html_table(
            self.conclusion,
            ("", "baseline", "candidate", "difference", "low", "high", "verdict"),
            [
                (
                    score.name or score.subject,
                    score.baseline_score,
                    score.candidate_score,
                    score.delta,
                    score.ci_low,
                    score.ci_high,
                    score.verdict,
                )
                for score in (self.overall, *self.dimensions, *self.tags)
            ],
        )
