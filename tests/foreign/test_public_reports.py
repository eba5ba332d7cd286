"""Faults that users of the tools reported in public: what each must be read as."""

from __future__ import annotations

import csv
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from promptlab.ingest.foreign.table.guessing import (
    NoGuess,
    guess,
    mapping_as_toml,
    mapping_name,
    no_mapping_message,
    toml_key,
)
from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import reading_of, table


def _promptfoo(folder: Path, rows: list[dict[str, Any]]) -> Reading:
    export = {
        "evalId": "eval-1",
        "results": {"version": 3, "prompts": [], "results": rows},
        "config": {},
    }
    file = folder / "results.json"
    file.write_text(json.dumps(export), "utf-8")
    return reading_of(file)


def _row(
    place: int, river: str, kind: str, reason: str, **about: Any
) -> dict[str, Any]:
    assertion = {"type": kind, "value": "is it polite?"}
    component = {"pass": False, "score": 0, "reason": reason, "assertion": assertion}
    options = about.pop("options", {})
    grading = {"pass": False, "score": 0, "reason": reason}
    grading |= {"componentResults": [component], **about.pop("grading", {})}
    return {
        "promptIdx": 0,
        "testIdx": place,
        "provider": {"id": "small"},
        "prompt": {"raw": "{{river}}", "label": "ask"},
        "testCase": {
            "vars": {"river": river},
            "assert": [assertion],
            "options": options,
        },
        "vars": {"river": river},
        "response": {"output": "an answer"},
        "success": False,
        "score": 0,
        "failureReason": 1,
        "gradingResult": grading,
        "namedScores": {},
        **about,
    }


REASONS = [
    ("llm-rubric", "API error: 429 Too Many Requests", "unevaluated"),
    ("llm-rubric", "Could not extract JSON from llm-rubric response", "unevaluated"),
    ("factuality", "No output", "unevaluated"),
    ("llm-rubric", "The answer names an API error: it is not polite", "fail"),
    (
        "javascript",
        "Custom function threw error: Unexpected token 'return'\n"
        "SyntaxError: Unexpected token 'return'\n    at new Function (<anonymous>)",
        "unevaluated",
    ),
    (
        "javascript",
        "Custom function threw error: Unexpected token 'a' in JSON\n"
        "SyntaxError: Unexpected token\n    at JSON.parse (<anonymous>)",
        "fail",
    ),
    ("contains", "API error: 429", "fail"),
]


@pytest.mark.parametrize(("kind", "reason", "status"), REASONS)
def test_a_judge_or_program_that_broke_says_nothing_of_the_answer(
    tmp_path: Path, kind: str, reason: str, status: str
) -> None:
    reading = _promptfoo(tmp_path, [_row(0, "Nile", kind, reason)])
    assert table(reading, "rounds")["reported_status"].to_list() == [status]


def test_a_metric_of_weight_0_has_no_value(tmp_path: Path) -> None:
    grading = {"namedScoreWeights": {"hits": 0, "tone": 1}}
    named = {"hits": 0, "tone": 0}
    row = _row(0, "Nile", "contains", "no", grading=grading, namedScores=named)
    scores = table(_promptfoo(tmp_path, [row]), "reported_scores")
    values = dict(scores.select("dimension_id", "value").rows())
    assert values["hits"] is None
    assert values["tone"] == 0


def test_a_metric_of_weight_0_is_not_missed_as_a_score(tmp_path: Path) -> None:
    grading = {"namedScoreWeights": {"hits": 0, "tone": 1}}
    named = {"hits": 0, "tone": 0}
    rows = [
        _row(0, "Nile", "contains", "no", grading=grading, namedScores=named),
        _row(1, "Rhine", "llm-rubric", "No output", namedScores={"judged": 0}),
    ]
    dimensions = table(_promptfoo(tmp_path, rows), "dimension_configs")
    graded = dict(dimensions.select("dimension_id", "is_graded").rows())
    assert graded == {"hits": False, "tone": True, "judged": True, "score": True}


def test_tests_that_differ_in_options_are_cases_in_any_order(tmp_path: Path) -> None:
    suffixes = ("in one word", "in a poem", "in French")
    rows = [
        _row(place, "Nile", "contains", "no", options={"suffix": suffix})
        for place, suffix in enumerate(suffixes)
    ]
    turned = [{**row, "testIdx": n} for n, row in enumerate(reversed(rows))]
    named = [
        set(table(_promptfoo(tmp_path, each), "cases")["case_id"])
        for each in (rows, turned)
    ]
    assert len(named[0]) == 3
    assert named[0] == named[1]


def test_a_case_has_the_name_that_its_author_wrote(tmp_path: Path) -> None:
    rows = [_row(n, f"invoice_{n}", "contains", "no") for n in (5, 6)]
    cases = table(_promptfoo(tmp_path, rows), "cases")["case_id"]
    assert cases.to_list() == ["invoice_5", "invoice_6"]


