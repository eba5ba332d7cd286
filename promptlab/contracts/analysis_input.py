"""Inputs of an analysis: tasks with their rounds, evaluation results, scores.

Scalars of the analysis contract (section 3) are required, containers may be left out
and are then empty, and a field that may be null may be left out too. Unknown keys are
accepted here and named as warnings when a file is ingested.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from promptlab.contracts.base import (
    LARGEST,
    CaseId,
    Input,
    JsonObject,
    Moment,
    NonBlank,
    Share,
)

Count = Annotated[int, Field(ge=0, le=LARGEST)]
"""A whole number, not negative."""

BaselineType = Literal["golden_answer", "rules", "script", "manual_note"]
ScoringMode = Literal["higher_better", "lower_better", "range"]


class TestTaskMeta(Input):
    """One run of a test: version, model, environment, trigger (section 3.2)."""

    __test__ = False  # the contract's name makes pytest think that this is a test

    task_id: NonBlank
    """Identifies the task everywhere, e.g. a test run id."""
    title: str
    """Name for people; tasks of one title are one history."""
    prompt_version: str
    """Version of the prompt, or the branch of an experiment."""
    model: str
    """The model, with its vendor: ``vendor/model``."""
    triggered_by: str
    """Trigger of the run, e.g. ``manual``, ``ci``, ``schedule``."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment, e.g. region; ``testset`` or ``dataset`` names the testset and
    ``pipeline`` the pipeline."""
    created_at: Moment
    """Time at which the task was created; without a zone: UTC."""
    run_id: str | None = None
    """The run that this task is a part of; without it the task is a separate run."""
    variant: str | None = None
    """Name of what is compared inside the title; without it the model."""
    branch: str | None = None
    """Branch that was evaluated."""
    commit: str | None = None
    """Commit that was evaluated."""


class RoundRun(Input):
    """One answer of the model to one case (section 3.4)."""

    round_id: NonBlank
    """Unique in its case, usually ``<case_id>-<run_index>``."""
    run_index: Annotated[int, Field(ge=1, le=LARGEST)]
    """Number of the round in its case, from 1."""
    raw_output: str
    """The model's output as it came."""
    parsed_output: JsonObject | None = None
    """The output as an object; null when there is none."""
    input_tokens: Count | None = None
    """Tokens sent; null when not counted."""
    output_tokens: Count | None = None
    """Tokens received; null when not counted."""
    latency_ms: Count | None = None
    """Wall time of the request in milliseconds; null when not measured."""
    metadata: JsonObject = Field(default_factory=dict)
    """Anything about the request: parameters, ``error``, ``error_code``,
    ``step_outputs``."""
    executed_at: Moment
    """Time of the request; without a zone: UTC."""


class BaselineSpec(Input):
    """A reference for one case (section 3.5)."""

    baseline_id: NonBlank
    """Identifies the baseline."""
    type: BaselineType
    """Content type of ``payload``."""
    payload: JsonObject
    """The reference: an answer, rules, the path of a script, a note."""
    owner: str
    """Its owner or origin."""
    confidence: Share | None = None
    """Confidence in it, 0–1; weight of the case's score. Null counts as 1."""


class TestCaseBundle(Input):
    """One case: its context, its rounds, its references (section 3.3)."""

    __test__ = False

    case_id: CaseId
    """Unique in the task; pairs the case with its testset and with earlier tasks."""
    context: JsonObject = Field(default_factory=dict)
    """Variables of the case: the user's input and its context."""
    rounds: list[RoundRun]
    """Every answer to this case."""
    baselines: list[BaselineSpec] = Field(default_factory=list)
    """References to compare the answers with."""
    tags: list[str] = Field(default_factory=list)
    """Labels, e.g. business, intent, risk."""
    cluster: NonBlank | None = None
    """What the case shares with others, e.g. its conversation or document."""


class DimensionConfig(Input):
    """One aspect of the task that is scored (section 3.6)."""

    dimension_id: NonBlank
    """Unique in the task; names the scorer unless ``parameters.scorer`` does."""
    name: str
    """Name for people."""
    weight: Share
    """Weight in the overall score, 0–1; weights need not sum to 1."""
    target: JsonObject = Field(default_factory=dict)
    """The targets, e.g. ``min_score``, ``max_ms``."""
    parameters: JsonObject = Field(default_factory=dict)
    """Parameters of the scorer, e.g. ``match_rule``, ``must``."""
    scoring_mode: ScoringMode
    """Direction of better values."""


class AnalysisInput(Input):
    """One task with everything needed to score it (section 3.1)."""

    task: TestTaskMeta
    """The rounds of every case."""
    cases: list[TestCaseBundle]
    """Its cases; ``case_id`` is unique."""
    dimensions: list[DimensionConfig] = Field(default_factory=list)
    """The dimensions to score; ``dimension_id`` is unique."""
    extras: JsonObject = Field(default_factory=dict)
    """Free; returned unchanged. ``testset`` and ``pipeline`` name those of the task."""

    @field_validator("cases")
    @classmethod
    def _case_ids_are_unique(cls, cases: list[TestCaseBundle]) -> list[TestCaseBundle]:
        refuse_twins("case_id", (case.case_id for case in cases))
        return cases

    @field_validator("dimensions")
    @classmethod
    def _dimension_ids_are_unique(
        cls, dimensions: list[DimensionConfig]
    ) -> list[DimensionConfig]:
        refuse_twins(
            "dimension_id", (dimension.dimension_id for dimension in dimensions)
        )
        return dimensions


