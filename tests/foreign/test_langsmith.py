"""LangSmith: dotted columns, repetitions, feedback that is missing or a text."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import DATA, reading_of, table

LATE = DATA / "langsmith" / "late.jsonl"


@pytest.fixture(scope="module")
def late() -> Reading:
    return reading_of(LATE)


def test_an_experiment_is_a_task_that_says_little_of_itself(late: Reading) -> None:
    (task,) = table(late, "tasks").rows(named=True)
    assert task["title"] == "late"
    assert (task["model"], task["prompt_version"]) == ("unknown", "unknown")
    assert task["created_at"].date() == date(2026, 11, 22)  # of the run's own id


def test_two_nights_of_one_experiment_have_one_title(tmp_path: Path) -> None:
    folder = tmp_path / "support"
    folder.mkdir()
    for name in (
        "late_2026-10-12.jsonl",
        "late-20261013T0300.jsonl",
        "2026-10-14.jsonl",
    ):
        (folder / name).write_bytes(LATE.read_bytes())
    titles = [
        table(reading_of(path), "tasks")["title"].item()
        for path in sorted(folder.iterdir())
    ]
    assert titles == ["langsmith", "late", "late"]


def test_runs_of_one_example_are_rounds(late: Reading) -> None:
    rounds = table(late, "rounds")
    assert rounds["case_id"].n_unique() == 4
    assert set(rounds.group_by("case_id").len()["len"]) == {2}
    early = reading_of(DATA / "langsmith" / "early.jsonl")
    assert set(table(early, "cases")["case_id"]) == set(rounds["case_id"])


def test_a_list_of_rows_reads_like_lines(late: Reading, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in LATE.read_text("utf-8").splitlines()]
    file = tmp_path / "late.json"
    file.write_text(json.dumps(rows), "utf-8")
    assert reading_of(file).rows == late.rows


def test_a_run_that_broke_is_an_error_and_nothing_of_it_is_judged(
    late: Reading,
) -> None:
    broken = table(late, "rounds").filter(pl.col("error").is_not_null())
    assert broken["reported_status"].to_list() == ["error", "error"]
    assert broken["raw_output"].null_count() == 2
    judged = table(late, "reported_scores")["round_id"]
    assert not set(judged) & set(broken["round_id"])


def test_a_text_is_kept_and_is_no_number(late: Reading) -> None:
    tone = table(late, "reported_scores").filter(dimension_id="tone")
    assert tone["value"].null_count() == tone.height
    assert {json.loads(each)["given"] for each in tone["payload"]} == {"long", "short"}


def test_only_what_is_never_anything_but_0_or_1_is_graded(late: Reading) -> None:
    dimensions = table(late, "dimension_configs")
    assert dimensions.select("dimension_id", "is_graded", "weight").rows() == [
        ("right", True, 1.0),
        ("length", False, 0.0),
        ("tone", False, 0.0),
    ]


def test_several_outputs_are_one_object(tmp_path: Path) -> None:
    row = json.loads(LATE.read_text("utf-8").splitlines()[0])
    file = tmp_path / "two.jsonl"
    file.write_text(json.dumps({**row, "outputs.depth": 3}), "utf-8")
    (read,) = table(reading_of(file), "rounds").rows(named=True)
    assert json.loads(read["parsed_output"]) == {"depth": 3, "sea": "Mediterranean"}


def test_a_row_with_more_cells_than_columns_is_rejected_alone(tmp_path: Path) -> None:
    text = LATE.with_suffix(".csv").read_text("utf-8")
    file = tmp_path / "half.csv"
    file.write_text(text + "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o\n", "utf-8")
    reading = reading_of(file)
    assert [each.code for each in reading.problems] == ["ragged_row"]
    assert table(reading, "rounds").height == 8


@pytest.mark.parametrize(
    "rest",
    ["Nile,sea,,sea,Tr", "Nile,sea,,sea,True,13.0,long,0.1,e", 'Nile,sea,"Tim\ne'],
    ids=["in a cell", "at the end of a cell", "in quotes"],
)
def test_a_row_within_which_a_csv_ends_is_rejected_alone(
    rest: str, tmp_path: Path
) -> None:
    whole = LATE.with_suffix(".csv").read_text("utf-8")
    file = tmp_path / "late.csv"
    file.write_text(whole + rest, "utf-8")
    reading = reading_of(file)
    assert table(reading, "rounds").equals(
        table(reading_of(LATE.with_suffix(".csv")), "rounds")
    )
    rejects = [each for each in reading.problems if each.severity == "reject"]
    assert {each.code for each in rejects} <= {"cut_row", "broken_quotes"}
    assert rejects[0].line == whole.count("\n") + 1


def test_an_id_that_is_no_text_is_read_as_one(tmp_path: Path) -> None:
    row = json.loads(LATE.read_text("utf-8").splitlines()[0])
    file = tmp_path / "odd.jsonl"
    file.write_text(json.dumps({**row, "id": [1], "example_id": [2]}), "utf-8")
    assert table(reading_of(file), "cases")["case_id"].to_list() == ["[2]"]


def test_empty_lines_of_a_csv_are_no_runs(tmp_path: Path, late: Reading) -> None:
    file = tmp_path / "late.csv"
    file.write_text(LATE.with_suffix(".csv").read_text("utf-8") + "\n\n", "utf-8")
    assert table(reading_of(file), "rounds").height == table(late, "rounds").height


@pytest.mark.parametrize(
    ("key", "is_graded"),
    [
        *((name, False) for name in ("toxicity", "pii_leakage", "isHarmful", "errors")),
        *((name, True) for name in ("no_toxicity", "is_not_harmful", "correct")),
    ],
)
def test_truth_values_whose_name_says_the_opposite_of_good_decide_nothing(
    key: str, is_graded: bool, tmp_path: Path
) -> None:
    lines = LATE.read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    for n, row in enumerate(rows):
        for name in [name for name in row if name.startswith("feedback.")]:
            del row[name]
        row[f"feedback.{key}"] = n % 2 == 0
    file = tmp_path / "late.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    reading = reading_of(file)
    assert table(reading, "dimension_configs")["is_graded"].to_list() == [is_graded]
    codes = [problem.code for problem in reading.problems]
    assert ("unclear_direction" in codes) is not is_graded


def test_a_rating_of_langchain_is_not_graded_where_it_is_only_1(tmp_path: Path) -> None:
    row = json.loads(LATE.read_text("utf-8").splitlines()[0])
    row = {key: row[key] for key in row if not key.startswith("feedback.")}
    file = tmp_path / "late.jsonl"
    file.write_text(json.dumps(row | {"feedback.score_string:depth": 1}), "utf-8")
    dimensions = table(reading_of(file), "dimension_configs")
    assert dimensions.select("is_graded", "direction").rows() == [
        (False, "higher_better")
    ]