def _inspect(
    folder: Path,
    values: list[dict[str, Any]],
    metrics: list[str],
    ids: list[Any] | None = None,
) -> Reading:
    scorers = [
        {"name": name, "metrics": [{"name": each} for each in metrics]}
        for name in values[0]
    ]
    samples = [
        {
            "id": own_id,
            "epoch": 1,
            "input": f"question {n}",
            "target": "yes",
            "output": {"completion": "an answer"},
            "scores": {name: {"value": value} for name, value in each.items()},
        }
        for n, (own_id, each) in enumerate(zip(ids or range(99), values, strict=False))
    ]
    about = {"task": "t", "model": "m", "task_id": "T", "scorers": scorers}
    log = {"version": 2, "status": "success", "eval": about, "samples": samples}
    file = folder / "log.json"
    file.write_text(json.dumps(log), "utf-8")
    return reading_of(file)


LETTERS = [
    ("CCIC", "own_metric", [1, 1, 0, 1]),
    ("CPIN", "own_metric", [1, 0.5, 0, 0]),
    ("AACE", "own_metric", [None] * 4),
    ("AACE", "inspect_ai/accuracy", [None] * 4),
    ("PNPP", "own_metric", [None] * 4),
    ("NNNN", "inspect_ai/accuracy", [0, 0, 0, 0]),
]


@pytest.mark.parametrize(("letters", "metric", "values"), LETTERS)
def test_letters_are_correct_and_incorrect_where_a_scorer_says_no_others(
    tmp_path: Path, letters: str, metric: str, values: list[float | None]
) -> None:
    reading = _inspect(tmp_path, [{"grader": each} for each in letters], [metric])
    assert table(reading, "reported_scores")["value"].to_list() == values


def test_the_first_scorer_with_a_score_decides(tmp_path: Path) -> None:
    values = [{"ptype": "a text", "match": each} for each in "CI"]
    reading = _inspect(tmp_path, values, ["inspect_ai/accuracy"])
    weights = table(reading, "dimension_configs").select("dimension_id", "weight")
    assert dict(weights.rows()) == {"ptype": 0.0, "match": 1.0}


def test_ids_of_other_types_and_blanks_are_other_cases(tmp_path: Path) -> None:
    values = [{"match": "C"}] * 4
    reading = _inspect(tmp_path, values, ["inspect_ai/accuracy"], [1, "1", " a", "a"])
    assert table(reading, "cases")["case_id"].n_unique() == 4


@pytest.mark.parametrize("indent", [None, 1])
def test_samples_of_lm_eval_as_an_array_are_its_rows(
    tmp_path: Path, indent: int | None
) -> None:
    filters = ("strict", "flexible")
    rows = [
        {
            "doc_id": n,
            "doc": {"q": f"how many {n}?"},
            "target": "1",
            "arguments": [],
            "resps": [["1"]],
            "filtered_resps": ["1"],
            "exact_match": float(n > place),
        }
        for place in range(2)
        for n in range(3)
    ]
    totals = {f"exact_match,{each}": 0.5 for each in filters}
    results = {"results": {"sums": totals}, "versions": {"sums": 1}}
    results["config"] = {"model": "hf", "model_args": "pretrained=org/m"}
    (tmp_path / "results.json").write_text(json.dumps(results), "utf-8")
    samples = tmp_path / "pretrained__org__m_sums.jsonl"
    samples.write_text(json.dumps(rows, indent=indent), "utf-8")
    scores = table(reading_of(tmp_path), "reported_scores")
    means = scores.group_by("dimension_id").agg(n=scores["value"].len())
    assert set(means["dimension_id"]) == {f"exact_match,{each}" for each in filters}
    assert scores.height == 6


def _csv(file: Path, header: str, *rows: str) -> Path:
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerows(each.split(",") for each in (header, *rows))
    return file


HEADERS = [
    ("问题,参考答案,回答,是否正确", "问题1,甲,乙,是", "问题2,甲,乙,否"),
    ("用户问题,标准答案,模型回答,是否通过", "问题1,甲,乙,合格", "问题2,甲,乙,不合格"),
    ("题目,期望输出,实际输出,对错", "问题1,甲,乙,对", "问题2,甲,乙,错"),
]


@pytest.mark.parametrize("lines", HEADERS)
def test_chinese_columns_are_guessed(tmp_path: Path, lines: tuple[str, ...]) -> None:
    asked, expected, said, verdict = lines[0].split(",")
    found = guess(_csv(tmp_path / "t.csv", *lines)).mapping
    assert found.inputs == (asked,)
    assert (found.expected, found.output, found.verdict) == (expected, said, verdict)


def test_a_mapping_has_the_chinese_name_of_its_file_in_quotes(tmp_path: Path) -> None:
    file = _csv(tmp_path / "评测结果.csv", *HEADERS[0])
    header = f"tables.{toml_key(mapping_name(file))}"
    section = tomllib.loads(mapping_as_toml(header, guess(file).mapping))
    assert [*section["tables"]] == ["评测结果"]


REASONED = ["{}_reason", "{}_理由", "{}理由", "{} reasoning", "{}.explanation"]


