"""The report of one memory run: ``memory.json``."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from promptlab.contracts.base import Contract, Share

MEMORY_FORMAT_VERSION = "2.0"
# 1.0  first version
# 1.1  comparisons with other runs, question by question; p90 and p99 of durations
# 2.0  intervals of scores; comparisons are in result.json, as those of any run

View = Literal["last_round", "by_round", "pooled"]
FailedCalls = Literal["as_zero", "left_out"]
Average = Literal["micro", "macro"]


class MemoryRun(Contract):
    """One run of a benchmark: a data set at a time, optionally with a memory system."""

    run_id: str
    dataset: str
    run_timestamp: str | None
    """As in the folder's or file's name."""
    memory_system: str | None
    started_at: datetime | None
    """``run_timestamp`` read as a time, UTC; ``None`` if it is not a time."""
    previous_run_id: str | None
    """The previous run of the same data set and memory system."""
    right_metric: str | None
    """The metric that decides whether an answer is right."""
    score_metric: str | None
    """The metric that is the score of the run: ``cmrc_f1`` where ``chinese_match``
    decides, since that leaves answers undecided; else ``right_metric``."""
    right_threshold: Share | None
    """Minimum value of ``right_metric`` of a right answer."""
    n_tasks: int
    n_rounds: int
    """Maximum number of rounds of a task."""
    total_sessions: int | None
    total_dialogs: int | None
    n_questions: int | None
    """Questions of the data set, invalid ones included."""
    n_valid: int | None
    n_invalid: int
    n_asked: int
    """Different questions that were asked at least once."""
    n_never_asked: int | None
    n_answers: int
    """Answers of all rounds."""
    n_failed: int
    """Answers of all rounds whose call failed."""


class MemoryCategory(Contract):
    """A category of questions, a group of categories, or all of them."""

    category: str
    name: str | None
    """In the report's language; ``None`` if the data set has no value."""
    kind: Literal["all", "group", "category"]


class MemoryScore(Contract):
    """One figure, with everything it depends on."""

    view: View
    test_index: int | None
    """The round; view ``by_round`` only."""
    failed_calls: FailedCalls
    category: str
    average: Average
    metric: str
    n_questions: int
    """Number of answers in the mean."""
    n_failed: int
    n_tasks: int
    mean_dialogs_inserted: float | None
    """View ``by_round``: dialogs in memory when the questions were asked."""
    score: Share | None
    ci_low: Share | None
    """95% interval, clustered by conversation; ``None`` if undefined."""
    ci_high: Share | None
    is_headline: bool
    """Last round, failed calls as zero, micro average: the figures to quote."""


class MemoryRetention(Contract):
    """Share of questions right in a round that are still right ``lag`` rounds later."""

    lag: int
    metric: str
    threshold: Share
    failed_calls: FailedCalls
    n_right_before: int
    n_still_right: int
    n_failed: int
    """Left out: the later call failed."""
    retention: Share | None


class MemoryTask(Contract):
    """One conversation of the run."""

    task_id: str
    n_rounds: int
    total_dialogs: int | None
    n_questions: int | None
    n_asked: int
    n_never_asked: int | None
    n_answers: int
    n_failed: int


class MemoryAnswer(Contract):
    """One answer of the last round that was wrong, failed, or could not be judged."""

    task_id: str
    question_index: int
    category: str | None
    question_text: str
    predicted_answer: str | None
    reference_answer: Any
    """Text, number or list, as given; ``None`` = missing."""
    status: str
    error: str | None
    score: Share | None
    """Score by the run's ``right_metric``."""


class ForgottenQuestion(Contract):
    """A question that was right in one round and wrong in a later one."""

    task_id: str
    question_index: int
    category: str | None
    question_text: str
    right_test_index: int
    forgotten_test_index: int
    answer_before: str | None
    answer_after: str | None
    reference_answer: Any
    last_status: str
    """Status when it was last asked; ``pass``: it recovered."""


class InvalidReason(Contract):
    """A reason for questions that were never asked."""

    reason: str | None
    n_questions: int
    n_tasks: int


class MemoryTiming(Contract):
    """Durations of one stage of inserting or retrieving, in milliseconds."""

    operation: str
    stage: str
    n_tasks: int
    n_calls: int
    mean_ms: float | None
    min_ms: float | None
    p50_ms: float | None
    """``None`` if the files list only some of the calls."""
    p90_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None


class MemoryResult(Contract):
    """The complete result of one memory run."""

    run: MemoryRun
    categories: list[MemoryCategory]
    scores: list[MemoryScore]
    previous_headline: list[MemoryScore]
    """Headline figures over all categories of ``run.previous_run_id``."""
    retention: list[MemoryRetention]
    tasks: list[MemoryTask]
    n_wrong: int
    """Answers of the last round that were not right; ``wrong`` may list fewer."""
    wrong: list[MemoryAnswer]
    n_forgotten: int
    """Questions once forgotten; ``forgotten`` may list fewer."""
    forgotten: list[ForgottenQuestion]
    invalid_reasons: list[InvalidReason]
    timings: list[MemoryTiming]
    lang: str
    generated_at: datetime
    version: str
    """Version of this format; ``MEMORY_FORMAT_VERSION`` documents its history."""
    package_version: str

    @property
    def metrics(self) -> list[str]:
        """Metrics with a headline figure, the run's own first."""
        scored = (
            s.metric for s in self.scores if s.is_headline and s.score is not None
        )
        main_metric = self.run.score_metric
        return sorted(dict.fromkeys(scored), key=lambda metric: metric != main_metric)

    def headline(self, category: str, metric: str | None) -> MemoryScore | None:
        """Return the figure to quote of a category by a metric."""
        of_metric = (s for s in self.scores if s.is_headline and s.metric == metric)
        return next((s for s in of_metric if s.category == category), None)
