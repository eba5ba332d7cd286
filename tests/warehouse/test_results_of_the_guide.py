"""Results as the users' evaluation guide shows them: they name no testset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptlab.warehouse import Warehouse
from tests.marts import only

only_results = only("dim_tasks", "fct_case_results", "fct_task_summaries")

TESTSET = [
    {
        "id": f"test_{n}",
        "inputs": {"text": "Input text"},
        "intermediate_expectations": {"step1": {"status": "success"}},
        "expected_aggregation": {"total": 10},
    }
    for n in (1, 2, 3)
]


def result(sample_id: str, **changes: Any) -> dict[str, Any]:
    """A result with the fields of the guide, its judgements included."""
    judged = {"expected": {}, "actual": {}, "details": "所有字段匹配"}
    written = {
        "sample_id": sample_id,
        "entity_type": "pipeline",
        "entity_id": "my_pipeline",
        "variant": "v1",
        "overall_score": 8.5,
        "must_have_pass": True,
        "judge_feedback": "Good output",
        "execution_time": 1.5,
        "step_outputs": {
            "step1": {"status": "success"},
            "aggregated_result": {"total": 10},
            "_intermediate_evaluation": {"step1": {"matched": True, **judged}},
            "_aggregation_evaluation": {"matched": True, **judged},
        },
        "failed_steps": [],
    }
    return written | changes


def write(file: Path, *records: dict[str, Any]) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(f"{json.dumps(each)}\n" for each in records), "utf-8")
    return file


def judged(step1: bool | None, **changes: Any) -> dict[str, Any]:
    steps = {"step1": {}, "_intermediate_evaluation": {"step1": {"matched": step1}}}
    return {"step_outputs": steps, **changes}


RESULTS = (
    result("test_1"),
    result("test_2", must_have_pass=False, **judged(False)),
    result("test_3", **judged(None)),
)


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    monkeypatch.chdir(tmp_path)
    return Warehouse(tmp_path / "w.duckdb")


def statuses(warehouse: Warehouse) -> dict[str, str]:
    rows = warehouse.sql("select case_id, status from marts.fct_case_results").rows()
    return dict(sorted(rows))


def sources(warehouse: Warehouse) -> list[tuple[str | None, str | None]]:
    query = "select testset_id, testset_source from marts.dim_tasks order by task_id"
    return warehouse.sql(query).rows()


@only_results
def test_without_a_testset_the_verdicts_of_the_file_count(warehouse: Warehouse) -> None:
    write(Path("in/results.jsonl"), *RESULTS)
    warehouse.ingest("in")
    warehouse.build()
    assert sources(warehouse) == [(None, None)]
    assert statuses(warehouse) == {
        "test_1": "pass", "test_2": "fail", "test_3": "unevaluated",
    }  # fmt: skip


@only_results
def test_must_haves_that_passed_are_a_verdict_only_without_a_testset(
    warehouse: Warehouse,
) -> None:
    three = [result(f"test_{n}", step_outputs={"step1": {}}) for n in (1, 2, 4)]
    named = [each | {"testset": "smoke_v2", "run_id": "named"} for each in three]
    write(Path("in/alone.jsonl"), *(each | {"run_id": "alone"} for each in three))
    write(Path("in/named.jsonl"), *named)
    write(Path("in/smoke_v2.jsonl"), *TESTSET)
    warehouse.ingest("in")
    warehouse.build()
    query = (
        "select task_id, status from marts.fct_case_results where case_id = 'test_4'"
    )
    assert dict(warehouse.sql(query).rows()) == {
        "alone": "pass",
        "named": "unevaluated",  # the testset does not have it
    }


@pytest.mark.parametrize("order", ["one call", "testset first", "results first"])
@only_results
def test_the_only_testset_with_all_sample_ids_counts_and_is_named(
    warehouse: Warehouse, caplog: pytest.LogCaptureFixture, order: str
) -> None:
    results = write(Path("in/results.jsonl"), *RESULTS)
    testset = write(Path("in/smoke_v2.jsonl"), *TESTSET)
    write(Path("in/other_v2.jsonl"), *TESTSET[:2])
    calls = {"one call": ["in"], "testset first": [testset, results],
             "results first": [results, testset]}  # fmt: skip
    with caplog.at_level("INFO", logger="promptlab"):
        for path in calls[order]:
            warehouse.ingest(path)
    warehouse.build()
    told = caplog.text
    assert told.count('"smoke_v2" has all 3 sample ids, and counts') == 1
    assert sources(warehouse) == [("smoke_v2", "cases")]
    # test_1 has all that is expected, the others have no aggregation
    assert statuses(warehouse) == {
        "test_1": "pass", "test_2": "fail", "test_3": "fail",
    }  # fmt: skip


@only_results
def test_of_several_testsets_none_counts_with_a_warning(warehouse: Warehouse) -> None:
    write(Path("in/results.jsonl"), *RESULTS)
    for name in ("smoke_v1", "smoke_v2"):
        write(Path(f"in/{name}.jsonl"), *TESTSET)
    found = [
        (file.path.name, each.code, each.message)
        for file in warehouse.ingest("in").files
        for each in file.problems
        if each.code == "several_testsets"
    ]
    ((name, _, message),) = found
    assert name == "results.jsonl"
    assert '2 testsets have all 3 sample ids ("smoke_v1", "smoke_v2")' in message
    assert "--testset" in message
    warehouse.build()
    assert sources(warehouse) == [(None, None)]
    assert statuses(warehouse)["test_2"] == "fail"


@only_results
def test_a_testset_that_is_named_counts_alone(warehouse: Warehouse) -> None:
    write(Path("in/results.jsonl"), *(each | {"testset": "no"} for each in RESULTS))
    write(Path("in/smoke_v2.jsonl"), *TESTSET)
    codes = {e.code for f in warehouse.ingest("in").files for e in f.problems}
    assert codes == {"unknown_testset", "time_missing"}
    warehouse.build()
    assert sources(warehouse) == [(None, None)]
