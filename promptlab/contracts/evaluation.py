"""One evaluation result: the guide's 评估结果结构 (pipeline-evaluation.md)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from promptlab.contracts.analysis_input import Count
from promptlab.contracts.base import CaseId, Input, JsonObject, Moment, NonBlank


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
