"""What the evaluator must know of a pipeline: its steps and which one is evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from promptlab.errors import InputError, NothingToDo, UsageError

FOLDERS: Final = (".", "pipelines")
"""Where a pipeline is looked for by its id, below the working folder."""


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """One step of a pipeline."""

    id: str
    output_key: str | None = None
    """The name its output has among the step outputs, where that is not its id."""

    required: bool = True
    """False: the pipeline goes on without it."""


@dataclass(frozen=True, slots=True)
class PipelineConfig:
    """The part of a pipeline's YAML that evaluation depends on."""

    id: str
    steps: tuple[PipelineStep, ...] = ()
    evaluation_target: str | None = None
    """Id or output key of the step that gives the final output; default: the last."""

    raw_data: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The configuration as written."""

    def step(self, name: str) -> PipelineStep | None:
        """Return the step with this id, else the one with this output key."""
        by_id = (step for step in self.steps if step.id == name)
        by_key = (step for step in self.steps if step.output_key == name)
        return next(by_id, None) or next(by_key, None)

    @classmethod
    def of(cls, config: PipelineConfig | Mapping[str, Any] | str | Path) -> Any:
        """Accept a configuration, its mapping, or the path of its YAML file."""
        if isinstance(config, cls):
            return config
        if isinstance(config, Mapping):
            return cls.from_mapping(config)
        if isinstance(config, str | Path):
            return load_pipeline_config(config)
        raise UsageError(
            f"pipeline_config is {type(config).__name__}; pass PipelineConfig, a "
            "mapping with id and steps, or the path of a pipeline's YAML file"
        )

    @classmethod
    def from_mapping(
        cls, data: Mapping[str, Any], where: str = "pipeline"
    ) -> PipelineConfig:
        """Read a configuration as it stands in YAML.

        Raises:
            InputError: ``id`` is missing, or ``steps`` is no list of objects with id.
        """
        steps = data.get("steps") or []
        if not isinstance(steps, list | tuple):
            raise InputError(f"{where}: /steps: not a list")
        target = data.get("evaluation_target")
        return cls(
            id=_name(data.get("id"), f"{where}: /id"),
            steps=tuple(
                _step(step, f"{where}: /steps/{place}")
                for place, step in enumerate(steps)
            ),
            evaluation_target=None if target is None else str(target),
            raw_data=data,
        )


def load_pipeline_config(pipeline: str | Path) -> PipelineConfig:
    """Read a pipeline's YAML file.

    Args:
        pipeline: A path; or an id, for which ``<id>.yaml`` and ``<id>.yml`` are looked
            for in the working folder and in ``pipelines/`` below it.

    Raises:
        NothingToDo: There is no such file; names the places that were tried.
        InputError: The file is no pipeline.
    """
    import yaml

    path = _find(pipeline)
    try:
        data = yaml.safe_load(path.read_text("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not YAML: {error}") from None
    if not isinstance(data, Mapping):
        raise InputError(f"{path}: not a pipeline: expected an object with id and steps")
    return PipelineConfig.from_mapping(data, str(path))


def _find(pipeline: str | Path) -> Path:
    if Path(pipeline).is_file():
        return Path(pipeline)
    places = [
        Path(folder) / f"{pipeline}{suffix}"
        for folder in FOLDERS
        for suffix in (".yaml", ".yml")
    ]
    for place in places:
        if place.is_file():
            return place
    tried = ", ".join(str(place) for place in places)
    raise NothingToDo(f"no pipeline {str(pipeline)!r}: looked for {tried}")


def _step(step: Any, where: str) -> PipelineStep:
    if not isinstance(step, Mapping):
        raise InputError(f"{where}: not an object with an id")
    output_key = step.get("output_key")
    return PipelineStep(
        id=_name(step.get("id"), f"{where}/id"),
        output_key=None if output_key is None else str(output_key),
        required=step.get("required") is not False,
    )


def _name(value: Any, where: str) -> str:
    name = "" if value is None else str(value)
    if not name.strip():
        raise InputError(f"{where}: missing or empty")
    return name
