"""The published JSON Schemas: derived from the contracts, checked in under docs/."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from promptlab.contracts.analysis_input import (
    AnalysisInput,
    EvaluationRecord,
    ScoreRecord,
)
from promptlab.contracts.analysis_result import AnalysisResult
from promptlab.contracts.base import descriptions
from promptlab.contracts.comparison import Comparison
from promptlab.contracts.gate import GatePolicy, GateResult
from promptlab.contracts.memory_result import MemoryResult
from promptlab.contracts.memory_run import MemoryRunFile
from promptlab.contracts.pages import (
    DigestPage,
    IndexPage,
    JudgePage,
    RunPage,
    TitlePage,
)
from promptlab.contracts.testset import Pipeline, TestCase

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core.core_schema import ModelSchema

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_READ: dict[str, type[BaseModel]] = {
    "analysis_input": AnalysisInput,
    "evaluation_record": EvaluationRecord,
    "gate_policy": GatePolicy,
    "memory_run": MemoryRunFile,
    "pipeline": Pipeline,
    "score_record": ScoreRecord,
    "test_case": TestCase,
}
_WRITTEN: dict[str, type[BaseModel]] = {
    "analysis_result": AnalysisResult,
    "comparison": Comparison,
    "digest_page": DigestPage,
    "gate_result": GateResult,
    "index_page": IndexPage,
    "judge_page": JudgePage,
    "memory_result": MemoryResult,
    "run_page": RunPage,
    "title_page": TitlePage,
}


def schemas() -> dict[str, dict[str, Any]]:
    """Return file name → JSON Schema of every contract, sorted by name.

    Schemas of inputs have optional fields with defaults; schemas of outputs require
    every field.
    """
    schemas_by_file = {
        f"{name}.schema.json": _of(m, "validation") for name, m in _READ.items()
    }
    for name, model in _WRITTEN.items():
        schemas_by_file[f"{name}.schema.json"] = _of(model, "serialization")
    return dict(sorted(schemas_by_file.items()))


def write_schemas(folder: Path) -> list[Path]:
    """Write every schema into *folder* and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, schema in schemas().items():
        file = folder / name
        file.write_text(as_text(schema), "utf-8")
        files.append(file)
    return files


def as_text(schema: dict[str, Any]) -> str:
    """Return the text of a schema file."""
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


class _WithDescriptions(GenerateJsonSchema):
    """Schemas with the docstrings of the fields."""

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        json_schema = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        for name, text in descriptions(model).items():
            json_schema["properties"][name]["description"] = text
        return json_schema


def _of(
    model: type[BaseModel], mode: Literal["validation", "serialization"]
) -> dict[str, Any]:
    schema = model.model_json_schema(mode=mode, schema_generator=_WithDescriptions)
    return {"$schema": DIALECT, **schema}
