"""The evaluator's view of a pipeline: its steps and its evaluation target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from promptlab.errors import UsageError


@dataclass(frozen=True, slots=True)
class StepOutline:
    """One step of a pipeline."""

    id: str
    output_key: str | None = None
    """The key of its output in the step outputs, if it is not its id."""

    required: bool = True
    """False: the pipeline continues without it."""


@dataclass(frozen=True, slots=True)
class PipelineOutline:
    """The part of a pipeline's configuration that evaluation depends on."""

    id: str
    steps: tuple[StepOutline, ...] = ()
    evaluation_target: str | None = None
    """Id or output key of the step with the final output; default: the last."""

    def step(self, name: str) -> StepOutline | None:
        """Return the step with this id, else the last one with this output key."""
        by_id = (step for step in self.steps if step.id == name)
        by_key = (step for step in reversed(self.steps) if step.output_key == name)
        return next(by_id, None) or next(by_key, None)

    def requires(self, name: str) -> bool:
        """Return true if a step is required; unknown steps are."""
        step = self.step(name)
        return step is None or step.required

    @classmethod
    def of(cls, config: Any) -> PipelineOutline:
        """Read a configuration: a mapping as in YAML, or an object of such fields.

        Raises:
            UsageError: ``id`` is missing, or ``steps`` is not a list of steps with ids.
        """
        if isinstance(config, PipelineOutline):
            return config
        if isinstance(config, str) or _field(config, "id") is None:
            raise UsageError(
                f"pipeline_config is {config!r}; pass load_pipeline_config('<id>'), or "
                'an object such as {"id": "my_pipeline", "steps": [{"id": "step1"}]}'
            )
        steps = _field(config, "steps") or []
        if not isinstance(steps, list | tuple):
            raise UsageError(f"pipeline {_field(config, 'id')!r}: steps is not a list")
        target = _field(config, "evaluation_target")
        return cls(
            id=str(_field(config, "id")),
            steps=tuple(_step(step, place) for place, step in enumerate(steps)),
            evaluation_target=None if target is None else str(target),
        )


def _step(step: Any, place: int) -> StepOutline:
    step_id, output_key = _field(step, "id"), _field(step, "output_key")
    if step_id is None:
        raise UsageError(f"pipeline_config: /steps/{place}: no id")
    return StepOutline(
        id=str(step_id),
        output_key=None if output_key is None else str(output_key),
        required=_field(step, "required") is not False,
    )


def _field(source: Any, name: str) -> Any:
    if isinstance(source, Mapping):
        return source.get(name)
    return getattr(source, name, None)
