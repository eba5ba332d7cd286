from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from promptlab.contracts.analysis_input import ScoreRecord
from promptlab.encoding import without_comments
from promptlab.ingest import raw
from promptlab.ingest.raw.rows import Reading
from promptlab.warehouse import Warehouse
from tests.ingest.at_once import read_scores

SHARED_RUNS = Path(__file__).parents[3] / "shared" / "data" / "runs"


def record(**changes: Any) -> dict[str, Any]:
    return {
        "task_id": "run-7",
        "case_id": "c0",
        "round_id": "c0-1",
        "dimension_id": "judge",
        "score": 7,
        "scale": 10,
        "summary": "nearly",
        "payload": {"reason": "缺一步"},
        "scorer": "judge-a",
        "scorer_version": "3",
        **changes,
    }


def lines(*records: Any) -> bytes:
    texts = (
        each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)
        for each in records
    )
    return "\n".join(texts).encode()


def read(*records: Any) -> Reading:
    return read_scores(without_comments(lines(*records)), "scores/judge")


def found(reading: Reading) -> list[tuple[int | None, str | None, str]]:
    return [(p.line, p.pointer, p.code) for p in reading.problems]


def test_a_line_becomes_a_row():
    reading = read(record())
    row = {name: values[0] for name, values in reading.rows["scores"].items()}
    assert json.loads(row.pop("payload")) == {"reason": "缺一步"}
    assert row == {
        "line": 1,
        "task_id": "run-7",
        "case_id": "c0",
        "round_id": "c0-1",
        "dimension_id": "judge",
        "score": 7.0,
        "scale": 10.0,
        "summary": "nearly",
        "scorer": "judge-a",
        "scorer_version": "3",
    }
    assert reading.keys == [("scores", "run-7")]
    assert (reading.records_loaded, reading.records_rejected) == (1, 0)


def test_what_may_be_left_out_has_its_default():
    bare = record(score=1)
    for key in ("scale", "summary", "payload", "scorer_version"):
        del bare[key]
    rows = read(bare).rows["scores"]
    assert (rows["scale"][0], rows["payload"][0]) == (1.0, "{}")
    assert (rows["summary"][0], rows["scorer_version"][0]) == (None, None)


def test_a_null_score_is_a_score_that_could_not_be_given():
    reading = read(record(score=None))
    assert reading.problems == []
    assert reading.rows["scores"]["score"][0] is None


@pytest.mark.parametrize(
    ("changes", "pointer", "code"),
    [
        ({"score": 10.5}, "/score", "score_above_scale"),
        ({"score": -0.5}, "/score", "out_of_range"),
        ({"score": "7"}, "/score", "wrong_type"),
        ({"score": True}, "/score", "wrong_type"),
        ({"score": float("nan")}, "/score", "not_a_number"),
        ({"scale": 0}, "/scale", "out_of_range"),
        ({"scale": None}, "/scale", "wrong_type"),
        ({"scale": "1e400"}, "/scale", "number_out_of_range"),
        ({"task_id": " "}, "/task_id", "blank"),
        ({"round_id": 1}, "/round_id", "wrong_type"),
        ({"scorer": ""}, "/scorer", "blank"),
        ({"payload": []}, "/payload", "wrong_type"),
        ({"payload": None}, "/payload", "wrong_type"),
        ({"summary": 1}, "/summary", "wrong_type"),
        ({"payload": {"a": "\ud800"}}, "/payload/a", "lone_surrogate"),
    ],
)
def test_a_bad_score_is_rejected_alone_and_by_pointer(changes, pointer, code):
    text = json.dumps(record(**changes)).replace('"1e400"', "1e400")
    reading = read(record(round_id="a"), text, record(round_id="b"))
    assert found(reading) == [(2, pointer, code)]
    assert list(reading.rows["scores"]["round_id"]) == ["a", "b"]
    assert list(reading.rows["scores"]["line"]) == [1, 3]
    assert reading.records_rejected == 1


@pytest.mark.parametrize(
    "key", ["task_id", "case_id", "round_id", "dimension_id", "score", "scorer"]
)
def test_a_missing_key_rejects_the_score(key):
    bare = record()
    del bare[key]
    assert found(read(bare)) == [(1, f"/{key}", "missing")]


