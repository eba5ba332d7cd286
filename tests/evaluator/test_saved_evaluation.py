"""A saved evaluation keeps its verdicts: it loads without its testset."""

from __future__ import annotations

import json

from promptlab import PipelineEvaluator, Warehouse

CONFIG = {"id": "greet", "steps": [{"id": "reply"}]}
SAMPLES = [
    {"id": "right", "expected_outputs": {"reply": "hello"}},
    {"id": "wrong", "expected_outputs": {"reply": "goodbye"}},
    {"id": "free"},
    {"id": "down", "expected_outputs": {"reply": "hello"}},
]


def runner(sample):
    if sample["id"] == "down":
        raise TimeoutError("30 s")
    return {"reply": "hello"}


def statuses(warehouse: Warehouse) -> dict[str, str]:
    found = warehouse.sql("select case_id, status from marts.fct_case_results")
    return dict(found.rows())


def test_its_verdicts_count_where_no_testset_is_known_and_give_way_to_one(tmp_path):
    evaluation = PipelineEvaluator(CONFIG, runner=runner).evaluate_pipeline(SAMPLES)
    said = {each.sample_id: each.status for each in evaluation.sample_results}
    assert said == {
        "right": "pass", "wrong": "fail", "free": "unevaluated", "down": "error"
    }  # fmt: skip
    evaluation.save(tmp_path / "results.jsonl")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(tmp_path / "results.jsonl")
    warehouse.build()
    assert statuses(warehouse) == said

    # an expectation that was corrected since decides instead
    corrected = [{**one, "expected_outputs": {"reply": "hello"}} for one in SAMPLES]
    lines = [json.dumps({**one, "inputs": {}}) for one in corrected]
    (tmp_path / "greet_case_v1.jsonl").write_text("\n".join(lines))
    warehouse.ingest(tmp_path / "greet_case_v1.jsonl")
    warehouse.ingest(tmp_path / "results.jsonl", testset="greet_case_v1")
    warehouse.build()
    assert statuses(warehouse) == {
        "right": "pass", "wrong": "pass", "free": "pass", "down": "error"
    }  # fmt: skip
