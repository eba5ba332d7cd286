"""The cookbook: every query runs on the example warehouse and has something to say."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from promptlab.database import connect
from promptlab.relations import run_query
from promptlab.warehouse import Warehouse

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "cookbook.md").read_text("utf-8")
QUESTIONS = re.findall(
    r"^### (\d+\. .*?)\n(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL
)
CODE = [*(ROOT / "reports").rglob("*.py"), *(ROOT / "promptlab").rglob("*.py")]


def test_there_are_twenty_seven_questions_each_with_one_query():
    assert [int(title.split(".")[0]) for title, _ in QUESTIONS] == list(range(1, 28))
    assert {body.count("```sql") for _, body in QUESTIONS} == {1}


PAID = {"acme/small": (0.001, 0.003), "acme/large": (0.01, 0.02)}
"""Model → the cost of each of its two answers; the second answer is wrong."""
STEPS = ({"ask": 100, "check": 300}, {"ask": 200, "check": 900})
"""Milliseconds of each step, by answer."""


def _paid() -> list[dict[str, object]]:
    """Return a run of two models on two cases, with costs and times of steps."""
    return [
        {
            "sample_id": f"c{n}", "run_id": f"paid-{model}", "title": "paid",
            "entity_type": "pipeline", "entity_id": "paid", "variant": "v1",
            "model": model, "created_at": "2026-03-01T12:00:00Z",
            "final_output": {"reply": "x"}, "status": "fail" if n else "pass",
            "metadata": {
                "cost": cost,
                "steps": {step: {"latency_ms": ms} for step, ms in STEPS[n].items()},
            },
        }
        for model, costs in PAID.items()
        for n, cost in enumerate(costs)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def cookbook_db(english_db, tmp_path_factory) -> Path:
    """The examples, and two runs with costs and times of steps."""
    folder = tmp_path_factory.mktemp("cookbook")
    db = Path(shutil.copy(english_db, folder / "w.duckdb"))
    file = folder / "paid.jsonl"
    file.write_text("\n".join(map(json.dumps, _paid())), "utf-8")
    warehouse = Warehouse(db)
    warehouse.ingest(file)
    warehouse.build()
    return db


@pytest.fixture(scope="module")
def labelled_db(tmp_path_factory):
    """A warehouse of ``examples_labels/``."""
    folder = ROOT / "examples_labels"
    warehouse = Warehouse(tmp_path_factory.mktemp("labelled") / "w.duckdb")
    warehouse.ingest(folder / "run.json", folder / "scores.jsonl")
    warehouse.ingest(folder / "labels.csv", kind="labels")
    warehouse.build()
    return warehouse.settings.db


def answers(db: Path, number: int) -> list[dict[str, object]]:
    """Return the rows that the query of a question returns."""
    (sql,) = re.findall(r"```sql\n(.*?)```", QUESTIONS[number - 1][1], re.DOTALL)
    with connect(db, read_only=True) as con:
        columns, rows = run_query(con, sql)
    return [dict(zip(columns, row, strict=True)) for row in rows]


@pytest.mark.parametrize("number", range(1, 28))
def test_each_query_answers(number, cookbook_db, labelled_db):
    assert answers(labelled_db if number in (25, 26) else cookbook_db, number)


def test_the_cost_of_a_passed_case_is_by_model_and_day(cookbook_db):
    found = answers(cookbook_db, 20)
    assert [(row["model"], row["cost"], row["cost_per_pass"]) for row in found] == [
        ("acme/large", 0.03, 0.03), ("acme/small", 0.004, 0.004)
    ]  # fmt: skip
    assert {str(row["day"])[:10] for row in found} == {"2026-03-01"}


def test_the_slowest_step_of_a_task_is_first(cookbook_db):
    found = answers(cookbook_db, 21)
    assert [
        (row["step_id"], row["n_calls"], row["latency_p50"], row["latency_p95"])
        for row in found
        if row["variant"] == "acme/small"
    ] == [("check", 2, 600.0, 870.0), ("ask", 2, 150.0, 195.0)]


def test_the_exposures_name_every_mart_that_is_read_and_no_other():
    file = ROOT / "dbt_project" / "models" / "exposures.yml"
    exposures = yaml.safe_load(file.read_text("utf-8"))["exposures"]
    named = {
        re.findall(r"'(\w+)'", ref)[-1] for e in exposures for ref in e["depends_on"]
    }
    code = "\n".join(path.read_text("utf-8") for path in CODE)
    assert named == set(re.findall(r"""(?:\bmarts\.|")((?:dim|fct)_\w+)""", code))
