"""A judge or checker that broke says nothing of the answer, whatever its tool writes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.foreign.reading_of import DATA, reading_of, table

Change = Callable[[Any], None]


def _evaluators(row: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: key for key in row if key.startswith(f"outputs.{name}.")}


def _azure_nan(export: Any) -> None:
    for key in _evaluators(export["rows"][0], "f1"):
        export["rows"][0][key] = float("nan")


def _azure_status(export: Any) -> None:
    said = {
        "_status": "error",
        "_result": "fail",
        "_passed": False,
        "_score": 0.0,
        "": 0.0,
    }
    for end, value in said.items():
        export["rows"][0][f"outputs.f1.f1_score{end}"] = value


def _inspect_scorer(log: Any) -> None:
    sample = log["samples"][0]
    traceback = (
        'File "inspect_ai/_eval/task/run.py", line 2884, in run\n'
        "    await scorer(state, Target(sample.target))\n"
        'File "tasks/judge.py", line 7, in score\n    raise RuntimeError("429")'
    )
    sample["scores"] = {}
    sample["error"] = {"message": "RuntimeError('429')", "traceback": traceback}


def _inspect_grade(log: Any) -> None:
    said = {"value": "I", "explanation": "Grade not found in model output: hm"}
    log["samples"][0]["scores"]["grade"] = said


def _pydantic(report: Any) -> None:
    case = report["cases"][0]
    case["assertions"] = {}
    case["evaluator_failures"] = [
        {"name": "Looks", "error_message": "429", "source": {"name": "Looks"}},
        {"name": "EqualsExpected", "error_message": "429"},
    ]


def _deepeval(run: Any) -> None:
    case = run["testCases"][0]
    case["success"] = False
    for metric in case["metricsData"]:
        metric |= {"success": False, "score": None, "error": "429 Too Many Requests"}


def _mlflow(trace: Any) -> None:
    if trace["request"]["river"] != "Nile":
        return
    for each in trace["assessments"]:
        if "feedback" in each:
            each["feedback"] = {"value": "no", "error": {"error_code": "429"}}


def _api(page: Any) -> None:
    for result in page["data"][0]["results"]:
        sample = {"error": {"code": "server_error", "message": "the grader broke"}}
        result |= {"passed": False, "score": 0.0, "sample": sample}
    page["data"][0]["status"] = "fail"


def _evals(line: Any) -> None:
    """The judge gave no choice: oaieval writes the lowest score of all choices."""
    if line.get("sample_id") == "rivers.dev.2":
        if line["type"] == "match":
            line |= {"type": "raw_sample", "data": {}}
        if line["type"] == "metrics":
            line["data"] = {"choice": "__invalid__", "score": 0.0}


def _langsmith(row: Any) -> None:
    if row["inputs.river"] == "Nile":
        row |= {key: None for key in row if key.startswith("feedback.")}


def _ragas(row: Any) -> None:
    if "Nile" in row["user_input"]:
        row |= dict.fromkeys(("exact_match", "non_llm_string_similarity", "picky"))


def _langfuse(page: Any) -> None:
    page["data"][0]["scores"] = []


def _evalscope(row: Any) -> None:
    if row.get("index") == 2 and "sample_score" in row:
        row["sample_score"]["score"]["status"] = "degraded"


def _every_eval_ever(line: Any) -> None:
    if line.get("sample_id") == "nile":
        line["evaluation"] = {"score": None, "is_correct": None}


def _promptfoo(export: Any) -> None:
    for row in export["results"]["results"]:
        if row["testIdx"] == 0:
            row |= {"success": False, "score": 0, "failureReason": 1}
            for each in row["gradingResult"]["componentResults"]:
                each |= {"pass": False, "score": 0, "reason": "429"}
                each["metadata"] = {"graderError": True}


BROKEN: dict[str, tuple[str, str, Change]] = {
    "promptfoo": ("promptfoo/rivers.json", "", _promptfoo),
    "Azure, NaN": ("azure_ai_evaluation/early.json", "", _azure_nan),
    "Azure, status": ("azure_ai_evaluation/early.json", "", _azure_status),
    "Inspect, a scorer that raised": ("inspect_ai/late.json", "", _inspect_scorer),
    "Inspect, no grade": ("inspect_ai/late.json", "", _inspect_grade),
    "Pydantic Evals": ("pydantic_evals/late_1.json", "", _pydantic),
    "DeepEval": ("deepeval/late/.latest_run_full.json", "", _deepeval),
    "MLflow": ("mlflow/late_genai_result_df.jsonl", "", _mlflow),
    "OpenAI Evals API": ("openai_evals_api/late", "output_items_1.json", _api),
    "OpenAI evals": ("openai_evals/rivers.jsonl", "", _evals),
    "LangSmith": ("langsmith/late.jsonl", "", _langsmith),
    "Ragas": ("ragas/late.jsonl", "", _ragas),
    "Langfuse": ("langfuse/late_experiment", "experiment_items.json", _langfuse),
    "EvalScope": (
        "evalscope/20261122_160000", "reviews/acme-early/seas_default.jsonl", _evalscope
    ),
    "Every Eval Ever": ("every_eval_ever", "rivers_samples.jsonl", _every_eval_ever),
}  # fmt: skip
"""Tool → file of its run, the file in it that is changed, and the change."""
OTHERS = {"Azure, NaN", "Azure, status", "Inspect, no grade"}
"""Here other scorers of the same answer judged it."""


@pytest.mark.parametrize("tool", BROKEN)
def test_a_judge_that_broke_leaves_its_answer_unjudged(
    tool: str, tmp_path: Path
) -> None:
    name, part, change = BROKEN[tool]
    copy = tmp_path / Path(name).name
    (shutil.copytree if (DATA / name).is_dir() else shutil.copy)(DATA / name, copy)
    file = copy / part if part else copy
    written = file.read_text("utf-8")
    rows = written.splitlines() if file.suffix == ".jsonl" else [written]
    documents = [json.loads(row) for row in rows]
    for document in documents:
        change(document)
    file.write_text("\n".join(map(json.dumps, documents)), "utf-8")
    before, after = (reading_of(each) for each in (DATA / name, copy))
    keys = ["case_id", "round_id"]
    rounds = [table(each, "rounds").sort(keys) for each in (before, after)]
    assert rounds[0][keys].equals(rounds[1][keys])
    statuses = [each["reported_status"].to_list() for each in rounds]
    assert statuses[1].count("fail") <= statuses[0].count("fail")
    assert statuses[1].count("error") == statuses[0].count("error")
    scores = [
        table(each, "reported_scores").drop_nulls("score") for each in (before, after)
    ]
    assert scores[1].height < scores[0].height
    judged = [{*each.select(keys).rows()} for each in scores]
    assert bool(judged[0] - judged[1]) is (tool not in OTHERS)
    errors = table(after, "reported_checks")
    if errors.height:
        assert errors.filter(errors["error"].is_not_null())["passed"].is_null().all()
    if "429" in file.read_text("utf-8"):  # why it broke is kept
        kept = ("reported_checks", "reported_scores", "rounds")
        assert "429" in str([table(after, each).to_dicts() for each in kept])
        if errors.height:
            known = table(before, "reported_checks")["error"].drop_nulls().len()
            assert errors["error"].drop_nulls().len() > known
