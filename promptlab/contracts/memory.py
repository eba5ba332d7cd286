"""The memory benchmark: a file of it (one conversation), and the report of one run.

The format of memory-benchmark-format.md, with what later writers of it added
(``test_segments``, ``total_messages``, ``timing_summary``, ``memory_snapshots``). Only
what identifies an answer is required; everything else may be missing or null.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from promptlab.contracts.base import Contract, Input, JsonObject, NonBlank, Share

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1

Whole = Annotated[int, Field(ge=_SMALLEST, le=_LARGEST)]
"""A whole number that fits the warehouse's type."""

MOST = 2**31 - 1
"""Maximum of a count; sums and differences of counts fit 64 bits."""

Count = Annotated[int, Field(ge=0, le=MOST)]
"""A count; a whole number, not negative."""

Ordinal = Annotated[int, Field(ge=-MOST, le=MOST)]
"""Number of a round, from 1."""

LONGEST_MS = 1e15
"""Maximum duration (30,000 years); sums stay finite."""

Milliseconds = Annotated[float, Field(ge=0, le=LONGEST_MS, allow_inf_nan=False)]
"""A duration in milliseconds."""


class ExperimentInfo(Input):
    """The data set and the conversation of the run."""

    dataset: NonBlank | None = None
    """Name of the data set, e.g. ``locomo``; where missing, the folder's."""
    task_id: NonBlank | Whole | None = None
    """The conversation, e.g. ``conv-26``; where missing, the file's name."""


class InvalidQuestion(Input):
    """A question of the data set that could not be asked."""

    question_index: Whole | None = None
    """Its position in the data set, numbered differently than the answers."""
    question: str | None = None
    """Its text."""
    reason: str | None = None
    """Reason code if it is invalid, e.g. ``no_evidence``."""


class DatasetStatistics(Input):
    """Size of the conversation."""

    total_sessions: Count | None = None
    """Sessions of the conversation."""
    total_dialogs: Count | None = None
    """Messages of the conversation."""
    total_messages: Count | None = None
    """Messages, in newer files."""
    total_questions: Count | None = None
    """Questions, the invalid ones too."""
    valid_questions: Count | None = None
    """Questions with evidence; some of them may never be asked."""
    invalid_questions: list[InvalidQuestion] = Field(default_factory=list)
    """Questions without evidence."""


class TestSummary(Input):
    """Number of times the questions were asked."""

    __test__ = False  # the format's name makes pytest think that this is a test

    total_tests: Count | None = None
    """Rounds of questions that were run."""
    test_threshold: str | None = None
    """Start of a round, in words."""
    test_segments: Count | None = None
    """Requested rounds, in newer files."""


class QuestionRange(Input):
    """The questions of one round, both ends included."""

    start: Whole | None = None
    """First ``question_index``, always 1 so far: rounds overlap."""
    end: Whole | None = None
    """Last ``question_index``."""


class RoundHead(Input):
    """One round of questions without the questions."""

    test_index: Ordinal
    """Number of the round in the file, from 1."""
    question_range: QuestionRange | None = None
    """The questions that were asked."""
    dialogs_inserted_count: Count | None = None
    """Messages inserted into the memory before the round."""


class Question(Input):
    """One question and the answer it got in one round.

    Unknown keys are fields of the data set about the question; they are kept.
    """

    question_index: Whole
    """Its position in the round's list; may change from round to round."""
    question_text: str
    """The question."""
    predicted_answer: Any = None
    """Answer of the system, normally text; ``[ERROR]`` when the call failed."""
    reference_answer: Any = None
    """The reference answer: text, a number, or a list whose best match counts."""
    evidence: Any = None
    """Position of the answer in the conversation."""
    category: Any = None
    """Kind of question, a number in LoCoMo; kept as given."""
    error: Any = None
    """Error of a failed call; null, "", false and 0 mean success."""


class MemoryRound(RoundHead):
    """One round of questions."""

    questions: list[Question]
    """All questions that can be answered at this point, from the first on."""


class StageTiming(Input):
    """Time of one stage over all its calls."""

    avg_ms: Milliseconds | None = None
    """Mean, in milliseconds."""
    min_ms: Milliseconds | None = None
    """Shortest."""
    max_ms: Milliseconds | None = None
    """Longest."""
    count: Count | None = None
    """Calls."""


class StageCall(Input):
    """Stage, e.g. ``pre_insert_ms`` → milliseconds of one call."""

    __pydantic_extra__: dict[str, Milliseconds | None]

    test_index: Ordinal | None = None
    """The round, if these are the means of its retrievals."""

    @property
    def stages(self) -> dict[str, float]:
        """Return the durations that are there."""
        return {
            name: duration
            for name, duration in self.__pydantic_extra__.items()
            if name.endswith("_ms") and duration is not None
        }

    @property
    def unknown(self) -> list[str]:
        """Return the keys that are not stages."""
        return [name for name in self.__pydantic_extra__ if not name.endswith("_ms")]


class OperationTimings(Input):
    """Times of inserting, or of retrieving."""

    summary: dict[str, StageTiming] = Field(default_factory=dict)
    """Stage, e.g. ``pre_insert_ms`` → its times."""
    details: list[StageCall] = Field(default_factory=list)
    """One entry per insert, or per round for its retrievals."""


class TimingSummary(Input):
    """Time spent outside of the language model."""

    insert_timings: OperationTimings | None = None
    """Writing messages into the memory."""
    retrieval_timings: OperationTimings | None = None
    """Retrieving memories for a question."""


class MemoryRunFile(Input):
    """A file of the memory benchmark."""

    experiment_info: ExperimentInfo = Field(default_factory=ExperimentInfo)
    """The tested system."""
    dataset_statistics: DatasetStatistics = Field(default_factory=DatasetStatistics)
    """Size of the conversation."""
    test_summary: TestSummary = Field(default_factory=TestSummary)
    """The test configuration."""
    test_results: list[MemoryRound]
    """The rounds, in order."""
    timing_summary: TimingSummary | None = None
    """Times, in newer files."""
    memory_snapshots: list[JsonObject] = Field(default_factory=list)
    """State of the memory at each round (``test_index``), with keys of the system."""


# ---------- the report of one run: ``memory.json``


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
        own = self.run.score_metric
        return sorted(dict.fromkeys(scored), key=lambda metric: metric != own)

    def headline(self, category: str, metric: str | None) -> MemoryScore | None:
        """Return the figure to quote of a category by a metric."""
        of_metric = (s for s in self.scores if s.is_headline and s.metric == metric)
        return next((s for s in of_metric if s.category == category), None)
