"""A Chinese memory run is right and wrong as a person would say, or undecided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptlab.cli import run_cli
from promptlab.warehouse import Warehouse
from tests.marts import only
from tests.memory.runs import write

RIGHT, WRONG, OPEN = "pass", "fail", "unevaluated"

# answer, reference, category, what a person says, what the warehouse says
ANSWERS: list[tuple[str | None, Any, int, str, str]] = [
    ("北京", "北京", 4, RIGHT, RIGHT),
    ("北京。", ["上海", "北京"], 4, RIGHT, RIGHT),
    ("他住在北京", "北京", 4, RIGHT, OPEN),
    ("南京", "北京", 4, WRONG, OPEN),
    ("李小明", "李晓明", 4, WRONG, OPEN),
    ("不喜欢咖啡", "喜欢咖啡", 4, WRONG, OPEN),
    ("机器学习", "学习机器", 4, WRONG, OPEN),
    ("汤姆", "玛雅", 4, WRONG, WRONG),
    ("是", "对", 4, RIGHT, OPEN),
    ("圣诞节", "12月25日", 2, RIGHT, OPEN),
    ("2023年5月7日", "2023年5月8日", 2, WRONG, WRONG),
    ("2023-05-07", "2023年5月7日", 2, RIGHT, RIGHT),
    ("2023年5月7号", "二〇二三年五月七日", 2, RIGHT, RIGHT),
    ("三天前", "3天前", 2, RIGHT, RIGHT),
    ("三五天", "35天", 2, WRONG, OPEN),
    ("１２３元", "123元", 4, RIGHT, RIGHT),
    ("128元", "128.00 元", 4, RIGHT, RIGHT),
    ("1.5元", "15元", 4, WRONG, WRONG),
    ("-5度", "5度", 4, WRONG, WRONG),
    ("3千米", "3000米", 4, RIGHT, RIGHT),
    ("1万2千元", "12000元", 4, RIGHT, OPEN),
    ("C语言", "C++语言", 4, WRONG, OPEN),
    ("苹果、香蕉、橙子", "香蕉，苹果，橙子", 1, RIGHT, RIGHT),
    ("苹果, 香蕉, 橙子", "香蕉, 苹果, 橙子", 1, RIGHT, RIGHT),
    ("苹果、香蕉", "香蕉，苹果，橙子", 1, WRONG, OPEN),
    ("上海、北京", "北京、上海", 4, WRONG, OPEN),  # asked for their order
    ("是", "是；她喜欢户外运动", 3, RIGHT, RIGHT),
    ("繁體中文", "繁体中文", 4, RIGHT, OPEN),
    ("iPhone 15手机", "iPhone15 手机", 4, RIGHT, RIGHT),
    ("用Python写的", "用 Python 写的", 4, RIGHT, RIGHT),
    ("对话中没有提到", None, 5, RIGHT, RIGHT),
    ("未提及", None, 5, RIGHT, RIGHT),
    ("没有相关信息", None, 5, RIGHT, RIGHT),
    ("无法从对话中得知", None, 5, RIGHT, RIGHT),
    ("No information available", None, 5, RIGHT, RIGHT),
    ("查无此事", None, 5, RIGHT, OPEN),  # until the team names the phrase
    ("他九月开始上班", None, 5, WRONG, WRONG),
    ("不知道", "北京", 4, WRONG, WRONG),
    ("不知道", "未提及", 4, RIGHT, RIGHT),
    (None, "北京", 4, WRONG, WRONG),
    ("", "北京", 4, WRONG, WRONG),
]


def chinese_file(answers: list[tuple[str | None, Any, int, str, str]], dataset: str):
    names = {n: n if dataset == "locomo" else f"kind {n}" for n in range(5)}
    return {
        "experiment_info": {"dataset": dataset, "task_id": "对话"},
        "test_results": [
            {
                "test_index": 1,
                "dialogs_inserted_count": 10,
                "questions": [
                    {
                        "question_index": n,
                        "question_text": f"问题{n}？",
                        "category": names.get(category, category),
                        "reference_answer": reference,
                        "predicted_answer": answer,
                    }
                    for n, (answer, reference, category, *_) in enumerate(answers)
                ],
            }
        ],
    }


@only(
    *("dim_memory_runs", "fct_memory_scores", "fct_memory_answers"),
    *("fct_case_results", "fct_dimension_scores", "fct_task_summaries"),
)
def built(folder: Path, config: str = "") -> Path:
    load(folder, config)
    options = ["--db", str(folder / "w.duckdb")]
    config_of = ["--config", str(folder / "promptlab.toml")]
    assert run_cli(["build", *options, *config_of]) == 0
    return folder / "w.duckdb"


def load(
    folder: Path, config: str = "", answers=ANSWERS, dataset="locomo", run="250101_0900"
) -> None:
    """Write the file of a run and load it."""
    file = folder / dataset / run / "对话.json"
    write(file, chinese_file(answers, dataset))
    (folder / "promptlab.toml").write_text(config, "utf-8")
    options = ["--db", str(folder / "w.duckdb")]
    config_of = ["--config", str(folder / "promptlab.toml")]
    assert run_cli(["ingest", str(file.parent), *options, *config_of]) == 0


def statuses(db: Path, run_id: str = "locomo/250101_0900") -> list[str]:
    found = Warehouse(db).sql(
        "select answers.status, cases.status as of_case"
        " from marts.fct_memory_answers as answers"
        " inner join marts.fct_case_results as cases on answers.run_id = cases.task_id"
        " and cases.case_id = concat_ws('/', answers.task_id, answers.test_index,"
        " answers.question_key) where answers.run_id = ? order by question_index",
        [run_id],
    )
    assert found["status"].to_list() == found["of_case"].to_list()
    return found["status"].to_list()


@pytest.fixture(scope="module")
def locomo(tmp_path_factory) -> Path:
    """Also a run of another data set, and one with few Chinese references."""
    folder = tmp_path_factory.mktemp("zh")
    load(folder, dataset="own")
    load(folder, answers=FEW_CHINESE, run="250102_0900")
    return built(folder)


FEW_CHINESE = [("Paris", "Paris", 4, RIGHT, RIGHT)] * 3 + [
    ("南京", "北京", 4, WRONG, WRONG)
]


def test_no_answer_is_judged_against_what_a_person_says(locomo):
    assert len(ANSWERS) == len(statuses(locomo))
    for (answer, reference, _, person, expected), found in zip(
        ANSWERS, statuses(locomo), strict=True
    ):
        assert found in (person, OPEN), (answer, reference)
        assert found == expected, (answer, reference)


def test_data_sets_without_locomo_categories_are_judged_as_carefully(locomo):
    for (answer, reference, _, person, _), found in zip(
        ANSWERS, statuses(locomo, "own/250101_0900"), strict=True
    ):
        assert found in (person, OPEN), (answer, reference)


def test_the_score_of_a_chinese_run_is_the_f1_of_cmrc(locomo):
    runs = Warehouse(locomo).sql(
        "select right_metric, score_metric from marts.dim_memory_runs"
        " where run_id = 'locomo/250101_0900'"
    )
    assert runs.rows() == [("chinese_match", "cmrc_f1")]
    scores = Warehouse(locomo).sql(
        "select predicted_answer, cmrc_f1 from marts.fct_memory_answers"
        " where predicted_answer in ('他住在北京', '学习机器', '机器学习', '南京')"
        " and run_id = 'locomo/250101_0900'"
    )
    assert dict(scores.rows()) == {
        "他住在北京": pytest.approx(4 / 7, abs=1e-6),
        "机器学习": 0.5,
        "南京": 0.5,
    }
    overall = Warehouse(locomo).sql(
        "select overall_score, score from marts.fct_task_summaries"
        " inner join marts.fct_memory_scores on task_id = run_id"
        " where is_headline and category = 'all' and metric = 'cmrc_f1'"
        " and run_id = 'locomo/250101_0900'"
    )
    assert overall.row(0)[0] == overall.row(0)[1]


def test_a_run_says_that_english_metrics_do_not_decide(tmp_path, capsys):
    load(tmp_path, answers=FEW_CHINESE, run="250102_0900")
    assert "Chinese" not in capsys.readouterr().err
    load(tmp_path)
    assert "most references are Chinese" in capsys.readouterr().err


def test_a_run_with_few_chinese_references_is_judged_as_published(locomo):
    metric = Warehouse(locomo).sql(
        "select right_metric from marts.dim_memory_runs"
        " where run_id = 'locomo/250102_0900'"
    )
    assert metric.item() == "locomo_f1"
    dimensions = Warehouse(locomo).sql(
        "select dimension_id from marts.fct_dimension_scores"
        " where task_id = 'locomo/250102_0900'"
    )
    assert len(dimensions) > 2
    assert not {"cmrc_f1", "chinese_match"} & set(dimensions["dimension_id"])


def test_a_team_names_its_metric_its_threshold_and_its_abstentions(tmp_path):
    db = built(tmp_path, '[memory]\nabstentions = ["查无此事"]')
    [place] = [n for n, row in enumerate(ANSWERS) if row[0] == "查无此事"]
    assert statuses(db)[place] == RIGHT
    built(
        tmp_path,
        '[memory]\nright_metric = "cmrc_f1"\nright_threshold = 0.55',
    )
    found = dict(
        zip([row[:2] for row in map(str_row, ANSWERS)], statuses(db), strict=True)
    )
    assert found["他住在北京", "北京"] == RIGHT
    assert found["南京", "北京"] == WRONG
    assert OPEN not in found.values()
    metric = (
        "select right_metric, right_threshold, score_metric from marts.dim_memory_runs"
    )
    assert Warehouse(db).sql(metric).rows() == [("cmrc_f1", 0.55, "cmrc_f1")]


def str_row(row: tuple[Any, ...]) -> tuple[str, str]:
    return str(row[0]), json.dumps(row[1], ensure_ascii=False).strip('"')


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ('right_metric = "bleu"', "memory.right_metric"),
        ("right_threshold = 50", "memory.right_threshold"),
        ('right_metrics = "cmrc_f1"', "did you mean `right_metric`"),
    ],
)
def test_a_wrong_setting_of_memory_is_named(tmp_path, capsys, config, message):
    (tmp_path / "promptlab.toml").write_text(f"[memory]\n{config}")
    assert run_cli(["runs", "--config", str(tmp_path / "promptlab.toml")]) == 2
    assert message in capsys.readouterr().err.replace("memory`", "memory.`")