def refuse_twins(key: str, ids: Iterable[str]) -> None:
    """Raise an error for the first duplicate in *ids*.

    Raises:
        PydanticCustomError: ``duplicate_<key>``; its context holds ``below``, the
            position of the duplicate in the list.
    """
    positions: dict[str, int] = {}
    for position, value in enumerate(ids):
        first = positions.setdefault(value, position)
        if first != position:
            raise PydanticCustomError(
                f"duplicate_{key}",
                "{key} {value} stands twice, first at position {first}",
                {"key": key, "value": repr(value), "first": first}
                | {"below": (position, key)},
            )


# ---------- one evaluation result: the guide's 评估结果结构 (pipeline-evaluation.md)


class EvaluationRecord(Input):
    """One sample that a pipeline was evaluated on.

    The first ten fields are the guide's, the others are ours and optional.
    ``sample_id``, ``entity_id`` and ``variant`` identify the result; everything else
    may be missing, which means "not known".
    """

    sample_id: CaseId
    """The case; a repeated sample has several rounds."""
    entity_type: str | None = None
    """Type of the evaluated entity: ``pipeline``, ``agent``."""
    entity_id: NonBlank
    """Its id, e.g. the pipeline's."""
    variant: NonBlank
    """Its variant or version."""
    overall_score: Annotated[float, Field(ge=0, le=10)] | None = None
    """The judge's score, 0–10; null when no judge ran."""
    must_have_pass: bool | None = None
    """The evaluator's own verdict; null without a verdict."""
    judge_feedback: str | None = None
    """Comment of the judge or the evaluator."""
    execution_time: Annotated[float, Field(ge=0)] | None = None
    """Wall time in seconds; null when not measured."""
    step_outputs: JsonObject = Field(default_factory=dict)
    """Step → its output; keys that start with ``_`` are earlier verdicts."""
    failed_steps: list[str] = Field(default_factory=list)
    """Steps that failed."""

    round_id: NonBlank | None = None
    """Ours: unique in the case; ``<sample_id>-<n>`` where missing."""
    run_id: NonBlank | None = None
    """Ours: the task's id; else ``<entity_id>/<variant>/<file name>``."""
    testset: str | None = None
    """Ours: the testset that the sample is from."""
    pipeline: str | None = None
    """Ours: the pipeline that ran, if ``entity_id`` is not a pipeline."""
    title: str | None = None
    """Ours: the task's name; else ``entity_id``."""
    prompt_version: str | None = None
    """Ours: else ``variant``."""
    model: str | None = None
    """Ours: the model, with its vendor."""
    triggered_by: str | None = None
    """Ours: trigger of the run."""
    final_output: Any = None
    """Ours: the final output, any JSON value; null when it is in ``step_outputs``."""
    raw_output: str | None = None
    """Ours: the final output as the model wrote it."""
    inputs: JsonObject = Field(default_factory=dict)
    """Ours: the input of the sample, if it is not in a testset."""
    prompt: str | list[JsonObject] | None = None
    """Ours: the task's prompt, a text or messages with ``role`` and ``content``."""
    tags: list[str] = Field(default_factory=list)
    """Ours: labels of the case."""
    status: str | None = None
    """Ours: the evaluator's verdict, ``pass``, ``fail``, ``error`` or ``unevaluated``;
    it is used if no testset of the warehouse has expectations for the sample."""
    error: str | bool | JsonObject | None = None
    """Ours: the error that prevented a usable output; else null, "" or false."""
    rule_violations: list[str | JsonObject] = Field(default_factory=list)
    """Ours: broken rules; the default of an object's ``severity`` is ``must``."""
    input_tokens: Count | None = None
    """Ours: tokens sent; null when not counted."""
    output_tokens: Count | None = None
    """Ours: tokens received; null when not counted."""
    metadata: JsonObject = Field(default_factory=dict)
    """Ours: anything about the request. Unknown keys are kept in it."""
    created_at: Moment | None = None
    """Ours: when the task was created; else its earliest ``executed_at``."""
    executed_at: Moment | None = None
    """Ours: when the sample was run; without a zone: UTC."""


# ---------- a score of one round from outside of SQL


class ScoreRecord(Input):
    """One line of a scores file (JSONL); it may arrive before its task."""

    task_id: NonBlank
    """The task that is scored."""
    case_id: CaseId
    """The case in it."""
    round_id: NonBlank
    """The round of the case."""
    dimension_id: NonBlank
    """The dimension that the score is for."""
    score: Annotated[float, Field(ge=0)] | None
    """From 0 to ``scale``, ``scale`` best; null: the scorer could not judge."""
    scale: Annotated[float, Field(gt=0)] = 1.0
    """The maximum score, e.g. 10; the score counts as ``score / scale``."""
    summary: str | None = None
    """The reason for the score, in one line."""
    payload: JsonObject = Field(default_factory=dict)
    """Evidence: snippets, the judge's answer, sub-scores."""
    scorer: NonBlank
    """Name of the scorer."""
    scorer_version: str | None = None
    """Version of the scorer, or the model behind the judge."""

    @model_validator(mode="after")
    def _score_is_within_its_scale(self) -> ScoreRecord:
        if self.score is not None and self.score > self.scale:
            raise PydanticCustomError(
                "score_above_scale",
                "{score} is more than its scale {scale}",
                {"score": self.score, "scale": self.scale, "below": ("score",)},
            )
        return self
