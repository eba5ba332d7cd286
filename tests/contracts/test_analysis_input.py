from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from promptlab.contracts.analysis_input import AnalysisInput
from promptlab.contracts.base import in_utc, read_time

MINIMAL: dict[str, Any] = {
    "task": {
        "task_id": "run-1",
        "title": "",
        "prompt_version": "",
        "model": "",
        "triggered_by": "",
        "created_at": "2024-10-24T12:30:00Z",
    },
    "cases": [
        {
            "case_id": "c1",
            "rounds": [
                {
                    "round_id": "c1-1",
                    "run_index": 1,
                    "raw_output": "",
                    "executed_at": "2024-10-24T12:30:00Z",
                }
            ],
        }
    ],
}


def minimal(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(MINIMAL), **changes}


def dimension(**changes: Any) -> dict[str, Any]:
    return {
        "dimension_id": "accuracy",
        "name": "准确性",
        "weight": 1,
        "scoring_mode": "range",
        **changes,
    }


def error_places(value: Any) -> list[tuple[Any, ...]]:
    with pytest.raises(ValidationError) as raised:
        AnalysisInput.model_validate(value)
    return [error["loc"] for error in raised.value.errors()]


def test_containers_may_be_left_out_and_are_then_empty():
    read = AnalysisInput.model_validate(minimal())
    [case] = read.cases
    assert (read.dimensions, read.extras, read.task.env) == ([], {}, {})
    assert (case.context, case.baselines, case.tags) == ({}, [], [])
    [one] = case.rounds
    assert one.metadata == {}
    assert (one.parsed_output, one.input_tokens, one.latency_ms) == (None, None, None)


@pytest.mark.parametrize("key", sorted(MINIMAL["task"]))
def test_scalars_of_the_task_are_required(key):
    bare = minimal()
    del bare["task"][key]
    assert error_places(bare) == [("task", key)]


@pytest.mark.parametrize("key", sorted(MINIMAL["cases"][0]["rounds"][0]))
def test_scalars_of_a_round_are_required(key):
    bare = minimal()
    del bare["cases"][0]["rounds"][0][key]
    assert error_places(bare) == [("cases", 0, "rounds", 0, key)]


@pytest.mark.parametrize("weight", [0, 1, 0.5, 0.0])
def test_a_weight_is_a_share(weight):
    read = AnalysisInput.model_validate(minimal(dimensions=[dimension(weight=weight)]))
    assert read.dimensions[0].weight == weight


@pytest.mark.parametrize("weight", [-0.01, 1.01, "1", True, None, float("nan")])
def test_what_is_no_share_is_no_weight(weight):
    value = minimal(dimensions=[dimension(weight=weight)])
    assert error_places(value) == [("dimensions", 0, "weight")]


def test_ids_are_unique_and_the_second_is_named():
    dimensions = [dimension(), dimension(dimension_id="b"), dimension()]
    with pytest.raises(ValidationError, match="'accuracy' stands twice") as raised:
        AnalysisInput.model_validate(minimal(dimensions=dimensions))
    [error] = raised.value.errors()
    assert (*error["loc"], *error["ctx"]["below"]) == ("dimensions", 2, "dimension_id")
    twins = minimal(cases=MINIMAL["cases"] * 2)
    with pytest.raises(ValidationError, match="'c1' stands twice"):
        AnalysisInput.model_validate(twins)


def test_unknown_keys_stay_with_whoever_wrote_them():
    value = minimal(owner="ops")
    assert AnalysisInput.model_validate(value).model_extra == {"owner": "ops"}


def test_json_and_python_values_are_read_alike():
    value = minimal(dimensions=[dimension()])
    text = AnalysisInput.model_validate(value).model_dump_json()
    assert AnalysisInput.model_validate_json(text) == AnalysisInput.model_validate(
        value
    )


def test_a_contract_cannot_be_changed():
    read = AnalysisInput.model_validate(minimal())
    with pytest.raises(ValidationError, match="frozen"):
        read.task.title = "other"


NO_TIMES = [
    *("", " ", "now", "12:30", "1729773000", "2024-13-01", "2024-10-24T12:30:60Z"),
    *("2024-10-24T12:30:00+25:00", "0001-01-01T00:00:00+01:00"),
    "2024-10-24T12:30:00Z ",
]


@pytest.mark.parametrize("text", NO_TIMES)
def test_what_is_no_time_says_what_one_looks_like(text):
    with pytest.raises(ValueError, match="2024-10-24T12:30:00Z"):
        read_time(text)


def test_a_time_keeps_its_instant_and_one_without_a_zone_is_utc():
    east = timezone(timedelta(hours=8))
    assert in_utc(read_time("2024-10-24T20:30:00+08:00")) == datetime(
        2024, 10, 24, 20, 30, tzinfo=east
    )
    assert read_time("2024-10-24T12:30:00").tzinfo is None
    assert in_utc(read_time("2024-10-24")) == datetime(2024, 10, 24, tzinfo=UTC)
    task = minimal()["task"] | {"created_at": datetime(2024, 10, 24, 20, tzinfo=east)}
    created_at = AnalysisInput.model_validate(minimal(task=task)).task.created_at
    assert created_at.isoformat() == "2024-10-24T12:00:00+00:00"
