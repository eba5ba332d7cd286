"""The pages: what the index, a title, a run, a judge and the digest show.

Each page is one object, which its template takes and ``report --format json`` writes.
Names are those of the marts. Scores, shares and interval ends are 0–1; ``None`` means
"not known". Links and charts follow from these values and are not in them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from promptlab.contracts.base import Contract, Status
from promptlab.contracts.gate import Decision, GateResult, HeadlinePart

Course = Literal["worse", "cannot_tell", "better", "new", "unchanged"]
"""Where a title is going, the first that one of its variants has. Worse and better are
the verdict on its cases, or another level of its latency, cost or errors."""

Standing = Literal["leads", "within_chance", "behind", "not_compared"]
"""Where a variant stands against the one with the highest score."""


class Page(Contract):
    """What every page has."""

    generated_at: datetime
    """Time of the page, UTC."""
    lang: str
    """Language of its texts."""


# ---------- the index and the digest


class LevelChange(Contract):
    """A number whose level changed, beyond chance: ``fct_level_changes``."""

    measure: str
    is_worse: bool
    value_before: float
    value_now: float
    since_task_id: str
    since_at: datetime
    """Time of the first run at the present level, UTC."""
    text: str
    """``2.6 times slower since 24 Nov: 880 ms → 2.3 s``, in the page's language."""


class IndexVariant(Contract):
    """The newest result of a variant."""

    task_id: str
    title: str
    variant: str
    prompt_version: str
    model: str
    owner: str | None
    tags: list[str]
    """Tags of its cases."""
    created_at: datetime
    n_rows_held: int | None
    """Rows of a partial result; ``None``: all rows are there."""
    n_rows_claimed: int | None
    n_pass: int
    n_judged: int
    """Cases that passed, failed or ended in an error."""
    pass_rate: float | None
    overall_score: float | None
    delta: float | None
    """Difference from the baseline of its page."""
    drawn: list[float | None]
    """Pass rates of the last runs, or scores if nothing is judged, the oldest first."""
    course: Course
    decision: Decision
    headline: list[HeadlinePart]
    """The decision and its reasons; in a long index the same as ``brief``."""
    brief: str
    """The decision and its first reason."""
    n_broke: int
    n_watched: int
    """Other cases that newly fail."""
    since_at: datetime | None
    """Time of the run in which the first broken case began to fail."""
    moves: list[LevelChange]


class IndexEntry(Contract):
    """A title with its current variants, the worst first."""

    title: str
    course: Course
    variants: list[IndexVariant]


class JudgeName(Contract):
    """A judge with labels of people."""

    dimension_id: str
    """What it judges; ``verdict`` is the round as a whole."""
    judge: str


class IndexPage(Page):
    """The page of all titles: ``index.json``."""

    groups: dict[Course, list[IndexEntry]]
    """Titles by their course, the worst first; no group is empty."""
    n_titles: int
    n_more: int
    """Variants that are not listed, those of the oldest titles."""
    judges: list[JudgeName]


class FlakyCase(Contract):
    """A case that passes and fails though nothing changed, over all its prompts."""

    title: str
    variant: str
    case_id: str
    n_pass: int
    n_rounds: int
    n_flips: int


class DigestPage(Page):
    """Changes since a time: ``digest.json``."""

    since: datetime
    groups: dict[Course, list[IndexEntry]]
    """Titles with a run since then, by their course; no group is empty."""
    n_runs: int
    cost: float | None
    n_runs_before: int
    """Runs in as long a time before."""
    cost_before: float | None
    flaky: list[FlakyCase]
    """The worst flaky cases."""
    n_flaky: int

    @property
    def has_news(self) -> bool:
        """True if a title with a run since then is not unchanged."""
        return bool(self.groups.keys() - {"unchanged"})


# ---------- a title


class TitleRun(Contract):
    """A result of a title."""

    task_id: str
    variant: str
    run_number: int
    prompt_version: str
    model: str
    created_at: datetime
    overall_score: float | None
    ci_low: float | None
    ci_high: float | None
    n_pass: int
    n_judged: int
    pass_rate: float | None
    pass_rate_low: float | None
    pass_rate_high: float | None
    latency_p50: float | None
    cost_total: float | None
    error_share: float | None
    answer_chars_mean: float | None
    output_tokens_mean: float | None
    n_newly_failing: int | None
    """Cases that passed when they were last judged, and fail."""
    n_newly_in_error: int | None
    n_newly_fixed: int | None


class TitleVersion(Contract):
    """The newest result of a prompt version: ``fct_leaderboard``."""

    task_id: str
    variant: str
    prompt_version: str
    score_rank: int | None
    overall_score: float | None
    ci_low: float | None
    ci_high: float | None
    pass_rate: float | None
    n_tasks: int
    overlaps_leader: bool | None


class TitleCase(Contract):
    """A case that is broken, watched or not always the same."""

    case_id: str
    statuses: dict[str, Status]
    """By the task."""
    changes: dict[str, str]
    """Status changes, by the task."""
    n_pass: int | None
    """Rounds that passed with the newest prompt, if the case is flaky."""
    n_rounds: int | None
    is_listed: bool
    """True if it is broken or watched in the newest run."""


class TitleCases(Contract):
    """Cases of a variant, in its newest runs."""

    variant: str
    task_ids: list[str]
    """The results, the oldest first."""
    cases: list[TitleCase]
    """Broken and watched ones first."""
    n_open: int
    """The first ones, which are not folded."""
    n_more: int


