"""Agents: their messages and tool calls as steps, as expectations, and on the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from promptlab.evaluator import (
    EvaluationResult,
    PipelineRun,
    RunInfo,
    UnifiedEvaluator,
)
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA

HOSTILE = "<script>alert('HOSTILE')</script>"
LONG = "long " * 2000


def _call(name: str, arguments: Any, result: str) -> list[Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [
        {"role": "assistant", "tool_calls": [{"id": name, "function": function}]},
        {"role": "tool", "tool_call_id": name, "content": result},
    ]


OWN = {
    "case_id": "rhine",
    "messages": [
        {"role": "user", "content": "Where does the Rhine end?"},
        *_call("sea_of", {"river": "Rhine"}, "North Sea"),
        *_call("depth", {"unit": HOSTILE}, LONG),
        {"role": "assistant", "content": "In the North Sea."},
    ],
}
EXPECTED = {
    "rhine": {
        "sea_of": {"arguments": {"river": "Rhine"}, "result": "contains:North"},
        "depth": {"arguments": {"unit": "contains:metres"}},
        "clock": {},
    },
    "one": {"sea_of": {"arguments": {"river": "Rhine"}}},
    "broken": {"sea_of": {"error": "contains:no such river"}},
    "two": {"sea_of#2": "contains:Rhone", "sea_of#3": {}},
}


def in_python() -> EvaluationResult:
    """Judge the own round with the evaluator, as a program of a user does."""
    return UnifiedEvaluator().evaluate_run(
        "guide",
        "v1",
        {"id": "rhine", "intermediate_expectations": EXPECTED["rhine"]},
        PipelineRun(messages=OWN["messages"], final_output="In the North Sea."),
        info=RunInfo(run_id="own"),
    )


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    folder = tmp_path_factory.mktemp("agents")
    testset = folder / "rivers_agent_v1.jsonl"
    testset.write_text(
        "\n".join(
            json.dumps({"id": case, "intermediate_expectations": steps})
            for case, steps in EXPECTED.items()
        )
    )
    results = folder / "results.jsonl"
    result = {
        "sample_id": "rhine",
        "entity_type": "pipeline",
        "entity_id": "guide",
        "variant": "v1",
        "run_id": "own",
        "final_output": "In the North Sea.",
    }
    staged = result | {
        "run_id": "staged",
        "step_outputs": {"find": {"sea": "North"}, "_final_evaluation": {}},
        "metadata": {"steps": {"find": {"latency_ms": 7}, "write": {"latency_ms": 2}}},
    }
    results.write_text(f"{in_python().to_json()}\n{json.dumps(staged)}\n")
    made = Warehouse(folder / "w.duckdb")
    made.ingest(testset, results, testset="rivers_agent_v1")
    made.ingest(DATA / "inspect_ai" / "tools.eval", testset="rivers_agent_v1")
    made.ingest(DATA / "promptfoo" / "agent.json")
    made.build()
    return made


def _task(warehouse: Warehouse, kind: str) -> str:
    found = warehouse.sql(
        "select task_id from marts.dim_tasks where source_kind = ?", [kind]
    )
    return str(found["task_id"][0])


STEPS = """
inspect_ai broken user: Where does the Styx end?
inspect_ai broken assistant: tool call for tool sea_of (timed, 20 + 5 tokens)
inspect_ai broken tool: sea_of {"river":"Styx"} ! no such river: <b>Styx</b> (timed)
inspect_ai broken assistant: I cannot say. (timed, 30 + 7 tokens)
inspect_ai two user: Where do Rhine and Rhone end?
inspect_ai two assistant: tool call for tool sea_of (timed, 20 + 5 tokens)
inspect_ai two tool: sea_of {"river":"Rhine"} North Sea (timed)
inspect_ai two assistant: tool call for tool sea_of (timed, 20 + 5 tokens)
inspect_ai two tool: sea_of#2 {"river":"Rhone"} Mediterranean (timed)
inspect_ai two assistant: North Sea and Mediterranean. (timed, 30 + 7 tokens)
promptfoo Nile, talk user: Where does the Nile end?
promptfoo Nile, talk assistant: Which end?
promptfoo Nile, talk user: The mouth.
promptfoo Nile, talk assistant: It ends in the Mediterranean Sea.
promptfoo Rhine tool: sea_of {"river":"Rhine"} North Sea
promptfoo Rhone, calls tool: sea_of {"river":"Rhone"}
promptfoo Styx tool: sea_of {"river":"Styx"} ! no such river
results rhine step: find {"sea":"North"} (timed)
results rhine step: write (timed)
"""


def test_every_tool_and_our_own_rounds_fill_the_same_table(
    warehouse: Warehouse,
) -> None:
    lines = warehouse.sql(
        "select concat_ws(' ', source_kind, case_id, steps.role || ':', step_id,"
        " arguments, result, '! ' || error,"
        " if(latency_ms >= 0, '(timed' || coalesce(', ' || input_tokens || ' + '"
        " || output_tokens || ' tokens', '') || ')', null)) as line"
        " from marts.fct_steps as steps inner join marts.dim_tasks using (task_id)"
        " where task_id <> 'own' and case_id <> 'one'"
        " order by source_kind, case_id, step_no"
    )
    assert "\n".join(lines["line"]) == STEPS.strip()


def test_a_case_can_expect_a_call_its_arguments_and_its_result(
    warehouse: Warehouse,
) -> None:
    rows = warehouse.sql(
        "select case_id, step_id, status, reason from marts.fct_check_results"
        " where task_id <> 'staged' and matcher <> 'object' or reason = 'missing_step'"
        " and task_id <> 'staged' order by all"
    ).rows()
    assert rows == [
        ("broken", "sea_of", "pass", None),
        ("one", "sea_of", "pass", None),
        ("rhine", "clock", "fail", "missing_step"),
        ("rhine", "depth", "fail", "not_contained"),
        ("rhine", "sea_of", "pass", None),
        ("rhine", "sea_of", "pass", None),
        ("two", "sea_of#2", "pass", None),
        ("two", "sea_of#3", "fail", "missing_step"),
    ]


def test_the_evaluator_judges_the_calls_as_the_warehouse_does(
    warehouse: Warehouse,
) -> None:
    judged = warehouse.sql(
        "select step_id, status, actual_source from marts.fct_match_results"
        " where task_id = 'own' order by step_id"
    ).rows()
    verdicts = in_python().step_outputs["_intermediate_evaluation"]
    assert judged == sorted(
        (step, verdict["status"], verdict["actual_source"])
        for step, verdict in verdicts.items()
    )
    assert {source for _, _, source in judged} == {"tool_call", None}


def test_the_page_opens_the_calls_of_a_case_cut_and_without_foreign_markup(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    warehouse.report(["own"], tmp_path, formats=["html", "json"])
    (page,) = (each.read_text() for each in tmp_path.rglob("own*/report.html"))
    (trace,) = re.findall(
        r'<details class="small trace">.*?</details>', page, re.DOTALL
    )
    assert "4 steps" in trace
    assert "sea_of" in trace
    assert "North Sea" in trace
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(&#39;HOSTILE&#39;)" in trace
    assert trace.count("long ") < 101
    assert "9,500 more characters" in trace
    (outcome,) = warehouse.result("own").case_results[0].rounds
    assert [step.step for step in outcome.steps] == [
        *("user", "sea_of", "depth", "assistant"),
    ]


def test_an_agent_of_a_tool_has_its_calls_on_its_page(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    tasks = [_task(warehouse, kind) for kind in ("inspect_ai", "promptfoo")]
    warehouse.report(tasks, tmp_path, formats=["html"])
    for task in tasks:
        (page,) = tmp_path.rglob(f"*{task[:8]}*/report.html")
        assert "no such river" in page.read_text()
        assert "<b>Styx" not in page.read_text()
