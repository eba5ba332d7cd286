"""The prompt that a tool's file holds is the prompt of its task."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptlab.contracts.sources import TableMapping
from promptlab.ingest.foreign import prompts
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA, reading_of, table
from tests.marts import only


def _system(words: str) -> dict[str, str]:
    return {"role": "system", "content": words}


def _user(words: str) -> dict[str, str]:
    return {"role": "user", "content": words}


def _prompts(path: Path) -> set[str]:
    extras = (json.loads(each) for each in table(reading_of(path), "tasks")["extras"])
    return {json.dumps(each.get("prompt"), sort_keys=True) for each in extras}


@pytest.mark.parametrize(
    ("path", "prompt"),
    [
        ("promptfoo/rivers.json", "Where does the {{river}} end?"),
        ("lm_eval/late", "Where does the {{river}} end?"),
        ("helm/rivers,model=acme_early", "Answer about rivers.\n{input}{references}"),
        ("openai_evals/rivers.jsonl", [_system("One word.")]),
    ],
)
def test_files_that_hold_a_prompt_tell_it(path: str, prompt: Any) -> None:
    assert _prompts(DATA / path) == {json.dumps(prompt, sort_keys=True)}


@pytest.mark.parametrize(
    "path", ["langsmith/late.jsonl", "ragas/late.jsonl", "azure_ai_evaluation"]
)
def test_files_without_one_tell_none(path: str) -> None:
    assert _prompts(DATA / path) == {"null"}


def _inspect_plan(log: Any) -> None:
    log["eval"]["model_generate_config"] = {"system_message": "You know rivers."}
    log["plan"] = {
        "steps": [
            {"solver": "system_message", "params": {"template": "One word."}},
            {"solver": "prompt_template", "params": {"template": "Q: {prompt}"}},
            {"solver": "generate", "params": {"cache": False}},
        ],
        "config": {"system_message": "You know rivers."},
    }


def _harness_system(results: Any) -> None:
    results["system_instruction"] = "One word."
    results["configs"]["rivers"]["description"] = "Rivers.\n"


def _deepeval_prompt(run: Any) -> None:
    run.get("testRunData", run)["prompts"] = [
        {"alias": "ask", "text_template": "Where does {{river}} end?"}
    ]


def _deepeval_setting(run: Any) -> None:
    run.get("testRunData", run)["hyperparameters"]["Prompt-Template"] = "End of {x}?"


def _pydantic_setting(report: Any) -> None:
    report["experiment_metadata"]["system_prompt"] = "One word."


def _template(aggregate: Any) -> None:
    for result in aggregate["evaluation_results"]:
        arguments = {"prompt_template": json.dumps([_user("Where?")])}
        result.setdefault("generation_config", {})["generation_args"] = arguments


@pytest.mark.parametrize(
    ("path", "name", "change", "prompt"),
    [
        (
            "inspect_ai/late.json",
            "late.json",
            _inspect_plan,
            [_system("You know rivers."), _system("One word."), _user("Q: {prompt}")],
        ),
        (
            "lm_eval/late",
            "results_2026-11-22T16-07-52.843043.json",
            _harness_system,
            [_system("One word."), _user("Rivers.\nWhere does the {{river}} end?")],
        ),
        (
            "deepeval/late/.latest_run_full.json",
            ".latest_run_full.json",
            _deepeval_prompt,
            "Where does {{river}} end?",
        ),
        (
            "deepeval/late/.latest_run_full.json",
            ".latest_run_full.json",
            _deepeval_setting,
            "End of {x}?",
        ),
        (
            "pydantic_evals/early_1.json",
            "early_1.json",
            _pydantic_setting,
            "One word.",
        ),
        ("every_eval_ever", "rivers.json", _template, [_user("Where?")]),
    ],
)
def test_where_a_tool_writes_its_prompt_it_is_found(
    tmp_path: Path,
    path: str,
    name: str,
    change: Callable[[Any], None],
    prompt: Any,
) -> None:
    source = DATA / path
    if source.is_dir():
        shutil.copytree(source, tmp_path / "run")
    else:
        (tmp_path / "run").mkdir()
        shutil.copy(source, tmp_path / "run")
    file = tmp_path / "run" / name
    written = json.loads(file.read_text("utf-8"))
    change(written)
    file.write_text(json.dumps(written), "utf-8")
    assert _prompts(tmp_path / "run") == {json.dumps(prompt, sort_keys=True)}


def test_a_table_gets_its_prompt_by_the_mapping(tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    file.write_text("question,answer\nNile?,Mediterranean\n", "utf-8")
    mapping = TableMapping(
        inputs=("question",), output="answer", fixed={"prompt": "Where does {q} end?"}
    )
    (extras,) = table(reading_of(file, {"answers": mapping}), "tasks")["extras"]
    assert json.loads(extras) == {"prompt": "Where does {q} end?"}


@pytest.mark.parametrize(
    ("settings", "prompt"),
    [
        ({"prompt": "Answer in one word."}, "Answer in one word."),
        ({"prompt": "用一句话回答。"}, "用一句话回答。"),
        ({"prompt": "ask-v2"}, None),
        ({"prompt_template": "ask-v2", "prompt": "Say it."}, "Say it."),
        ({"System Prompt": [_system("Be kind.")]}, [_system("Be kind.")]),
        ({"prompt": json.dumps([_user("Where?")])}, [_user("Where?")]),
        ({"prompt": "[city], tell me"}, "[city], tell me"),
        ({"prompt": 3}, None),
        ({}, None),
        ("prompt", None),
    ],
)
def test_a_setting_is_a_prompt_where_it_is_no_name(settings: Any, prompt: Any) -> None:
    assert prompts.in_settings(settings) == prompt


@only("dim_task_prompts")
def test_a_foreign_prompt_reaches_the_mart(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(DATA / "openai_evals", DATA / "lm_eval" / "late")
    warehouse.build()
    found = warehouse.sql("select prompt::varchar as p from marts.dim_task_prompts")
    assert {json.dumps(json.loads(each)) for each in found["p"]} == {
        json.dumps([_system("One word.")]),
        json.dumps("Where does the {{river}} end?"),
    }