def test_a_score_beyond_a_double_is_rejected_and_a_payload_is_kept_as_it_is():
    beyond = json.dumps(record()).replace(": 7,", ": 1e400,")
    reading = read(beyond, json.dumps(record(payload={})).replace("{}", '{"a": 1e999}'))
    assert [p.pointer for p in reading.problems] == ["/score"]
    assert reading.records_loaded == 1


def test_comments_blank_lines_and_broken_lines_stand_between_good_ones():
    reading = read(
        "// judged twice", record(), "", "{broken", record(round_id="c0-2"), ""
    )
    assert found(reading) == [(4, "", "syntax")]
    assert list(reading.rows["scores"]["line"]) == [2, 5]


def test_a_record_may_span_lines():
    text = json.dumps(record(score=11), indent=1)
    data = lines(json.dumps(record(), indent=1), text.replace("c0-1", "c0-2"))
    reading = read_scores(data, "x")
    [problem] = reading.problems
    assert (problem.pointer, problem.code) == ("/score", "score_above_scale")
    assert data.decode().split("\n")[(problem.line or 0) - 1] == ' "score": 11,'
    assert list(reading.rows["scores"]["line"]) == [1]


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":\n{}}\n{}{}',
        lines(record()) + b" " + lines(record(round_id="x")),
        lines(record()) + b"," + lines(record(round_id="x")),
    ],
)
def test_two_records_in_one_line_are_not_taken_for_two_lines(data):
    assert read_scores(data, "x").records_loaded == 0


def test_a_list_of_scores_will_do():
    data = json.dumps([record(), record(round_id="b", score=-1)], indent=1).encode()
    reading = read_scores(data, "x")
    [problem] = reading.problems
    assert (problem.pointer, problem.code) == ("/1/score", "out_of_range")
    line = data.decode().split("\n")[(problem.line or 0) - 1]
    assert line[(problem.column or 0) - 1 :] == "-1,"
    assert reading.records_loaded == 1


@pytest.mark.parametrize("data", [b"[", b"[1, 2", b'[{"task_id": }]', b"[] []"])
def test_a_broken_list_rejects_the_file(data):
    reading = read_scores(data, "x")
    assert reading.rejected
    assert (reading.rows, reading.keys) == ({}, [])
    assert [p.severity for p in reading.problems] == ["reject"]


def test_of_two_scores_by_one_scorer_the_first_counts():
    reading = read(record(score=1), record(score=2), record(scorer="judge-b"))
    assert found(reading) == [(2, "", "duplicate_score")]
    assert list(reading.rows["scores"]["score"]) == [1.0, 7.0]
    assert (reading.records_loaded, reading.records_rejected) == (2, 1)


def test_unknown_keys_are_named_once_with_the_nearest_known_one():
    reading = read(record(scorrer="x"), record(round_id="b", scorrer="y"))
    [problem] = reading.problems
    assert (problem.severity, problem.code) == ("warning", "unknown_key")
    assert 'did you mean "scorer"' in problem.message
    assert "in 1 more" in problem.message
    assert reading.records_loaded == 2


def test_a_file_without_a_score_has_none():
    reading = read_scores(without_comments(b"// nothing yet\n"), "x")
    assert (reading.records_loaded, reading.problems) == (0, [])
    assert len(reading.rows["scores"]["score"]) == 0


VALUES = st.sampled_from(
    [
        *(None, True, 0, -1, 3, 10, 10.5, 2**70, "", " ", "x", "\x1c", "\ud800"),
        *([], {}, float("nan"), float("inf"), {"a": [1e300]}, {"a": float("inf")}),
    ]
)


@given(st.dictionaries(st.sampled_from(sorted(record())), VALUES, max_size=3))
def test_a_score_is_loaded_exactly_when_its_contract_accepts_it(changes):
    text = json.dumps(record(**changes))
    try:
        ScoreRecord.model_validate(record(**changes))
        json.dumps(record(**changes), allow_nan=False, ensure_ascii=False).encode()
        accepted = True
    except (ValidationError, ValueError):
        accepted = False
    reading = read(text)
    assert reading.records_loaded == int(accepted)
    assert bool(reading.problems) == (not accepted)


def test_the_rows_fit_the_raw_table():
    rows = read(record(), record(round_id="b", score=None)).rows["scores"]
    with duckdb.connect() as con:
        raw.ensure_schema(con, ingest_version="0")
        assert raw.append(con, "scores", [{"load_id": [1, 1], **rows}]) == 2
        judged = con.execute("select score, payload ->> '$.reason' from raw.scores")
        assert judged.fetchall() == [(7.0, "缺一步"), (None, "缺一步")]