class TitlePage(Page):
    """The page of a title: ``title.json``."""

    title: str
    gates: dict[str, GateResult]
    """Decisions on the current variants by their task, the worst first."""
    moves: dict[str, list[LevelChange]]
    """What is at another level in these, by their task."""
    n_runs: int
    n_results: int
    runs: list[TitleRun]
    """Results, the newest first; 400 at most."""
    variants: list[str]
    """Drawn variants, the current ones first."""
    n_variants_more: int
    versions: list[TitleVersion]
    cases: list[TitleCases]


# ---------- a judge


class CorrectedRate(Contract):
    """The rate of a judge, corrected for its errors: ``fct_corrected_pass_rates``."""

    task_id: str
    dimension_id: str
    judge: str
    measure: str
    method: str | None
    """How the rate was corrected; ``None``: it could not be."""
    reason: str | None
    """Why there is no corrected rate, or why not to rely on it."""
    n_rounds: int
    n_passed: int | None
    """Rounds that the judge passed; ``None`` for scores."""
    raw_rate: float | None
    corrected_rate: float | None
    ci_low: float | None
    ci_high: float | None
    n_labels_pass: int
    n_labels_fail: int
    tnr: float | None
    tnr_low: float | None
    tnr_high: float | None


class RateOfDimension(CorrectedRate):
    """The corrected rate of a variant on the page of its run."""

    name: str | None
    """Name of the dimension."""


class RateOfResult(CorrectedRate):
    """The corrected rate of a result on the page of its judge."""

    title: str
    variant: str
    created_at: datetime


class JudgeAgreement(Contract):
    """A judge against people: ``fct_judge_agreement``."""

    slice_kind: str
    slice: str | None
    reason: str | None
    """Why not to rely on the rates."""
    n_cases: int
    n_judged: int
    n_unjudged: int
    n_disputed: int
    n_pass: int
    """Answers that people passed."""
    n_fail: int
    n_both_pass: int
    n_only_judge_fails: int
    n_only_judge_passes: int
    n_both_fail: int
    tpr: float | None
    """Share of the passes of people that the judge kept."""
    tpr_low: float | None
    tpr_high: float | None
    tnr: float | None
    """Share of the failures of people that the judge caught."""
    tnr_low: float | None
    tnr_high: float | None
    leniency: float | None
    leniency_p: float | None
    cohens_kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    gwet_ac1: float | None
    n_labelled_twice: int
    people_agreement: float | None
    people_alpha: float | None
    is_weighted: bool
    """True if a rate differs from that of the counts."""


class JudgeStability(Contract):
    """A judge that was asked the same twice: ``fct_judge_stability``."""

    n_outputs: int
    stability: float | None
    n_both_places: int
    n_same_in_both_places: int
    position_p: float | None


class JudgeChange(Contract):
    """Two judges of the same answers: ``fct_judge_changes``."""

    judge_before: str
    judge_after: str
    n_outputs: int
    n_only_before_right: int
    n_only_after_right: int
    p_value: float | None


class JudgeDifference(Contract):
    """An answer on which the judge and people differ."""

    task_id: str
    case_id: str
    round_id: str
    truth: Status
    """The verdict of people."""
    verdict: Status
    """That of the judge."""
    comment: str | None


class JudgePage(Page):
    """The page of a judge: ``judge.json``."""

    dimension_id: str
    judge: str
    name: str
    """What it judges."""
    agreement: JudgeAgreement
    slices: dict[str, list[JudgeAgreement]]
    """By tag, length, model and so on, where there are several."""
    stability: JudgeStability | None
    rates: list[RateOfResult]
    """Of the newest results."""
    changes: list[JudgeChange]
    differences: list[JudgeDifference]
    """Failures that the judge passed first."""
    n_differences: int


# ---------- a run


class RunVariant(Contract):
    """A current variant, against the one with the highest score."""

    task_id: str
    variant: str
    prompt_version: str
    model: str
    created_at: datetime
    is_partial: bool
    gate: GateResult
    n_pass: int
    n_judged: int
    pass_rate: float | None
    pass_rate_low: float | None
    pass_rate_high: float | None
    overall_score: float | None
    ci_low: float | None
    ci_high: float | None
    latency_p50: float | None
    latency_p95: float | None
    cost_total: float | None
    cost_per_pass: float | None
    tokens_total: float | None
    standing: Standing
    delta: float | None
    """Mean difference of the case scores from those of the leader."""
    n_only_here: int | None
    """Cases that pass with this variant and not with the leader."""
    n_only_leader: int | None
    p_adjusted: float | None
    cost_ratio: float | None
    is_on_front: bool | None
    """True if no other variant is as good and cheaper, or as cheap and better."""
    judges: list[RateOfDimension]


class RunCell(Contract):
    """A case in a variant."""

    status: Status
    n_rounds: int
    n_rounds_passed: int
    status_change: str
    """Against the baseline of its page; empty without one."""


class RunCase(Contract):
    """A case in all variants."""

    case_id: str
    cells: dict[str, RunCell]
    """By the task of the variant."""
    n_newly_failing: int
    n_failing: int
    is_split: bool
    """True if the variants differ."""


class RunPage(Page):
    """The variants of a title side by side: ``run.json``."""

    title: str
    created_at: datetime
    """Time of the newest result."""
    primary_metric: str | None
    """The metric that the score is, if it is the same in all variants."""
    variants: list[RunVariant]
    """The leader first."""
    cases: list[RunCase]
    """Newly failing ones first, then those that fail in most variants."""
    n_cases: int
