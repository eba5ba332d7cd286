"""Analysis input: the input half of the analysis contract (section 3).

Scalars of the contract are required, containers may be left out and are then empty,
and a field that may be null may be left out too. Unknown keys are accepted here and
named as warnings when a file is ingested.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from promptlab.contracts.base import CaseId, Input, JsonObject, Moment, NonBlank, Share

LARGEST = 2**63 - 1
"""The largest integer that the warehouse keeps."""

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
        refuse_twins("dimension_id", (each.dimension_id for each in dimensions))
        return dimensions


def refuse_twins(key: str, ids: Iterable[str]) -> None:
    """Raise an error for the first duplicate in *ids*.

    Raises:
        PydanticCustomError: ``duplicate_<key>``; its context holds ``below``, the
            position of the duplicate in the list.
    """
    seen: dict[str, int] = {}
    for position, each in enumerate(ids):
        first = seen.setdefault(each, position)
        if first != position:
            raise PydanticCustomError(
                f"duplicate_{key}",
                "{key} {value} stands twice, first at position {first}",
                {"key": key, "value": repr(each), "first": first}
                | {"below": (position, key)},
            )
