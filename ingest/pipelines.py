"""Convert pipeline files (YAML) to rows of ``pipelines`` and ``pipeline_steps``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from promptlab.contracts.testset import Pipeline
from promptlab.errors import InputError, nearest
from promptlab.ingest.files.input_file import read_whole
from promptlab.ingest.raw.rows import Reading, Rows, columns_of_rows
from promptlab.ingest.reading.problems import (
    Problem,
    Severity,
    faults,
    problem_at,
    with_place,
)
from promptlab.ingest.reading.source import Source
from promptlab.ingest.reading.yaml_text import YamlText, read_yaml
from promptlab.json_text.places import Keys
from promptlab.json_text.reading import Fault
from promptlab.json_text.writing import compact, shown

FOLDERS = (".", "pipelines", "data/pipelines")
"""Folders that ``load_pipeline_config`` searches for a pipeline id."""

_SUFFIXES = (".yaml", ".yml")
_TEXTS = ("id", "name", "evaluation_target", "default_testset")
_STEP_TEXTS = ("id", "output_key", "type")


def read(source: Source) -> Iterator[Reading]:
    """Read one pipeline file: rows of ``pipelines`` and ``pipeline_steps``.

    A pipeline is one record: any error rejects the file, and all errors are reported.
    The name of the file is shown if it has no id.
    """
    text = read_yaml(source.data)
    pipeline, problems = _check(text, source.name)
    if pipeline is None:
        yield Reading({}, problems, records_rejected=1, rejected=True)
        return
    yield Reading(
        _rows(pipeline, compact(text.value)),
        problems,
        records_loaded=1,
        keys=[("pipeline", pipeline.id)],
    )


def parse_pipeline(data: bytes, name: str) -> tuple[Pipeline | None, list[Problem]]:
    """Return the pipeline of a file, or ``None``, and every problem of the file."""
    return _check(read_yaml(data), name)


def load_pipeline_config(
    path_or_id: str | Path, *, folders: Sequence[str | Path] = FOLDERS
) -> Pipeline:
    """Read a pipeline by the path of its file, or by its id.

    Args:
        path_or_id: A YAML file; else an id: the file in *folders* with this name or
            this id.
        folders: Folders to search for an id.

    Raises:
        InputError: The pipeline is unknown, or its file has errors.
    """
    path = Path(path_or_id)
    if path.suffix in _SUFFIXES or path.is_file():
        return _load(path)
    pipeline_id = str(path_or_id)
    candidates = [
        file
        for folder in folders
        for suffix in _SUFFIXES
        for file in sorted(Path(folder).glob(f"*{suffix}"))
    ]
    # A file of that name first: it is the likeliest, and may have errors.
    for file in sorted(candidates, key=lambda file: file.stem != pipeline_id):
        try:
            pipeline = _load(file)
        except InputError:
            if file.stem == pipeline_id:
                raise
            continue
        if pipeline.id == pipeline_id:
            return pipeline
    searched = ", ".join(str(folder) for folder in folders)
    raise InputError(
        f'no pipeline has the id "{pipeline_id}" (looked in {searched}); '
        "pass the path of its YAML file"
    )


def _check(text: YamlText, name: str) -> tuple[Pipeline | None, list[Problem]]:
    if any(problem.severity == "reject" for problem in text.problems):
        return None, text.problems
    check = _PipelineCheck(text, name)
    return check.pipeline(), text.problems + check.problems


def _load(path: Path) -> Pipeline:
    pipeline, problems = parse_pipeline(read_whole(path), path.stem)
    if pipeline is None:
        rejects = [problem for problem in problems if problem.severity == "reject"]
        raise InputError("\n".join(with_place(path, problem) for problem in rejects))
    return pipeline


@dataclass
class _PipelineCheck:
    """Checks a file against the contract, and conditions across fields."""

    text: YamlText
    name: str
    problems: list[Problem] = field(default_factory=list)

    def pipeline(self) -> Pipeline | None:
        """Return the pipeline, or ``None`` when anything rejects it."""
        value = self.text.value
        if not isinstance(value, dict):
            self._report(
                "wrong_type",
                (),
                f"a pipeline is an object, found {shown(value)}. "
                f"Begin with: id: {self.name}",
            )
            return None
        self._read_as_text(value)
        pipeline = None
        try:
            pipeline = Pipeline.model_validate(value)
        except ValidationError as error:
            for fault in faults(error, value):
                hint = f". Add: id: {self.name}" if fault.keys == ("id",) else ""
                self._report(fault.code, fault.keys, fault.message + hint)
        self._check_twins(value)
        if pipeline is None or any(
            problem.severity == "reject" for problem in self.problems
        ):
            return None
        self._check_target(pipeline)
        return pipeline

    def _read_as_text(self, value: dict[str, Any]) -> None:
        """Read ids and names as text: ``id: 7`` is "7", ``id: on`` "on"."""
        steps = value.get("steps")
        places: list[tuple[dict[str, Any], str, Keys]] = [
            (value, key, (key,)) for key in _TEXTS
        ]
        for index, step in enumerate(steps if isinstance(steps, list) else []):
            if isinstance(step, dict):
                places += [(step, key, ("steps", index, key)) for key in _STEP_TEXTS]
        for holder, key, keys in places:
            source_text = self.text.written.get(keys)
            if source_text is not None:
                holder[key] = source_text
                self._report(
                    "unquoted_text",
                    keys,
                    f'read as the text "{source_text}". Put it in quotes.',
                    "warning",
                )

    def _check_twins(self, value: dict[str, Any]) -> None:
        steps = value.get("steps")
        first: dict[tuple[str, str], int] = {}
        for index, step in enumerate(steps if isinstance(steps, list) else []):
            for key in ("id", "output_key"):
                name = step.get(key) if isinstance(step, dict) else None
                if not isinstance(name, str):
                    continue
                before = first.setdefault((key, name), index)
                if before == index:
                    continue
                line = self.text.place(("steps", before, key))[0]
                keys: Keys = ("steps", index, key)
                message = f"{shown(name)} is already the"
                if key == "id":
                    message += f" id of the step in line {line}. Rename it."
                    self._report("duplicate_step", keys, message)
                else:
                    message += f" output key of the step in line {line}"
                    message += "; the later step hides the earlier."
                    self._report("duplicate_output_key", keys, message, "warning")

    def _check_target(self, pipeline: Pipeline) -> None:
        target = pipeline.evaluation_target
        names = [step.id for step in pipeline.steps]
        names += [step.output_key for step in pipeline.steps if step.output_key]
        if target is not None and target not in names:
            self._report(
                "unknown_step",
                ("evaluation_target",),
                f"no step has the id or output key {shown(target)}"
                f"{nearest(target, names)}",
                "warning",
            )

    def _report(
        self, code: str, keys: Keys, message: str, severity: Severity = "reject"
    ) -> None:
        value = self.text.value
        name = value.get("id") if isinstance(value, dict) else None
        record_id = name if isinstance(name, str) else None
        fault = Fault(keys, code, message)
        self.problems.append(
            problem_at(self.text.place, fault, severity, record_id=record_id)
        )


def _rows(pipeline: Pipeline, raw_data: str) -> Rows:
    rows: Rows = {
        "pipelines": {
            "pipeline_id": [pipeline.id],
            "name": [pipeline.name],
            "evaluation_target": [pipeline.evaluation_target],
            "default_testset": [pipeline.default_testset],
            "raw_data": [raw_data],
        },
    }
    steps = [
        {
            "pipeline_id": pipeline.id,
            "step_id": step.id,
            "output_key": step.output_key,
            "type": step.type,
            "required": step.required,
            "position": position,
        }
        for position, step in enumerate(pipeline.steps)
    ]
    return rows | {"pipeline_steps": columns_of_rows(steps)} if steps else rows
