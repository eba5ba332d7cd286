"""A pipeline, as described by its YAML file (``pipeline-evaluation.md``).

Only the keys for evaluation are declared; every other key (agents, flows, variants, …)
is kept unchanged.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from promptlab.contracts.base import Input, NonBlank


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


def _some(steps: list[PipelineStep]) -> list[PipelineStep]:
    if not steps:
        raise ValueError("expected at least one step")
    return steps


class Pipeline(Input):
    """A pipeline: its steps in order, and the step that is evaluated."""

    id: NonBlank
    """Identifies the pipeline."""

    name: str | None = None
    """Title for people."""

    steps: Annotated[list[PipelineStep], AfterValidator(_some)]
    """In the order they run."""

    evaluation_target: NonBlank | None = None
    """Step id or output key of the step whose output is the final one; ``None``: the
    last step."""

    default_testset: NonBlank | None = None
    """Id or file name of the testset that belongs to this pipeline."""
