"""Sheets of Coze Loop and of Volcengine Ark, guessed and read as any table."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptlab.contracts.sources import TableMapping, evaluator_of
from promptlab.ingest.foreign.table.guessing import guess
from promptlab.ingest.raw.rows import Reading
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import reading_of, table
from tests.foreign.test_evalscope import FACTS
from tests.foreign.test_oracles import SHARED

HEADER = (
    "ID,status,input,reference_output,actual_output,Total Latency(ms),Input Tokens,"
    "Output Tokens,Total Tokens,正确性<0.0.2>,正确性<0.0.2>_reason,语气<1.0.0>,"
    "语气<1.0.0>_reason,weightedScore,人工复核"
)
ROWS = (
    "7480000000000000001,success,莱茵河流入哪片海？,北海,北海,800,9,2,11,1.00,对,0.50,好,0.85,通过",
    "7480000000000000002,success,伏尔加河流入哪片海？,里海,黑海,900,9,2,11,0.00,不对,1.00,好,0.30",
    "7480000000000000003,success,多瑙河流入哪片海？,黑海,黑海,700,9,2,11,1.00,对,1.00,好,1.00,通过",
)
FAILED = "7480000000000000004,fail,维斯瓦河流入哪片海？,波罗的海,,,,,,,,,,"
LEFT = FAILED.replace(",fail,", ",terminal,").replace("0004", "0005")


def _sheet(path: Path, *rows: str, header: str = HEADER) -> Path:
    path.write_text("\ufeff" + "\n".join((header, *rows)) + "\n", "utf-8")
    return path


def _read(path: Path, mapping: TableMapping | None = None) -> Reading:
    return reading_of(path, {"sheet": mapping or guess(path).mapping})


def test_an_experiment_of_coze_loop_is_guessed(tmp_path: Path) -> None:
    found = guess(_sheet(tmp_path / "实验报告_1.csv", *ROWS))
    assert found.mapping == TableMapping(
        inputs=("input",),
        output="actual_output",
        expected="reference_output",
        case="ID",
        error="status",
        scores=("正确性<0.0.2>", "语气<1.0.0>"),
        values=("Total Tokens",),
        lower_is_better=("Total Tokens",),
        latency_ms="Total Latency(ms)",
        input_tokens="Input Tokens",
        output_tokens="Output Tokens",
    )
    assert {each.partition(":")[0] for each in found.notes} == {
        "status",
        "weightedScore",
    }


def test_a_request_that_worked_is_no_verdict_and_one_that_failed_is_an_error(
    tmp_path: Path,
) -> None:
    file = _sheet(tmp_path / "n1.csv", *ROWS, FAILED, LEFT)
    reading = _read(file)
    rounds = table(reading, "rounds")
    assert rounds["reported_status"].to_list() == [*[None] * 3, "error", "error"]
    assert rounds["error"].to_list() == [*[None] * 3, "fail", "terminal"]
    scores = table(reading, "reported_scores")
    right = scores.filter(dimension_id="正确性")["value"].to_list()
    assert right == [1, 0, 1, None, None]
    (first,) = table(reading, "dimension_configs").filter(pl.col("weight") > 0)["name"]
    assert first == "正确性"


@pytest.mark.parametrize(
    "lines",
    [
        ("input,output,status,score", "q1,a1,success,1", "q2,a2,fail,0"),
        ("input,output,status", "q1,a1,success", "q2,,fail"),
    ],
)
def test_a_state_that_may_be_a_verdict_is_neither_guessed_nor_an_error(
    tmp_path: Path, lines: tuple[str, ...]
) -> None:
    header, *rows = lines
    found = guess(_sheet(tmp_path / "t.csv", *rows, header=header))
    assert found.mapping.error is None
    assert found.mapping.verdict is None
    assert any("write verdict =" in each for each in found.notes)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("正确性<0.0.2>", ("正确性", "0.0.2")),
        ("tone <v2>", ("tone", "v2")),
        ("正确性<0.0.2>_reason", ("正确性<0.0.2>_reason", None)),
        ("a<b>", ("a<b>", None)),
        ("<1.0>", ("<1.0>", None)),
        ("score", ("score", None)),
    ],
)
def test_an_evaluator_and_its_version(
    column: str, expected: tuple[str, str | None]
) -> None:
    assert evaluator_of(column) == expected


def test_another_version_of_an_evaluator_is_the_same_dimension_judged_anew(
    tmp_path: Path,
) -> None:
    mapping = guess(_sheet(tmp_path / "n1.csv", *ROWS)).mapping
    newer = HEADER.replace("正确性<0.0.2>", "正确性<0.0.3>")
    _sheet(tmp_path / "n2.csv", *ROWS, header=newer)
    first, second = (_read(tmp_path / f"n{n}.csv", mapping) for n in (1, 2))
    for name in ("reported_scores", "dimension_configs"):
        ours, theirs = (table(each, name).drop("task_id") for each in (first, second))
        assert ours.equals(theirs)
    judges = [
        dict(table(each, "judges").select("name", "template").rows())
        for each in (first, second)
    ]
    assert judges[0]["正确性"].endswith("version 0.0.2")
    assert judges[1]["正确性"].endswith("version 0.0.3")
    assert judges[0]["语气"] == judges[1]["语气"]
    assert any(table(second, "reported_scores")["summary"])


def test_two_versions_of_an_evaluator_in_one_sheet_are_two_dimensions(
    tmp_path: Path,
) -> None:
    header = "ID,input,output,tone<1.0.0>,tone<2.0.0>"
    file = _sheet(tmp_path / "t.csv", "1,q1,a1,1,0", "2,q2,a2,1,1", header=header)
    scores = table(_read(file), "reported_scores")
    assert set(scores["dimension_id"]) == {"tone<1.0.0>", "tone<2.0.0>"}


def test_turns_of_one_item_and_ids_beyond_a_double_stay_apart(tmp_path: Path) -> None:
    turn = ROWS[2].replace("多瑙河", "莱茵河支流")
    near = ROWS[1].replace("0002", "0004")
    file = _sheet(tmp_path / "t.csv", *ROWS, turn, near.replace("伏尔加河", "顿河"))
    assert guess(file).mapping.case is None
    assert table(_read(file), "cases").height == 5
    by_id = TableMapping(
        case="ID", inputs=("input",), scores=("正确性<0.0.2>",), error="status"
    )
    cases = table(_read(file, by_id), "cases")["case_id"].to_list()
    assert len(set(cases)) == 5
    assert cases[0] == "7480000000000000001"


def _ark(n: int, endpoint: str, score: float | None, error: str = "") -> dict[str, Any]:
    return {
        "session_id": n,
        "endpoint_id": endpoint,
        "system_prompt": "short",
        "query": f"River {n}?",
        "reference_response": "sea",
        "response": None if error else "sea",
        "analysis": "right",
        "score": score,
        "parameters": {"temperature": 0.1},
        "usage": None if error else {"prompt_tokens": 9, "completion_tokens": 2},
        "error": error,
    }


def _lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


def test_two_endpoints_of_ark_are_two_models_of_one_run(tmp_path: Path) -> None:
    rows = [_ark(n, e, 1) for e in ("ep-a", "ep-b") for n in range(3)]
    reading = _read(_lines(tmp_path / "t.jsonl", rows))
    tasks = table(reading, "tasks")
    assert sorted(tasks["model"]) == ["ep-a", "ep-b"]
    assert tasks["run_id"].n_unique() == 1
    counts = table(reading, "rounds").group_by("task_id").len()["len"].to_list()
    assert counts == [3, 3]
    assert table(reading, "rounds")["input_tokens"].to_list() == [9] * 6
    assert table(reading, "baselines").height == 6


def test_a_place_and_an_error_of_ark_are_no_measures(tmp_path: Path) -> None:
    rows = [_ark(n, "ep-a", 1) for n in range(3)] + [_ark(3, "ep-a", None, "time out")]
    file = _lines(tmp_path / "t.jsonl", rows)
    mapping = guess(file).mapping
    assert (mapping.scores, mapping.values) == (("score",), ())
    rounds = table(_read(file), "rounds")
    assert rounds["error"].to_list() == [None, None, None, "time out"]


def test_a_score_on_another_scale_of_ark_is_no_guess(tmp_path: Path) -> None:
    rows = [_ark(n, "ep-a", 1 + n) for n in range(4)]
    found = guess(_lines(tmp_path / "t.jsonl", rows))
    assert (found.mapping.scores, found.mapping.values) == ((), ("score",))
    assert any(each.startswith("score: to grade it") for each in found.notes)


def _shared(tool: str, pattern: str) -> list[Path]:
    return sorted((SHARED / tool).glob(pattern)) if FACTS else []


@pytest.mark.parametrize(
    "file", _shared("cozeloop", "*.csv"), ids=lambda each: str(each.stem)[-13:]
)
def test_sheets_of_coze_loop_have_the_means_of_the_facts(file: Path) -> None:
    fact = FACTS["cozeloop"]["runs"][file.name]
    reading = _read(file)
    rounds, scores = table(reading, "rounds"), table(reading, "reported_scores")
    assert rounds.height == table(reading, "cases").height == fact["rows"]
    assert rounds["latency_ms"].sum() == fact["latency_ms_total"]
    errors = rounds["error"].drop_nulls().len()
    assert errors == fact["rows"] - fact["status"]["success"]
    for column in fact["evaluators"]:
        of = scores.filter(dimension_id=evaluator_of(column)[0])
        assert of["value"].drop_nulls().len() == fact["mean"][column]["n"]
        assert of["value"].mean() == pytest.approx(
            fact["mean"][column]["mean"], abs=1e-6
        )
    assert "weightedScore" not in set(scores["dimension_id"])


@pytest.mark.parametrize(
    "file", _shared("volcengine_ark", "*.jsonl"), ids=lambda each: str(each.stem)
)
def test_rows_of_ark_have_the_means_of_the_facts(file: Path) -> None:
    fact = FACTS["volcengine_ark"]["runs"][file.name]
    reading = _read(file)
    tasks = dict(table(reading, "tasks").select("model", "task_id").rows())
    assert tasks.keys() == fact["endpoints"].keys()
    for endpoint, told in fact["endpoints"].items():
        rounds = table(reading, "rounds").filter(task_id=tasks[endpoint])
        assert rounds.height == told["rows"]
        assert rounds["error"].drop_nulls().len() == told["errors"]
        tokens = rounds["input_tokens"].sum() + rounds["output_tokens"].sum()
        assert tokens == told["total_tokens"]
        values = table(reading, "reported_scores").filter(
            task_id=tasks[endpoint], dimension_id="score"
        )["value"]
        assert values.drop_nulls().len() == told["scored"]
        assert values.mean() == pytest.approx(told["mean_score"], abs=1e-6)


PAIRS = [
    ("cozeloop", "*.csv", (0, 1), 0),
    ("cozeloop", "*.csv", (0, 2), 1),
    ("volcengine_ark", "eval_night*.jsonl", (0, 1), 0),
]


@pytest.mark.skipif(not FACTS, reason="no real files of the tools at hand")
@pytest.mark.parametrize(("tool", "pattern", "places", "pair"), PAIRS)
def test_two_nights_pair_as_the_facts_say(
    tool: str, pattern: str, places: tuple[int, int], pair: int
) -> None:
    fact = list(FACTS[tool]["pairs"].values())[pair]
    files = _shared(tool, pattern)
    passed = []
    for place in places:
        reading = _read(files[place])
        of = table(reading, "reported_scores").drop_nulls("value")
        of = of.filter(dimension_id="正确性" if tool == "cozeloop" else "score")
        passed.append(dict(of.select("case_id", pl.col("value") >= 1).rows()))
    first, second = passed
    both = first.keys() & second.keys()
    assert len(both) == fact["in_both"]
    assert len(first.keys() - second.keys()) == len(fact["only_first"])
    changes = Counter((first[case], second[case]) for case in both)
    assert changes[True, False] == len(fact["broke"])
    assert changes[False, True] == len(fact["fixed"])
    assert sum(first[case] for case in both) == fact["passed_first"]
    assert sum(second[case] for case in both) == fact["passed_second"]


def test_the_guess_of_one_night_reads_the_next_in_the_warehouse(tmp_path: Path) -> None:
    night = _sheet(tmp_path / "实验_1_20261126.csv", *ROWS)
    worse = [row.replace(",1.00,对,", ",0.00,不对,") for row in ROWS]
    settings = Settings(tables={"sheet": guess(night).mapping})
    newer = HEADER.replace("语气<1.0.0>", "语气<1.1.0>")
    _sheet(tmp_path / "实验_2_20261127.csv", *worse, FAILED, header=newer)
    warehouse = Warehouse(tmp_path / "w.duckdb", settings=settings)
    loads = warehouse.ingest(tmp_path).files
    assert [each.status for each in loads] == ["loaded", "loaded"]
    names = warehouse.sql("select distinct dimension_id from raw.dimension_configs")
    assert {name for (name,) in names.rows()} == {"正确性", "语气", "Total Tokens"}
