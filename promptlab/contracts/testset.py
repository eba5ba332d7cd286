"""A test case (``testset-format.md``, version 2.0), and the pipeline that it tests.

Records of version 1.0 become this shape when ``ingest.testsets.records`` reads them.
Types are checked here; checks across fields or records are there. Of a pipeline's YAML
file only the keys for evaluation are declared (``pipeline-evaluation.md``); every other
key (agents, flows, variants, …) is kept unchanged.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from promptlab.contracts.base import CaseId, Input, JsonObject, NonBlank

Tolerance = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A number of at least 0; ``true`` is not a number."""


class EvaluationOptions(Input):
    """Options for judging a case: its ``evaluation_config`` with all defaults."""

    evaluate_intermediate: bool = True
    """Judge the steps that have an expectation. Only an explicit false turns it off."""

    evaluate_final: bool = True
    """Judge the final output if ``expected_outputs`` names any field."""

    evaluate_aggregation: bool = True
    """Judge the aggregation if ``expected_aggregation`` is given."""

    strict_mode: bool = False
    """If true, objects may only have the expected keys, at every depth."""

    tolerance: Tolerance = 0.0
    """Allowed difference of a number: absolute, inclusive; 0 means equal."""

    ignore_fields: list[str] = Field(default_factory=list)
    """Names of keys that are left out at every depth, in expected and actual."""


_DEFAULT_OPTIONS = EvaluationOptions()


def _check_config(config: JsonObject) -> JsonObject:
    if config:
        EvaluationOptions.model_validate(config)
    return config


class TestCase(Input):
    """One test case: the inputs of a pipeline and the expected outputs."""

    __test__ = False  # its name looks like a test to pytest

    id: CaseId
    """Identifies the case, unique in its testset; any text that is not blank."""

    tags: list[str] = Field(default_factory=list)
    """Labels to filter and group by."""

    inputs: JsonObject = Field(default_factory=dict)
    """Input of the whole pipeline, given to its first step."""

    step_inputs: dict[str, JsonObject] = Field(default_factory=dict)
    """Step id → further input of that step."""

    batch_items: list[JsonObject] | None = None
    """Items that a batch step processes one by one; ``None``: not a batch."""

    expected_outputs: JsonObject = Field(default_factory=dict)
    """Field of the final output → expectation."""

    expected_aggregation: Any = None
    """Expectations for the aggregation step; ``None``: no expectations."""

    intermediate_expectations: JsonObject = Field(default_factory=dict)
    """Step id → expectation for the step's output."""

    evaluation_config: Annotated[JsonObject, AfterValidator(_check_config)] = Field(
        default_factory=dict
    )
    """Judging options as written; ``options`` has them with all defaults."""

    raw_data: JsonObject = Field(default_factory=dict)
    """The record as written, fields unknown to the format included."""

    @property
    def options(self) -> EvaluationOptions:
        """The options for judging this case, with all defaults."""
        if not self.evaluation_config:
            return _DEFAULT_OPTIONS
        return EvaluationOptions.model_validate(self.evaluation_config)


class PipelineStep(Input):
    """One step of a pipeline."""

    id: NonBlank
    """Identifies the step, unique in the pipeline."""

    output_key: NonBlank | None = None
    """Name under which the step's output is stored; ``None``: only the step id."""

    type: str | None = None
    """Kind of step, such as ``batch_aggregator``; ``None``: an ordinary one."""

    required: bool = True
    """If true (the default), a round is an error when this step fails."""


def _at_least_one(steps: list[PipelineStep]) -> list[PipelineStep]:
    if not steps:
        raise ValueError("expected at least one step")
    return steps


class Pipeline(Input):
    """A pipeline: its steps in order, and the step that is evaluated."""

    id: NonBlank
    """Identifies the pipeline."""

    name: str | None = None
    """Title for people."""

    steps: Annotated[list[PipelineStep], AfterValidator(_at_least_one)]
    """In the order they run."""

    evaluation_target: NonBlank | None = None
    """Step id or output key of the step whose output is the final one; ``None``: the
    last step."""

    default_testset: NonBlank | None = None
    """Id or file name of the testset that belongs to this pipeline."""