@pytest.mark.parametrize("reason", REASONED)
def test_the_reason_of_a_score_is_its_summary(tmp_path: Path, reason: str) -> None:
    names = ("准确性", reason.format("准确性"))
    header = ",".join(("问题", "回答", *names))
    file = _csv(tmp_path / "t.csv", header, "甲,乙,0.5,少一句", "丙,丁,1,")
    mapping = guess(file).mapping
    assert mapping.scores == ("准确性",)
    reading = reading_of(file, {"t": mapping})
    assert table(reading, "reported_scores")["summary"].to_list() == ["少一句", None]
    assert names[1] not in table(reading, "rounds")["metadata"][0]


MEANINGS = [
    ("参考答案", "甲", "expected"),
    ("标准答案", "甲", "expected"),
    ("期望输出", "甲", "expected"),
    ("实际输出", "乙", "output"),
    ("模型回答", "乙", "output"),
    ("用户问题", "问", "inputs"),
    *[("是否正确", word, "verdict") for word in ("对", "错", "是", "否", "正确")],
    *[("是否通过", word, "verdict") for word in ("合格", "不合格", "通过", "不通过")],
    ("序号", "1", "case"),
    ("耗时", "1.5", "latency_s"),
    ("耗时(ms)", "150", "latency_ms"),
    ("评分", "0.5", "scores"),
    ("得分", "1", "scores"),
]


@pytest.mark.parametrize(("column", "cell", "setting"), MEANINGS)
def test_a_chinese_column_means_what_it_says(
    tmp_path: Path, column: str, cell: str, setting: str
) -> None:
    others = {"问题": "问", "回答": "乙"}
    if setting in ("inputs", "output"):
        del others["问题" if setting == "inputs" else "回答"]
    header = ",".join((*others, column))
    rows = [
        ",".join((*(f"{each}{n}" for each in others.values()), cell)) for n in (1, 2)
    ]
    if setting in ("case", "inputs"):
        rows = [f"{row}{n}" for n, row in enumerate(rows)]
    mapping = guess(_csv(tmp_path / "t.csv", header, *rows)).mapping
    found = getattr(mapping, setting)
    assert found == ((column,) if isinstance(found, tuple) else column)


@pytest.mark.parametrize(
    "asked", ["用户问题", "问题描述", "客户问法", "测试输入", "提示词", "user_question"]
)
@pytest.mark.parametrize("other", ["备注", "参考答案", "序号", "is_correct"])
def test_no_question_is_the_answer_whatever_is_beside_it(
    tmp_path: Path, asked: str, other: str
) -> None:
    file = _csv(
        tmp_path / "t.csv", f"{asked},{other}", "一个很长的问题,1", "又一个问题,0"
    )
    try:
        assert guess(file).mapping.output is None
    except NoGuess as no_guess:
        assert f'output = "{asked}"' not in str(no_guess)


def test_a_question_is_never_proposed_as_the_answer(tmp_path: Path) -> None:
    lines = ("客户问法,备注", "签收后几天可以退货，要运费吗,无", "可以补开发票吗,无")
    with pytest.raises(NoGuess) as caught:
        guess(_csv(tmp_path / "t.csv", *lines))
    assert 'output = "客户问法"' not in str(caught.value)


@pytest.mark.parametrize("word", ["success", "成功", "completed"])
@pytest.mark.parametrize("name", ["status", "result", "状态"])
def test_the_state_of_a_request_is_no_verdict(
    tmp_path: Path, word: str, name: str
) -> None:
    rows = (f"q1,a1,{word}", f"q2,a2,{word}", "q3,a3,failed")
    found = guess(_csv(tmp_path / "t.csv", f"input,output,{name}", *rows))
    assert found.mapping.verdict is None
    assert any(name in each and "no verdict" in each for each in found.notes)


def test_a_status_of_pass_and_fail_is_a_verdict(tmp_path: Path) -> None:
    lines = ("input,output,status", "q1,a1,pass", "q2,a2,fail")
    assert guess(_csv(tmp_path / "t.csv", *lines)).mapping.verdict == "status"


def test_the_id_of_an_item_comes_before_that_of_a_row(tmp_path: Path) -> None:
    lines = ("id,datasetItemId,input,output,score", "a0,i0,q0,x,1", "a1,i1,q1,x,0")
    found = guess(_csv(tmp_path / "t.csv", *lines)).mapping
    assert found.case == "datasetItemId"


def test_an_id_that_is_new_in_each_run_of_the_same_questions_is_none(
    tmp_path: Path,
) -> None:
    for run in "ab":
        lines = ("id,input,output,score", f"{run}0,q0,x,1", f"{run}1,q1,x,0")
        _csv(tmp_path / f"run_{run}.csv", *lines)
    found = guess(tmp_path / "run_a.csv")
    assert found.mapping.case is None
    assert any(each.startswith("id: is new") for each in found.notes)


def test_a_table_that_no_mapping_fits_is_named_in_one_short_line(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "a_folder_of_results_with_a_long_name" / "of_a_run"
    folder.mkdir(parents=True)
    columns = ",".join(f"a_column_with_a_long_name_{n}" for n in range(40))
    row = ",".join("x" for _ in range(40))
    said = no_mapping_message(_csv(folder / "table.csv", columns, row), "csv")
    assert "init --table" in said
    assert "\n" not in said
    assert len(said) <= 200
