"""The published schemas and the contracts say the same of the same documents."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel, ValidationError

from promptlab.contracts.analysis_input import (
    AnalysisInput,
    EvaluationRecord,
    ScoreRecord,
)
from promptlab.contracts.schemas import schemas
from tests.contracts.test_analysis_input import MINIMAL, dimension

SCORE: dict[str, Any] = {
    "task_id": "t",
    "case_id": "c",
    "round_id": "r",
    "dimension_id": "judge",
    "score": 1,
    "scorer": "judge-a",
}
RESULT: dict[str, Any] = {"sample_id": "s", "entity_id": "p", "variant": "v"}
TASK: dict[str, Any] = {**MINIMAL, "dimensions": [dimension()]}

CHANGES: list[tuple[type[BaseModel], str, dict[str, Any], dict[str, Any]]] = [
    (ScoreRecord, "score_record", SCORE, {}),
    (ScoreRecord, "score_record", SCORE, {"score": None, "extra": 1}),
    (ScoreRecord, "score_record", SCORE, {"score": -1}),
    (ScoreRecord, "score_record", SCORE, {"scale": 0}),
    (ScoreRecord, "score_record", SCORE, {"task_id": " "}),
    (ScoreRecord, "score_record", SCORE, {"payload": []}),
    (EvaluationRecord, "evaluation_record", RESULT, {}),
    (EvaluationRecord, "evaluation_record", RESULT, {"final_output": [1, None]}),
    (EvaluationRecord, "evaluation_record", RESULT, {"error": {"code": 5}}),
    (EvaluationRecord, "evaluation_record", RESULT, {"error": 5}),
    (EvaluationRecord, "evaluation_record", RESULT, {"overall_score": 10}),
    (EvaluationRecord, "evaluation_record", RESULT, {"overall_score": 11}),
    (EvaluationRecord, "evaluation_record", RESULT, {"rule_violations": ["a", {}]}),
    (EvaluationRecord, "evaluation_record", RESULT, {"rule_violations": [1]}),
    (EvaluationRecord, "evaluation_record", RESULT, {"failed_steps": None}),
    (AnalysisInput, "analysis_input", TASK, {}),
    (AnalysisInput, "analysis_input", TASK, {"extras": {"a": [1]}}),
    (AnalysisInput, "analysis_input", TASK, {"extras": []}),
    (AnalysisInput, "analysis_input", TASK, {"cases": []}),
    (AnalysisInput, "analysis_input", TASK, {"cases": [{}]}),
    (AnalysisInput, "analysis_input", TASK, {"dimensions": [dimension(weight=2)]}),
    (
        AnalysisInput,
        "analysis_input",
        TASK,
        {"dimensions": [dimension(scoring_mode="best")]},
    ),
]


@pytest.mark.parametrize(("model", "name", "value", "changes"), CHANGES)
def test_the_schema_accepts_what_the_contract_accepts(model, name, value, changes):
    changed = {**copy.deepcopy(value), **changes}
    schema = schemas()[f"{name}.schema.json"]
    try:
        model.model_validate(changed)
        accepted = True
    except ValidationError:
        accepted = False
    assert jsonschema.Draft202012Validator(schema).is_valid(changed) == accepted


@pytest.mark.parametrize(("score", "scale"), [(1.5, 1), (11, 10), (1, 0.5)])
def test_a_score_is_at_most_its_scale(score, scale):
    with pytest.raises(ValidationError, match="more than its scale"):
        ScoreRecord.model_validate({**SCORE, "score": score, "scale": scale})


def test_a_score_of_its_whole_scale_is_the_best():
    read = ScoreRecord.model_validate({**SCORE, "score": 10, "scale": 10})
    assert read.score == read.scale
