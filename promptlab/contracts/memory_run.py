"""A file of the memory benchmark: the run of one conversation.

The format of memory-benchmark-format.md, with what later writers of it added
(``test_segments``, ``total_messages``, ``timing_summary``, ``memory_snapshots``). Only
what identifies an answer is required; everything else may be missing or null.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from promptlab.contracts.base import LARGEST, SMALLEST, Input, JsonObject, NonBlank

Whole = Annotated[int, Field(ge=SMALLEST, le=LARGEST)]
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
