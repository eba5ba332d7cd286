"""The evaluator's view of a pipeline: its steps and its evaluation target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from promptlab.errors import UsageError
from promptlab.evaluator.matching import MISSING


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
    def from_config(cls, config: Any) -> PipelineOutline:
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


# ---------- outputs


STEP_ID: Final = "step_id"
OUTPUT_KEY: Final = "output_key"
TOOL_CALL: Final = "tool_call"
AGGREGATION_KEY: Final = "aggregation_key"
AGGREGATION_OUTPUT: Final = "aggregation_output"
FINAL_OUTPUT: Final = "final_output"
EVALUATION_TARGET: Final = "evaluation_target"
PARSED_OUTPUT: Final = "parsed_output"
RAW_OUTPUT: Final = "raw_output"
STEP_OUTPUTS: Final = "step_outputs"

AGGREGATION_WORDS: Final = ("aggregat", "batch")
"""Words that mark the key of an aggregation, in any case; the first word wins."""


@dataclass(frozen=True, slots=True)
class FoundOutput:
    """An output, or ``MISSING``, and its source."""

    value: Any = MISSING
    source: str | None = None

    @property
    def is_missing(self) -> bool:
        """True if nothing was found."""
        return self.value is MISSING


@dataclass(frozen=True, slots=True)
class FinalOutput(FoundOutput):
    """The final output, with the output key of its step."""

    output_key: str | None = None


def visible(step_outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the earlier verdicts: keys that start with ``_``."""
    return {
        key: value for key, value in step_outputs.items() if not key.startswith("_")
    }


def step_output(
    step_id: str,
    steps: Mapping[str, Any],
    pipeline: PipelineOutline | None,
    calls: Mapping[str, Any],
) -> FoundOutput:
    """Return the output of step *step_id*: by its id, its output key, or as a call."""
    if step_id in steps:
        return FoundOutput(steps[step_id], STEP_ID)
    by_id = (step for step in _steps_of(pipeline) if step.id == step_id)
    step = next(by_id, None)
    if step is not None and step.output_key is not None and step.output_key in steps:
        return FoundOutput(steps[step.output_key], f"{OUTPUT_KEY}:{step.output_key}")
    if step_id in calls:
        return FoundOutput(calls[step_id], TOOL_CALL)
    return FoundOutput()


def aggregation(steps: Mapping[str, Any], final: FoundOutput) -> FoundOutput:
    """Return the aggregation: the first step output named like one, else the final."""
    for word in AGGREGATION_WORDS:
        for key, value in steps.items():
            if word in key.lower() and value is not None:
                return FoundOutput(value, f"{AGGREGATION_KEY}:{key}")
    return FoundOutput(final.value, final.source)


def final_output(
    output: Any,
    steps: Mapping[str, Any],
    *,
    target: str | None = None,
    pipeline: PipelineOutline | None = None,
    parsed_output: Any = None,
    raw_output: str | None = None,
    are_own_steps: bool = True,
) -> FinalOutput:
    """Return the final output.

    Args:
        output: The final output as the pipeline names it; ``None`` if it does not.
        steps: The visible step outputs.
        target: The evaluation target; default: the pipeline's.
        pipeline: The pipeline, if known.
        parsed_output: The round's parsed output.
        raw_output: The round's raw output.
        are_own_steps: False: the parsed output replaces step outputs; its last
            member is not a last step.
    """
    name, step = _target(target, steps if are_own_steps else {}, pipeline)
    output_key = name if step is None else step.output_key or name
    if output is not None:
        return FinalOutput(output, FINAL_OUTPUT, output_key)
    names = (name,) if step is None else (name, step.output_key, step.id)
    for key in names:
        if key is not None and key in steps:
            return FinalOutput(steps[key], f"{EVALUATION_TARGET}:{key}", output_key)
    if parsed_output is not None:
        return FinalOutput(parsed_output, PARSED_OUTPUT, output_key)
    if raw_output is not None:
        return FinalOutput(raw_output, RAW_OUTPUT, output_key)
    return FinalOutput(output_key=output_key)


def final_field(
    key: str, final: FinalOutput, steps: Mapping[str, Any], *, is_only: bool = False
) -> FoundOutput:
    """Return one field of the final output, and its source.

    *is_only*: the case expects no other field, so this one may be the whole output.
    """
    part = part_of_final(key, final, steps)
    if part is not None:
        return part
    if is_only or names_the_whole(key, final):
        return FoundOutput(final.value, final.source)
    return FoundOutput(source=final.source)


def part_of_final(
    key: str, final: FinalOutput, steps: Mapping[str, Any]
) -> FoundOutput | None:
    """Return a key of the final object, else the step output of that name."""
    if isinstance(final.value, dict) and key in final.value:
        return FoundOutput(final.value[key], final.source)
    if key in steps:
        return FoundOutput(steps[key], STEP_OUTPUTS)
    return None


def names_the_whole(key: str, final: FinalOutput) -> bool:
    """Return true if a missing key refers to the final output itself."""
    return key in ("output", final.output_key)


def is_whole_object(keys: Mapping[str, Any], final: FinalOutput) -> bool:
    """Return true if all of these fields are keys of the final object."""
    return isinstance(final.value, dict) and keys.keys() <= final.value.keys()


def final_source(fields: Mapping[str, FoundOutput], final: FinalOutput) -> str | None:
    """Return the source of a final scope from the sources of its fields."""
    sources = {field.source for field in fields.values()}
    if STEP_OUTPUTS not in sources:
        return final.source
    if sources <= {STEP_OUTPUTS, None}:
        return STEP_OUTPUTS
    return f"{final.source}+{STEP_OUTPUTS}"


def _target(
    target: str | None, steps: Mapping[str, Any], pipeline: PipelineOutline | None
) -> tuple[str | None, StepOutline | None]:
    """Return the evaluation target's name and, if the pipeline has it, its step."""
    if target is None and pipeline is not None:
        target = pipeline.evaluation_target
    if target is None and _steps_of(pipeline):
        last = _steps_of(pipeline)[-1]
        return last.id, last
    if target is None:
        return next(reversed(list(steps)), None), None
    return target, pipeline.step(target) if pipeline is not None else None


def _steps_of(pipeline: PipelineOutline | None) -> tuple[StepOutline, ...]:
    return () if pipeline is None else pipeline.steps