@pytest.mark.parametrize("run", ["memory-qa-0503", "memory-qa-0710"])
def test_real_scores_load_wholly(run):
    path = SHARED_RUNS / f"{run}.scores.jsonl"
    if not path.exists():
        pytest.skip("the shared data is not here")
    reading = read_scores(path.read_bytes(), run)
    assert (reading.records_loaded, reading.problems) == (233, [])


def _scored(file: Path, score: float, rounds: range, **changes: Any) -> Path:
    each = [record(case_id=f"c{n}", round_id=f"c{n}-1", score=score) for n in rounds]
    file.write_bytes(lines(*({**one, **changes} for one in each)))
    return file


@pytest.mark.parametrize("n_calls", [1, 2])
def test_scores_that_replace_those_of_another_file_are_counted_with_its_name(
    n_calls: int, tmp_path: Path
) -> None:
    first = _scored(tmp_path / "1.jsonl", 2, range(10))
    second = _scored(tmp_path / "2.jsonl", 2, range(5, 8))
    third = _scored(tmp_path / "3.jsonl", 9, range(6, 20))
    other = _scored(tmp_path / "4.jsonl", 9, range(20), scorer="judge-b")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    files = (first, second, third, other)
    calls = [files] if n_calls == 1 else [[each] for each in files]
    loads = {
        load.path: load for call in calls for load in warehouse.ingest(*call).files
    }
    told = {path.name: load.problems for path, load in loads.items()}
    assert told["1.jsonl"] == told["4.jsonl"] == []
    (problem,) = told["2.jsonl"]
    assert (problem.severity, problem.code) == ("warning", "scores_replaced")
    assert problem.message.startswith(f"3 scores replace those of {first}")
    (of_first, of_second) = told["3.jsonl"]
    assert of_first.message.startswith(f"2 scores replace those of {first}, 2 of them")
    assert of_second.message.startswith(f"2 scores replace those of {second}, 2 of")
    stored = "select count(*) from raw.rejects where code = 'scores_replaced'"
    assert warehouse.sql(stored).rows() == [(3,)]
    again = warehouse.ingest(_scored(third, 8, range(6, 20))).files[0]
    assert [each.code for each in again.problems] == ["scores_replaced"] * 2
    (lost,) = warehouse.ingest(_scored(third, 8, range(10, 20))).files[0].problems
    assert lost.code == "scores_lost"
    assert lost.message.startswith(
        "this version of the file has 10 scores of run-7; the one before had 14"
    )


def test_a_new_version_of_a_file_keeps_the_scores_of_the_tasks_it_does_not_name(
    tmp_path: Path,
) -> None:
    file = tmp_path / "scores.jsonl"
    both = lines(record(task_id="night1"), record(task_id="night2", score=5))
    newer = lines(record(task_id="night2", score=6), record(task_id="night3"))
    warehouse = Warehouse(tmp_path / "w.duckdb")
    found = []
    for content in (both, newer, both, both):
        file.write_bytes(content)
        (load,) = warehouse.ingest(file).files
        assert load.problems == []
        rows = warehouse.sql("select task_id, score from live.scores order by task_id")
        found.append((load.status, dict(rows.rows())))
    assert found == [
        ("loaded", {"night1": 7, "night2": 5}),
        ("loaded", {"night1": 7, "night2": 6, "night3": 7}),
        ("loaded", {"night1": 7, "night2": 5, "night3": 7}),
        ("unchanged", {"night1": 7, "night2": 5, "night3": 7}),
    ]


def test_a_file_that_grows_leaves_the_scores_it_had_as_they_were_loaded(
    tmp_path: Path,
) -> None:
    file = tmp_path / "scores.jsonl"
    warehouse = Warehouse(tmp_path / "w.duckdb")
    nights = [record(task_id=f"night{n}", case_id=f"c{m}") for n in (1, 2) for m in (1, 2)]  # fmt: skip
    for written in (
        nights,
        [*nights, record(task_id="night3")],
        [*nights[::-1][:3], nights[0] | {"score": 1}, record(task_id="night3")],
    ):
        file.write_bytes(lines(*written))
        warehouse.ingest(file)
    rows = warehouse.sql(
        "select task_id, load_id, count(*) from live.scores group by all order by all"
    )
    assert rows.rows() == [("night1", 3, 2), ("night2", 1, 2), ("night3", 2, 1)]
