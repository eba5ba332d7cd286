"""Users' tables: opened in any dialect, read by a mapping, reported without one."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from promptlab.contracts.sources import TableMapping
from promptlab.errors import InputError, SettingsError
from promptlab.ingest.foreign.table.cells import cell_key, number_of, verdict_of
from promptlab.ingest.foreign.table.guessing import NoGuess, guess, mapping_name
from promptlab.ingest.foreign.table.opening import form_of
from promptlab.ingest.plan import plan
from promptlab.ingest.raw.rows import Reading
from promptlab.settings import Settings, load_settings
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA, reading_of, table

PLAIN = "id,question,answer,gold,relevance,passed,seconds,note\n007,Nile?,sea,sea,0.5,yes,1.5,x\n008,Rhine?,,sea,,no,2,\n"
MAPPING = TableMapping(
    case="id",
    inputs=("question",),
    output="answer",
    expected="gold",
    scores=("relevance",),
    verdict="passed",
    latency_s="seconds",
)


def read(path: Path, mapping: TableMapping = MAPPING) -> Reading:
    return reading_of(path, {"rivers": mapping})


def _written(tmp_path: Path, data: bytes | str, name: str = "any.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


MAPPING_OF_IDS = TableMapping(
    case="id", inputs=("question",), expected="gold", output="answer"
)
NAMES = {
    "results_2026-10-12": "results",
    "results-20261012_030000-v2": "results-v2",
    "qa_2026-10-12T03-00-00Z": "qa",
    "夜间_2026.10.12": "夜间",
    "2026-10-12": "unknown",
    "results_v2": "results_v2",
    "v20261012": "v20261012",
    "results_2026-13-41": "results_2026-13-41",
    "run-1234567890": "run-1234567890",
}


@pytest.mark.parametrize(("name", "version"), NAMES.items())
def test_the_name_of_a_file_without_its_date_is_the_prompt_version(
    tmp_path: Path, name: str, version: str
) -> None:
    reading = read(_written(tmp_path, PLAIN, f"{name}.csv"))
    assert table(reading, "tasks")["prompt_version"].to_list() == [version]


DIALECTS: dict[str, bytes] = {
    "plain": PLAIN.encode(),
    "with a byte order mark": PLAIN.encode("utf-8-sig"),
    "with CRLF": PLAIN.replace("\n", "\r\n").encode(),
    "tabs": PLAIN.replace(",", "\t").encode(),
    "semicolons and decimal commas": PLAIN.replace(",", ";").replace(".5", ",5").encode(),
    "Excel's line about the separator": b"sep=;\r\n" + PLAIN.replace(",", ";").encode(),
    "UTF-16, as Excel's Unicode text": PLAIN.replace(",", "\t").encode("utf-16"),
    "every cell in quotes": "\n".join(
        ",".join(f'"{cell}"' for cell in line.split(",")) for line in PLAIN.split("\n")[:-1]
    ).encode(),
    "JSONL": "\n".join(
        json.dumps(dict(zip(PLAIN.split("\n")[0].split(","), line.split(","), strict=True)))
        for line in PLAIN.split("\n")[1:-1]
    ).encode(),
}  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_table_reads_alike_in_every_dialect(dialect: str, tmp_path: Path) -> None:
    reading = read(_written(tmp_path, DIALECTS[dialect]))
    assert not reading.problems
    rounds = table(reading, "rounds").sort("case_id")
    assert rounds.select("case_id", "raw_output", "reported_status", "latency_ms").rows() == [
        ("007", "sea", "pass", 1500.0),
        ("008", None, "fail", 2000.0),
    ]  # fmt: skip
    assert table(reading, "reported_scores")["value"].to_list() == [0.5, None]
    assert json.loads(rounds["metadata"][0]) == {"note": "x"}
    assert list(reading.runs) == list(read(_written(tmp_path, PLAIN, "plain.csv")).runs)


def test_a_mapped_column_names_the_cluster_of_each_case(tmp_path: Path) -> None:
    mapping = MAPPING.model_copy(update={"cluster": "note"})
    cases = table(read(_written(tmp_path, PLAIN), mapping), "cases").sort("case_id")
    assert cases["cluster"].to_list() == ["x", None]


def test_parquet_and_csv_of_one_table_are_one_run(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = pl.read_csv(PLAIN.encode(), schema_overrides={"id": pl.String})
    frame.write_parquet(path)
    assert read(path).runs == read(_written(tmp_path, PLAIN)).runs


def test_a_workbook_is_read_from_its_first_sheet_with_rows() -> None:
    mapping = TableMapping(
        case="id", output="answer", scores=("relevance",), verdict="passed", time="when"
    )
    reading = read(DATA / "table" / "rivers.xlsx", mapping)
    rounds = table(reading, "rounds")
    assert rounds["case_id"].to_list() == ["7", "8", "9"]
    assert rounds["reported_status"].to_list() == ["pass", "fail", "unevaluated"]
    assert rounds["executed_at"][0].isoformat() == "2026-03-01T12:30:00+00:00"
    assert table(reading, "reported_scores")["value"].to_list() == [1.0, 0.25, None]


def test_a_latin_letter_is_read_as_excel_meant_it_and_reported(tmp_path: Path) -> None:
    reading = read(_written(tmp_path, PLAIN.replace("Nile", "Sauône").encode("cp1252")))
    assert [p.code for p in reading.problems] == ["encoding_guessed"]
    assert "Sauône" in table(reading, "cases")["context"][0]


def test_rows_of_one_case_are_rounds_and_equal_questions_without_ids_are_cases(
    tmp_path: Path,
) -> None:
    path = _written(tmp_path, "id,question,answer\n1,Nile?,a\n1,Nile?,b\n")
    by_id = read(path, TableMapping(case="id", output="answer"))
    assert table(by_id, "rounds")["run_index"].to_list() == [1, 2]
    by_content = read(path, TableMapping(inputs=("question",), output="answer"))
    first, second = table(by_content, "cases")["case_id"].to_list()
    assert second == f"{first}~2"


def test_models_and_versions_in_columns_are_tasks_of_one_run(tmp_path: Path) -> None:
    rows = "id,answer,model\n1,a,small\n1,b,large\n"
    mapping = TableMapping(
        case="id", output="answer", model="model", fixed={"prompt_version": "v2"}
    )
    tasks = table(read(_written(tmp_path, rows), mapping), "tasks")
    assert set(tasks.select("title", "model", "prompt_version").rows()) == {
        ("rivers", "small", "v2"),
        ("rivers", "large", "v2"),
    }
    assert tasks["run_id"].n_unique() == 1


def test_a_row_with_too_many_cells_is_rejected_and_names_the_line(
    tmp_path: Path,
) -> None:
    path = _written(tmp_path, "a,b\n1,2\n1,2,3\n3,4,,\n")
    reading = read(path, TableMapping(case="a", output="b"))
    assert not reading.rejected
    assert table(reading, "rounds")["raw_output"].to_list() == ["2", "4"]
    (problem,) = reading.problems
    assert (problem.line, problem.severity) == (3, "reject")
    assert "3 cells below 2 columns" in problem.message


FIRST_ROWS = {
    "has too many cells": ("1,x,y,z", "ragged_row", 3),
    "has too few cells": ("1", "short_row", 4),
    "has broken quotes": ('"1,x,y', "broken_quotes", 3),
}


@pytest.mark.parametrize("n_rows", [1, 3])
@pytest.mark.parametrize("what", FIRST_ROWS)
def test_a_table_whose_first_row_is_broken_is_read_by_its_mapping(
    what: str, n_rows: int, tmp_path: Path
) -> None:
    row, code, n_loaded = FIRST_ROWS[what]
    lines = ["a,b,c", row, *(f"{n},x,y" for n in range(2, 2 + n_rows))]
    path = _written(tmp_path, "\n".join(lines) + "\n")
    reading = read(path, TableMapping(case="a", output="b"))
    assert [(each.code, each.line) for each in reading.problems] == [(code, 2)]
    assert table(reading, "rounds").height == n_loaded - 3 + n_rows
    # without a mapping it is a table too, where most rows fit
    assert (form_of(path.read_bytes()) == "csv") == (n_rows > 1)


@pytest.mark.parametrize("line", ['{"a": "1", "b": ', '{"a": "1"} and', "{}"])
def test_a_table_of_json_lines_whose_first_line_is_broken_is_read(
    line: str, tmp_path: Path
) -> None:
    lines = [line, *(f'{{"a": "{n}", "b": "x"}}' for n in range(3))]
    path = _written(tmp_path, "\n".join(lines) + "\n", "any.jsonl")
    reading = read(path, TableMapping(case="a", output="b"))
    assert table(reading, "rounds").height == 3


def test_an_odd_verdict_is_named_and_not_guessed(tmp_path: Path) -> None:
    path = _written(tmp_path, "a,b\n1,perhaps\n")
    reading = read(path, TableMapping(case="a", verdict="b"))
    assert table(reading, "rounds")["reported_status"].to_list() == [None]
    assert "'perhaps'" in reading.problems[0].message


def test_a_negative_latency_or_cost_is_none(tmp_path: Path) -> None:
    path = _written(tmp_path, "a,b,s,paid\n1,x,-1,-2\n2,y,0.5,0.25\n")
    mapping = TableMapping(case="a", output="b", latency_s="s", cost="paid")
    reading = read(path, mapping)
    assert table(reading, "rounds")["latency_ms"].to_list() == [None, 500.0]
    metadata = table(reading, "rounds")["metadata"].to_list()
    assert metadata == ["{}", '{"cost":0.25}']
    assert [(each.code, each.severity) for each in reading.problems] == [
        ("odd_cost", "warning"), ("odd_latency", "warning")
    ]  # fmt: skip


NOT_TABLES = {
    "prose": b"A page, with commas.\n\nAnd more of it, here, and there.\n",
    "YAML with commas": b"small: {a: 1, b: 2}\nlarge: {a: 3, b: 4}\n",
    "one column": b"a\nb\nc\n",
    "nothing": b"",
    "a document": b'{"a": 1}',
    "a document of many lines": b'{\n"a": [\n1,\n2\n],\n"b": 1\n}\n',
    "a list of numbers": b"[1, 2]",
    "numbers without an end": b"\0\1\2,\n,",
    "one row": b"a,b\n",
}


@pytest.mark.parametrize("what", NOT_TABLES)
def test_what_is_no_table_does_not_look_like_one(what: str) -> None:
    assert form_of(NOT_TABLES[what]) is None


CELLS: list[tuple[Any, float | None]] = [
    ("0.5", 0.5), (" 1 ", 1.0), ("85%", 0.85), ("TRUE", 1.0), ("no", 0.0), ("", None),
    ("nan", None), ("inf", None), ("high", None), (float("nan"), None), (True, 1.0), (3, 3.0),
]  # fmt: skip


@pytest.mark.parametrize(("cell", "value"), CELLS)
def test_cells_are_numbers_where_they_say_one(cell: Any, value: float | None) -> None:
    assert number_of(cell) == value


def test_cells_that_say_the_same_in_two_formats_are_the_same() -> None:
    assert (
        cell_key("['a', 'b\\nc']")
        == cell_key(["a", "b\nc"])
        == cell_key('["a", "b\\nc"]')
    )
    assert cell_key("0.1923076923076923") == cell_key(0.1923076923)
    assert cell_key("0.12345678949999") == cell_key(
        0.1234567895
    )  # as pandas writes JSON
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert (
        cell_key("2026-01-02 03:04:05")
        == cell_key("2026-01-02T03:04:05Z")
        == cell_key(at)
    )
    assert cell_key("") == cell_key(None) == cell_key(float("nan"))
    assert cell_key("True") == cell_key(True)


def test_words_for_pass_and_fail() -> None:
    words = ("Passed", "FALSE", "1", "", "通过", "hm", "error")
    assert [verdict_of(each) for each in words] == [
        "pass", "fail", "pass", "unevaluated", "pass", None, "error"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"verdict": "strict"}, {"verdict": "lax"}),
        ({"scores": ("judge",)}, {"scores": ("judge",), "scales": {"judge": (0, 10)}}),
        (
            {"scores": ("judge",), "scales": {"judge": (0, 10)}},
            {"scores": ("judge",), "scales": {"judge": (-20, 10)}},
        ),
        (
            {"scores": ("judge",), "scales": {"judge": (0, 10)}},
            {"scores": ("judge",), "scales": {"judge": (10, 0)}},
        ),
    ],
)
def test_the_column_of_the_verdict_and_the_scale_of_a_score_are_its_judge(
    one: dict[str, Any], other: dict[str, Any], tmp_path: Path
) -> None:
    path = _written(tmp_path, "id,strict,lax,judge\n1,pass,fail,1\n")
    before, again, after = (
        table(read(path, TableMapping(case="id", **each)), "judges")
        for each in (one, one, other)
    )
    judged = ["verdict" if "verdict" in one else "judge"]
    assert before["name"].to_list() == after["name"].to_list() == judged
    assert before["template"].to_list() == again["template"].to_list()
    assert before["template"].to_list() != after["template"].to_list()


AGAIN = "id,question,answer,gold\n" + "".join(
    f"{n},{kind} {n}?,{answer},{kind} {n}\n"
    for kind in ("math", "law")
    for n in range(3)
    for answer in ("a", "b")
)


def test_rows_of_one_id_that_ask_something_else_are_other_cases(tmp_path: Path) -> None:
    reading = read(_written(tmp_path, AGAIN), MAPPING_OF_IDS)
    cases = table(reading, "cases")["case_id"].to_list()
    assert cases[:3] == ["0", "1", "2"]
    assert [re.sub(r"[0-9a-f]{12}$", "#", each) for each in cases[3:]] == [
        *("0/#", "1/#", "2/#")
    ]
    assert table(reading, "rounds")["run_index"].to_list() == [1, 2] * 6
    assert len(set(table(reading, "baselines")["payload"])) == 6
    (problem,) = (p for p in reading.problems if p.code == "several_of_id")
    assert "3 ids in `id`, the first 0, each ask several things" in problem.message
    again = read(
        _written(tmp_path, AGAIN.replace(",a,", ",c,"), "d.csv"), MAPPING_OF_IDS
    )
    assert table(again, "cases")["case_id"].to_list() == cases


def test_another_expected_answer_is_another_case_and_an_empty_cell_is_none(
    tmp_path: Path,
) -> None:
    rows = "1,Nile?,a,sea\n1,,b,\n1,Nile?,c,lake\n2,Rhine?,a,\n2,Rhine?,b,sea\n2,Rhine?,c,lake\n"
    reading = read(
        _written(tmp_path, f"id,question,answer,gold\n{rows}"), MAPPING_OF_IDS
    )
    rounds = table(reading, "rounds")
    cases = [each[:2] for each in rounds["case_id"]]
    assert cases == ["1", "1", "1/", "2", "2", "2/"]


def test_ids_that_begin_again_in_another_task_are_cases_of_it(tmp_path: Path) -> None:
    rows = "1,Nile?,a,m\n1,Rhine?,a,n\n"
    mapping = TableMapping(case="id", inputs=("question",), output="answer", title="of")
    reading = read(_written(tmp_path, f"id,question,answer,of\n{rows}"), mapping)
    assert table(reading, "cases")["case_id"].to_list() == ["1", "1"]
    assert "several_of_id" not in {p.code for p in reading.problems}


def test_a_column_whose_values_come_again_with_other_questions_is_no_id(
    tmp_path: Path,
) -> None:
    mapping, _, notes = guess(_written(tmp_path, AGAIN))
    assert (mapping.case, mapping.inputs) == (None, ("question",))
    assert notes[0].startswith("id: its values come again with other questions")
    rounds = AGAIN.replace("law", "math")
    assert guess(_written(tmp_path, rounds, "b.csv")).mapping.case == "id"
    tasks = AGAIN.replace("gold", "dataset").replace(" 0\n", "\n")
    tasks = re.sub(r"(math|law) \d\n", r"\1\n", tasks)
    assert guess(_written(tmp_path, tasks, "c.csv")).mapping.case == "id"


def test_the_guess_says_what_the_columns_seem_to_mean(tmp_path: Path) -> None:
    mapping, columns, _ = guess(_written(tmp_path, PLAIN))
    assert mapping == MAPPING
    assert len(columns) == 8


@pytest.mark.parametrize(
    ("columns", "row", "expected"),
    [
        ("question,finished", "Nile?,2026-03-01T10:00:00Z", {"time": "finished"}),
        ("question,started at", "Nile?,2026-03-01 10:00", {"time": "started at"}),
        ("question,when_it_was", "Nile?,2026-03-01T10:00:00+02:00", {"time": "when_it_was"}),
        ("question,finished", "Nile?,stop", {"time": None}),
        ("question,time", "Nile?,1.5", {"time": None}),
        ("question,from,to", "Nile?,2026-03-01 10:00,2026-03-01 10:01", {"time": None}),
        ("question,prompt", "Nile?,v2", {"prompt_version": "prompt"}),
        ("question,prompt", "Nile?,short", {"prompt_version": "prompt"}),
        ("question,prompt", "Nile?,Answer in one word.", {"prompt_version": None}),
        ("question,prompt", "Nile?,Beantworte_diese_Frage_in_einem_Wort_bitte_sehr", {"prompt_version": None}),
        ("prompt", "Nile?", {"inputs": ("prompt",), "prompt_version": None}),
        ("prompt", "v1", {"inputs": (), "prompt_version": "prompt"}),
        ("prompt", "support-v1.2", {"inputs": (), "prompt_version": "prompt"}),
    ],
)  # fmt: skip
def test_the_time_and_the_prompt_version_are_guessed_by_their_cells(
    tmp_path: Path, columns: str, row: str, expected: dict[str, Any]
) -> None:
    mapping, _, notes = guess(_written(tmp_path, f"id,answer,{columns}\n1,a,{row}\n"))
    assert {name: getattr(mapping, name) for name in expected} == expected
    if columns == "question,from,to":
        assert notes == [
            'from, to: write time = "from", or the other, to say when the answers were'
            " made"
        ]


def test_what_lies_on_no_known_scale_is_guessed_as_a_value(tmp_path: Path) -> None:
    rows = "question,answer,rating,fee,cost\nNile?,sea,5,0.1,1\nOb?,sea,3,7,2\n"
    mapping, _, _ = guess(_written(tmp_path, rows))
    assert mapping.values == ("rating", "fee")
    assert mapping.lower_is_better == ("fee",)
    assert mapping.cost == "cost"
    assert not mapping.scores


def test_a_column_of_scores_that_leaves_their_scale_is_compared_and_not_graded(
    tmp_path: Path,
) -> None:
    rows = "id,relevance,rating\na,0.5,85\nb,1.0000000000000002,0\nc,0,100\n"
    mapping = TableMapping(case="id", scores=("relevance", "rating"))
    reading = read(_written(tmp_path, rows), mapping)
    (problem,) = reading.problems
    assert (problem.code, problem.severity) == ("off_scale", "warning")
    assert "`rating` holds 85" in problem.message
    scores = table(reading, "reported_scores").sort("dimension_id", "case_id")
    assert scores["score"].to_list() == [None, None, None, 0.5, 1, 0]
    assert scores["value"].to_list()[:3] == [85, 0, 100]
    weights = table(reading, "dimension_configs").select("dimension_id", "weight")
    assert dict(weights.rows()) == {"relevance": 1, "rating": 0}


def test_columns_without_rows_cannot_be_guessed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no row below its columns"):
        guess(_written(tmp_path, "id,question\n"))


UNKNOWN = [
    "x,y\nfoo,bar\nbaz,qux\n",
    "x,y\nfoo,bar\nfoo,bar\n",
    "ref no,who,what was said\n1,me,hello there\n1,you,good bye\n",
    'zeile 1,"wert, 2"\na,b\nc,d\n',
    "x,n\nfoo,17\nbar,18\n",
]


@pytest.mark.parametrize("rows", UNKNOWN)
def test_what_cannot_be_guessed_names_lines_that_work_when_they_are_copied(
    rows: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _written(tmp_path, rows, "My file.csv")
    ((found, _),) = plan([path])
    assert "shows lines to start from" in str(found.fault)
    with pytest.raises(NoGuess) as caught:
        guess(path)
    message = str(caught.value)
    lines = message[message.index("[tables.my_file]") :]
    config = _written(tmp_path, lines, "promptlab.toml")
    settings = load_settings({}, config=config, environ={})
    ((_, kind),) = plan([path], tables=settings.tables)
    assert kind == "table"
    assert reading_of(path, settings.tables).records_loaded == rows.count("\n") - 1


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("a\tb\n1\t2\n", {"case": "a", "output": "b"}),
        (
            "foo,bar,baz\nx,hello,17\ny,hi there,18\n",
            {"case": "foo", "output": "bar", "values": ["baz"]},
        ),
        ("foo,n\nx,17\nx,18\n", {"case": "n", "output": "foo"}),
        ("foo,n\nx,17\nx,17\n", {"inputs": ["foo"], "output": "n"}),
        ("they asked,told\nwhy,so\n", {"inputs": ["they asked"], "output": "told"}),
        ("user a,user b\nwhy,so\n", {"inputs": ["user a"], "output": "user b"}),
    ],
)
def test_what_cannot_be_guessed_never_takes_the_question_for_the_answer(
    rows: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(NoGuess) as caught:
        guess(_written(tmp_path, rows))
    message = str(caught.value)
    (mapping,) = tomllib.loads(message[message.index("[tables.") :])["tables"].values()
    assert mapping == expected


DIRECTIONS: list[tuple[str, tuple[str, str], str]] = [
    *((name, ("0", "1"), "lower_is_better") for name in (
        "failed", "is_wrong", "hallucination", "toxicity", "wer", "loss", "judge_cost",
        "error_rate", "isHarmful", "bias_score", "edit_distance", "attack_success",
    )),
    *((name, ("0.2", "1"), "values") for name in ("refused", "confidence", "mood")),
    *((name, ("True", "False"), "lower_is_better") for name in ("failed", "unsafe")),
    *((name, ("0.1", "1"), "none") for name in ("temperature", "top_p", "seed", "n_shots")),
    *((name, ("0.5", "1"), "scores") for name in (
        "faithfulness", "answer_relevancy", "rougeL", "f1", "judge score", "ExactMatch",
    )),
    ("judge_score", ("3", "10"), "values"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "cells", "expected"), DIRECTIONS)
def test_only_a_number_whose_name_says_that_one_is_best_is_guessed_as_a_score(
    name: str, cells: tuple[str, str], expected: str, tmp_path: Path
) -> None:
    rows = f"id,answer,{name}\n1,a,{cells[0]}\n2,b,{cells[1]}\n"
    mapping, _, notes = guess(_written(tmp_path, rows))
    found = {
        setting
        for setting in ("scores", "values", "lower_is_better")
        if name in getattr(mapping, setting)
    }
    assert found - ({"values"} if expected == "lower_is_better" else set()) == (
        set() if expected == "none" else {expected}
    )
    assert mapping.verdict is None
    assert expected == "scores" or any(name in note for note in notes)


UNITS = [
    ("200", "300", "latency_ms"),
    ("0.8", "2.5", "latency_s"),
    ("12", "30", "latency_s"),
]


@pytest.mark.parametrize(("first", "second", "setting"), UNITS)
@pytest.mark.parametrize("name", ["latency", "duration", "elapsed"])
def test_the_unit_of_a_latency_is_guessed_by_its_size_and_named(
    name: str, first: str, second: str, setting: str, tmp_path: Path
) -> None:
    rows = f"id,answer,{name}\n1,a,{first}\n2,b,{second}\n"
    mapping, _, notes = guess(_written(tmp_path, rows))
    assert getattr(mapping, setting) == name
    assert any(name in note for note in notes)


@pytest.mark.parametrize(
    ("name", "cells"),
    [("human_label", "pass fail"), ("label", "correct incorrect"), ("x", "✓ ✗")],
)
def test_a_column_of_words_for_pass_and_fail_is_the_verdict(
    name: str, cells: str, tmp_path: Path
) -> None:
    first, second = cells.split()
    rows = f"id,answer,{name}\n1,a,{first}\n2,b,{second}\n3,c,\n"
    mapping, _, _ = guess(_written(tmp_path, rows))
    assert mapping.verdict == name


@pytest.mark.parametrize("cells", [("yes", "no"), ("1", "0"), ("a", "b"), ("", "")])
def test_a_column_of_other_words_is_no_verdict(
    cells: tuple[str, str], tmp_path: Path
) -> None:
    rows = f"id,answer,x\n1,a,{cells[0]}\n2,b,{cells[1]}\n"
    assert guess(_written(tmp_path, rows)).mapping.verdict is None


def test_the_files_of_long_mem_eval_are_guessed(tmp_path: Path) -> None:
    rows = [
        {"question_id": f"q{n}", "hypothesis": "x", "autoeval_label": {"label": n > 0}}
        for n in range(2)
    ]
    path = _written(tmp_path, "\n".join(map(json.dumps, rows)), "h.jsonl")
    mapping = guess(path).mapping
    assert (mapping.case, mapping.output) == ("question_id", "hypothesis")
    assert mapping.verdict == "autoeval_label.label"
    statuses = table(read(path, mapping), "rounds")["reported_status"].to_list()
    assert statuses == ["fail", "pass"]


def test_answer_is_what_was_expected_next_to_a_column_of_what_was_said(
    tmp_path: Path,
) -> None:
    rows = "question_id,question,hypothesis,answer,verdict\nq1,Nile?,sea,lake,fail\n"
    mapping = guess(_written(tmp_path, rows)).mapping
    assert (mapping.output, mapping.expected) == ("hypothesis", "answer")


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"output": "a"}, "needs `case` or `inputs`"),
    ({"case": "a"}, "needs `output`"),
    ({"case": "a", "output": "b", "lower_is_better": ["c"]}, "no value"),
    ({"case": "a", "scores": ["b"], "values": ["b"]}, "once"),
    ({"case": "a", "output": "b", "model": "c", "fixed": {"model": "x"}}, "once"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "fault"), FAULTS)
def test_a_mapping_that_cannot_be_meant_is_refused(
    said: dict[str, Any], fault: str
) -> None:
    with pytest.raises(ValidationError, match=fault):
        TableMapping(**said)


def test_a_mistyped_setting_of_a_mapping_names_the_nearest(tmp_path: Path) -> None:
    config = _written(tmp_path, '[tables.x]\ncase = "a"\noutptu = "b"\n', "p.toml")
    with pytest.raises(SettingsError, match=r"tables\.x\.outptu.*output"):
        load_settings({}, config=config, environ={})


def test_a_table_without_a_mapping_is_reported(tmp_path: Path) -> None:
    path = _written(tmp_path, PLAIN)
    ((found, _),) = plan([path])
    assert re.search(
        r"no mapping in the config.*init --table \S*any", found.fault or ""
    )
    (load,) = Warehouse(tmp_path / "w.duckdb").ingest(tmp_path).files
    assert load.status == "skipped"
    assert load.message is not None
    assert re.search(r"init --table \S*any.csv` guesses", load.message)


KINDS_OF_LINES: list[tuple[dict[str, Any], str | None]] = [
    ({"id": "c1", "question": "q", "answer": "a", "passed": 1, "error": "x"}, "table"),
    # a run without errors has no key for them
    ({"id": "c1", "question": "q", "answer": "a", "passed": 1}, "table"),
    # the verdict has another name: a table that no mapping fits, and no testset
    ({"id": "c1", "question": "q", "answer": "a", "grade": 1}, None),
    ({"id": "c1", "question": "q", "answer": "a", "expected": "b"}, None),
    ({"id": "c1", "inputs": {"question": "q"}, "answer": "a"}, None),
    ({"id": "c1", "question": "q", "expected": "b"}, "testset"),
    ({"id": "c1", "question": "q"}, None),
    ({"id": "c1", "answer": "a", "expected_outputs": {"reply": "b"}}, "testset"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "kind"), KINDS_OF_LINES)
def test_lines_with_an_id_and_an_answer_that_a_mapping_names_are_no_testset(
    row: dict[str, Any], kind: str | None, tmp_path: Path
) -> None:
    mapping = TableMapping(
        case="id",
        inputs=("question",),
        output="answer",
        verdict="passed",
        error="error",
    )
    path = _written(
        tmp_path, "".join(f"{json.dumps(row)}\n" for _ in range(3)), "t.jsonl"
    )
    ((found, named),) = plan([path], tables={"t": mapping})
    assert named == kind
    assert ("no mapping" in (found.fault or "")) == (kind is None)
    ((found, in_folder),) = plan([tmp_path], tables={"t": mapping})
    assert (in_folder, found.mapping is None) == (kind or "table", kind != "table")


def test_only_lines_may_lack_the_column_of_errors(tmp_path: Path) -> None:
    mapping = TableMapping(case="id", output="answer", verdict="ok", error="error")
    path = _written(tmp_path, "id,answer,ok\nc1,a,1\n")
    ((found, kind),) = plan([path], tables={"t": mapping})
    assert (kind, found.mapping) == (None, None)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("Results_2026-10-12.csv", "results"),
        ("qa-v2.csv", "qa_v2"),
        ("2026-10-12.csv", "table"),
        ("评测结果_2026-10-12.csv", "评测结果"),
        ("客服 v2.csv", "客服_v2"),
    ],
)
def test_a_guessed_mapping_has_the_name_of_the_file_without_its_date(
    file: str, name: str
) -> None:
    assert mapping_name(Path(file)) == name


def test_a_mapping_that_is_written_later_loads_the_table_and_a_new_one_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "in").mkdir()
    _written(tmp_path / "in", PLAIN)
    db, statuses = tmp_path / "w.duckdb", []
    other = TableMapping(case="id", output="answer", scores=("relevance",))
    for mapping in ({}, {"rivers": MAPPING}, {"rivers": MAPPING}, {"rivers": other}):
        warehouse = Warehouse(db, settings=Settings(tables=mapping))
        (load,) = warehouse.ingest(tmp_path / "in").files
        statuses.append(load.status)
    assert statuses == ["skipped", "loaded", "unchanged", "loaded"]
    (tasks,) = warehouse.sql("select count(*) from live.tasks").rows()
    assert tasks == (1,)


def test_a_row_that_is_repeated_whole_with_its_round_is_read_once(
    tmp_path: Path,
) -> None:
    rows = "id,answer,n\nc1,x,1\nc1,x,2\nc1,x,1\nc1,y,1\nc2,x,\nc2,x,\n"
    mapping = TableMapping(case="id", output="answer", round="n")
    reading = read(_written(tmp_path, rows), mapping)
    answers = table(reading, "rounds").group_by("case_id").len().sort("case_id")
    assert answers["len"].to_list() == [3, 2]
    (problem,) = [each for each in reading.problems if each.code == "repeated_row"]
    assert "1 row has the case, round and cells" in problem.message


def test_a_mapping_wins_over_what_a_file_looks_like(tmp_path: Path) -> None:
    rows = '{"id": "a", "question": "Nile?", "answer": "sea"}\n' * 2
    path = _written(tmp_path, rows, "t.jsonl")
    assert plan([path])[0][1] is None
    mapping = TableMapping(case="id", output="answer")
    assert plan([path], tables={"t": mapping})[0][1] == "table"


def test_cells_are_redacted(tmp_path: Path) -> None:
    path = _written(tmp_path, "a,b\n1,ask ann@example.org\n")
    mapping = {"t": TableMapping(case="a", output="b")}
    settings = Settings(redact="strict", tables=mapping)
    warehouse = Warehouse(tmp_path / "w.duckdb", settings=settings)
    (load,) = warehouse.ingest(path).files
    assert load.redacted
    assert "ann@" not in str(warehouse.sql("from live.rounds").rows())


def test_a_text_among_numbers_is_named_and_missing(tmp_path: Path) -> None:
    rows = "sep=;\nid;answer;relevance\n1;a;0,5\n2;b;Error: rate limit\n"
    mapping = TableMapping(case="id", output="answer", scores=("relevance",))
    reading = read(_written(tmp_path, rows), mapping)
    assert table(reading, "reported_scores")["value"].to_list() == [0.5, None]
    (problem,) = reading.problems
    assert (problem.code, problem.line, problem.record_id) == ("odd_score", 4, "2")


def test_a_header_in_the_middle_is_no_row(tmp_path: Path) -> None:
    path = _written(tmp_path, PLAIN + PLAIN.replace("007", "010").replace("008", "011"))
    reading = read(path)
    assert table(reading, "cases")["case_id"].to_list() == ["007", "008", "010", "011"]
    (problem,) = reading.problems
    assert (problem.code, problem.line) == ("repeated_header", 4)


def test_a_header_in_the_middle_of_a_sheet_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    lines = [line.split(",") for line in (PLAIN + PLAIN).splitlines()]
    pl.DataFrame(lines[1:], schema=lines[0], orient="row").write_parquet(path)
    reading = read(path)
    assert table(reading, "rounds").height == 4
    assert "row 4 is the header once more" in reading.problems[0].message


def test_the_guess_does_not_mind_a_few_odd_cells_nor_a_header_in_the_middle(
    tmp_path: Path,
) -> None:
    odd = "009,Ob?,sea,sea,Error,Error: rate limit,Error,x\n"
    mapping, _, _ = guess(_written(tmp_path, PLAIN * 4 + odd))
    assert mapping == MAPPING
