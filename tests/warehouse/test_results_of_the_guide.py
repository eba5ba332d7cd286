"""Results as the users' evaluation guide shows them: they name no testset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from promptlab.messages import LOGGER
from promptlab.warehouse import Warehouse
from tests.marts import only


def samples(name: str, cases: int = 3) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{name}_{n}",
            "inputs": {"text": "Input text"},
            "intermediate_expectations": {"step1": {"status": "success"}},
            "expected_aggregation": {"total": 10},
        }
        for n in range(1, cases + 1)
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


def results(name: str, **changes: Any) -> list[dict[str, Any]]:
    """Three results: one that passed, one that failed, one without a verdict."""
    return [
        result(f"{name}_1", **changes),
        result(f"{name}_2", must_have_pass=False, **judged(False), **changes),
        result(f"{name}_3", **judged(None), **changes),
    ]


class Loaded(NamedTuple):
    warehouse: Warehouse
    problems: list[tuple[str, str, str]]
    """Name of the file, code, message."""
    log: str


ORDERS = ("one call", "testset first", "results first")


@pytest.fixture(scope="module")
@only("dim_tasks", "fct_case_results", "fct_task_summaries")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """A warehouse of all results, each with case ids of its own, in two calls."""
    folder = tmp_path_factory.mktemp("guide")
    three = [result(f"must_{n}", step_outputs={"step1": {}}) for n in (1, 2, 4)]
    named = [each | {"testset": "must_v2", "run_id": "named"} for each in three]
    write(folder / "1/results first.jsonl", *results("results first"))
    write(folder / "1/testset first_v2.jsonl", *samples("testset first"))
    second = {
        "alone": results("alone"),
        "must-haves": [each | {"run_id": "alone"} for each in three],
        "must-haves of a testset": named,
        "must_v2": samples("must"),
        **{f"{order}_v2": samples(order) for order in ORDERS if order != ORDERS[1]},
        **{order: results(order) for order in ORDERS if order != ORDERS[2]},
        **{f"{order}_part": samples(order, cases=2) for order in ORDERS},
        "several": results("several"),
        "several_v1": samples("several"),
        "several_v2": samples("several"),
        "unknown": results("unknown", testset="no"),
        "unknown_v2": samples("unknown"),
    }
    for name, records in second.items():
        write(folder / "2" / f"{name}.jsonl", *records)
    warehouse = Warehouse(folder / "w.duckdb")
    log: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            LOGGER, "log", lambda _, __, message, **_more: log.append(message)
        )
        problems = [
            (file.path.stem, each.code, each.message)
            for call in ("1", "2")
            for file in warehouse.ingest(folder / call).files
            for each in file.problems
        ]
    warehouse.build()
    return Loaded(warehouse, problems, "\n".join(log))


def statuses(loaded: Loaded, name: str) -> list[str]:
    """Status of each case of these results."""
    query = (
        "select status from marts.fct_case_results where starts_with(case_id, $1 || '_')"
        " order by case_id"
    )
    return [status for (status,) in loaded.warehouse.sql(query, [name]).rows()]


def source(loaded: Loaded, name: str) -> tuple[str | None, str | None]:
    """The testset of these results, and how it is known."""
    query = (
        "select distinct testset_id, testset_source from marts.dim_tasks"
        " inner join marts.fct_case_results using (task_id)"
        " where starts_with(case_id, $1 || '_')"
    )
    (row,) = loaded.warehouse.sql(query, [name]).rows()
    return row


def test_without_a_testset_the_verdicts_of_the_file_count(loaded: Loaded) -> None:
    assert source(loaded, "alone") == (None, None)
    assert statuses(loaded, "alone") == ["pass", "fail", "unevaluated"]


def test_must_haves_that_passed_are_a_verdict_only_without_a_testset(
    loaded: Loaded,
) -> None:
    query = (
        "select task_id, status from marts.fct_case_results where case_id = 'must_4'"
    )
    assert dict(loaded.warehouse.sql(query).rows()) == {
        "alone": "pass",
        "named": "unevaluated",  # the testset does not have it
    }


@pytest.mark.parametrize("order", ORDERS)
def test_the_only_testset_with_all_sample_ids_counts_and_is_named(
    loaded: Loaded, order: str
) -> None:
    assert loaded.log.count(f'"{order}_v2" has all 3 sample ids, and counts') == 1
    assert source(loaded, order) == (f"{order}_v2", "cases")
    # the first has all that is expected, the others have no aggregation
    assert statuses(loaded, order) == ["pass", "fail", "fail"]


def test_of_several_testsets_none_counts_with_a_warning(loaded: Loaded) -> None:
    found = [each for each in loaded.problems if each[1] == "several_testsets"]
    ((name, _, message),) = found
    assert name == "several"
    assert '2 testsets have all 3 sample ids ("several_v1", "several_v2")' in message
    assert "--testset" in message
    assert source(loaded, "several") == (None, None)
    assert statuses(loaded, "several")[1] == "fail"


def test_a_testset_that_is_named_counts_alone(loaded: Loaded) -> None:
    codes = {code for name, code, _ in loaded.problems if name == "unknown"}
    assert codes == {"unknown_testset", "time_missing"}
    assert source(loaded, "unknown") == (None, None)
