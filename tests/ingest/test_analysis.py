from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from promptlab.ingest.raw.rows import Reading
from tests.ingest.analysis_documents import Document, as_bytes, case, document
from tests.ingest.at_once import read_analysis

SHARED_RUNS = Path(__file__).parents[3] / "shared" / "data" / "runs"

Change = Callable[[Document], object]


def read_changed(change: Change) -> Reading:
    changed = document()
    change(changed)
    return read_analysis(as_bytes(changed))


def rejects(reading: Reading) -> list[tuple[str | None, str]]:
    return [(p.pointer, p.code) for p in reading.problems if p.severity == "reject"]


def first_round(changed: Document) -> Document:
    return changed["cases"][1]["rounds"][0]


def first_baseline(changed: Document) -> Document:
    return changed["cases"][1]["baselines"][0]


def test_a_file_becomes_a_row_per_task_case_round_baseline_and_dimension():
    reading = read_analysis(as_bytes(document()))
    heights = {table: len(rows["task_id"]) for table, rows in reading.rows.items()}
    assert heights == {
        "tasks": 1,
        "cases": 3,
        "rounds": 6,
        "baselines": 3,
        "dimension_configs": 1,
    }
    assert (reading.records_loaded, reading.records_rejected) == (3, 0)
    assert reading.keys == [("task", "run-7")]
    assert reading.problems == []


def test_a_round_keeps_its_values():
    rows = read_analysis(as_bytes(document())).rows["rounds"]
    first = {name: values[0] for name, values in rows.items()}
    assert json.loads(first.pop("parsed_output")) == {
        "days": 7,
        "steps": ["ask", "wait"],
    }
    assert json.loads(first.pop("metadata")) == {"temperature": 0.2}
    assert first == {
        "task_id": "run-7",
        "case_id": "c0",
        "round_id": "c0-1",
        "position": 0,
        "run_index": 1,
        "raw_output": '退款需要 "7" 天',
        "input_tokens": 320,
        "output_tokens": None,
        "latency_ms": 842.0,
        "executed_at": datetime(2024, 10, 24, 12, 31, 5, tzinfo=UTC),
        "steps": None,
    }


def test_a_null_parsed_output_is_missing_and_not_the_text_null():
    assert (
        read_analysis(as_bytes(document())).rows["rounds"]["parsed_output"][1] is None
    )


def test_rounds_and_baselines_stand_with_their_case_in_the_order_of_the_file():
    changed = document()
    changed["cases"][1]["rounds"] = []
    rows = read_analysis(as_bytes(changed)).rows
    places = zip(rows["rounds"]["case_id"], rows["rounds"]["position"], strict=True)
    assert list(places) == [("c0", 0), ("c0", 1), ("c2", 0), ("c2", 1)]
    assert list(rows["cases"]["position"]) == [0, 1, 2]
    assert list(rows["baselines"]["case_id"]) == ["c0", "c1", "c2"]


def test_cases_name_their_cluster_or_none():
    named = document(2)
    named["cases"][0]["cluster"] = "conversation 1"
    rows = read_analysis(as_bytes(named)).rows
    assert list(rows["cases"]["cluster"]) == ["conversation 1", None]


def test_what_may_be_left_out_is_empty():
    bare = document(1)
    del bare["dimensions"], bare["extras"], bare["task"]["env"]
    for key in ("context", "baselines", "tags"):
        del bare["cases"][0][key]
    for key in ("parsed_output", "latency_ms", "metadata"):
        del bare["cases"][0]["rounds"][0][key]
    reading = read_analysis(as_bytes(bare))
    assert reading.problems == []
    assert reading.rows["tasks"]["env"][0] == "{}"
    assert reading.rows["tasks"]["extras"][0] == "{}"
    assert reading.rows["cases"]["context"][0] == "{}"
    assert reading.rows["cases"]["tags"][0] == "[]"
    assert reading.rows["rounds"]["metadata"][0] == "{}"
    assert reading.rows["rounds"]["latency_ms"][0] is None
    assert reading.rows["rounds"]["parsed_output"][0] is None


def test_a_byte_order_mark_is_accepted():
    assert read_analysis(b"\xef\xbb\xbf" + as_bytes(document())).records_loaded == 3


def test_a_task_without_cases_is_a_task():
    reading = read_analysis(as_bytes(document(0)))
    assert reading.keys == [("task", "run-7")]
    assert len(reading.rows["rounds"]["round_id"]) == 0


@pytest.mark.parametrize(
    ("extras", "env", "testset", "pipeline"),
    [
        ({"testset": "a"}, {"testset": "b", "dataset": "c"}, "a", None),
        ({}, {"testset": "b", "dataset": "c"}, "b", None),
        ({}, {"dataset": "c", "pipeline": "p"}, "c", "p"),
        ({"testset": 5, "pipeline": "q"}, {"pipeline": "p"}, None, "q"),
        ({"testset": " "}, {}, None, None),
    ],
)
def test_the_testset_and_the_pipeline_are_what_the_file_says_first(
    extras, env, testset, pipeline
):
    changed = document()
    changed["extras"] = extras
    changed["task"]["env"] = env
    tasks = read_analysis(as_bytes(changed)).rows["tasks"]
    assert (tasks["testset_ref"][0], tasks["pipeline_ref"][0]) == (testset, pipeline)


# ---------------------------------------------------------------- a fault in a case

BAD_CASES: list[tuple[str, str, Change]] = [
    ("/case_id", "missing", lambda d: d["cases"][1].pop("case_id")),
    ("/case_id", "blank", lambda d: d["cases"][1].update(case_id=" \n")),
    ("/case_id", "wrong_type", lambda d: d["cases"][1].update(case_id=7)),
    ("/case_id", "duplicate_case", lambda d: d["cases"][1].update(case_id="c0")),
    ("/context", "wrong_type", lambda d: d["cases"][1].update(context=[])),
    ("/context", "wrong_type", lambda d: d["cases"][1].update(context=None)),
    ("/rounds", "missing", lambda d: d["cases"][1].pop("rounds")),
    ("/rounds", "wrong_type", lambda d: d["cases"][1].update(rounds={})),
    ("/rounds/0", "wrong_type", lambda d: d["cases"][1].update(rounds=["x"])),
    ("/tags", "wrong_type", lambda d: d["cases"][1].update(tags="x")),
    ("/tags/1", "wrong_type", lambda d: d["cases"][1].update(tags=["x", 1])),
    ("/baselines", "wrong_type", lambda d: d["cases"][1].update(baselines=None)),
    ("/rounds/0/round_id", "missing", lambda d: first_round(d).pop("round_id")),
    ("/rounds/0/round_id", "blank", lambda d: first_round(d).update(round_id="")),
    (
        "/rounds/0/run_index",
        "out_of_range",
        lambda d: first_round(d).update(run_index=0),
    ),
    (
        "/rounds/0/run_index",
        "wrong_type",
        lambda d: first_round(d).update(run_index=1.0),
    ),
    (
        "/rounds/0/run_index",
        "wrong_type",
        lambda d: first_round(d).update(run_index=True),
    ),
    (
        "/rounds/0/run_index",
        "out_of_range",
        lambda d: first_round(d).update(run_index=2**63),
    ),
    ("/rounds/0/raw_output", "missing", lambda d: first_round(d).pop("raw_output")),
    (
        "/rounds/0/raw_output",
        "wrong_type",
        lambda d: first_round(d).update(raw_output=None),
    ),
    (
        "/rounds/0/parsed_output",
        "wrong_type",
        lambda d: first_round(d).update(parsed_output=["a"]),
    ),
    (
        "/rounds/0/parsed_output",
        "wrong_type",
        lambda d: first_round(d).update(parsed_output="null"),
    ),
    (
        "/rounds/0/metadata",
        "wrong_type",
        lambda d: first_round(d).update(metadata=None),
    ),
    (
        "/rounds/0/input_tokens",
        "out_of_range",
        lambda d: first_round(d).update(input_tokens=-1),
    ),
    (
        "/rounds/0/latency_ms",
        "wrong_type",
        lambda d: first_round(d).update(latency_ms="842"),
    ),
    (
        "/rounds/0/latency_ms",
        "wrong_type",
        lambda d: first_round(d).update(latency_ms=0.5),
    ),
    ("/rounds/0/executed_at", "missing", lambda d: first_round(d).pop("executed_at")),
    (
        "/rounds/0/executed_at",
        "wrong_type",
        lambda d: first_round(d).update(executed_at=0),
    ),
    (
        "/rounds/0/executed_at",
        "bad_value",
        lambda d: first_round(d).update(executed_at="yesterday"),
    ),
    (
        "/rounds/0/executed_at",
        "bad_value",
        lambda d: first_round(d).update(executed_at="2024-02-30T00:00:00Z"),
    ),
    (
        "/baselines/0/baseline_id",
        "blank",
        lambda d: first_baseline(d).update(baseline_id=""),
    ),
    (
        "/baselines/0/type",
        "unknown_value",
        lambda d: first_baseline(d).update(type="gold"),
    ),
    (
        "/baselines/0/payload",
        "wrong_type",
        lambda d: first_baseline(d).update(payload="7"),
    ),
    ("/baselines/0/payload", "missing", lambda d: first_baseline(d).pop("payload")),
    ("/baselines/0/owner", "missing", lambda d: first_baseline(d).pop("owner")),
    (
        "/baselines/0/confidence",
        "out_of_range",
        lambda d: first_baseline(d).update(confidence=1.01),
    ),
    ("", "wrong_type", lambda d: d["cases"].__setitem__(1, "c1")),
    ("", "wrong_type", lambda d: d["cases"].__setitem__(1, None)),
]


@pytest.mark.parametrize(("below", "code", "change"), BAD_CASES)
def test_a_bad_case_is_rejected_alone_and_by_pointer(below, code, change):
    reading = read_changed(change)
    assert rejects(reading) == [(f"/cases/1{below}", code)]
    assert list(reading.rows["cases"]["case_id"]) == ["c0", "c2"]
    assert list(reading.rows["cases"]["position"]) == [0, 2]
    assert set(reading.rows["rounds"]["case_id"]) == {"c0", "c2"}
    assert (reading.records_loaded, reading.records_rejected) == (2, 1)
    assert not reading.rejected


def in_first_output(written: bytes) -> bytes:
    """The document with *written* in place of the first round's ``days``."""
    return as_bytes(document()).replace(b'"days": 7', b'"days": ' + written, 1)


@pytest.mark.parametrize(
    ("written", "pointer", "code"),
    [
        (b"NaN", "/parsed_output/days", "not_a_number"),
        (b"-Infinity", "/parsed_output/days", "not_a_number"),
        (b'"\\ud83d"', "/parsed_output/days", "lone_surrogate"),
        (b'"\\ude00\\ud83d"', "/parsed_output/days", "lone_surrogate"),
        (b'"\xff"', "/parsed_output/days", "bad_utf8"),
        (b'"\xed\xa0\x80"', "/parsed_output/days", "bad_utf8"),
        (b'7, "a/b~c": ["\\udc00"]', "/parsed_output/a~1b~0c/0", "lone_surrogate"),
    ],
)
def test_what_the_database_could_not_keep_rejects_the_case_alone(
    written, pointer, code
):
    reading = read_analysis(in_first_output(written))
    assert rejects(reading) == [(f"/cases/0/rounds/0{pointer}", code)]
    assert list(reading.rows["cases"]["case_id"]) == ["c1", "c2"]
    assert reading.problems[0].record_id == "c0"
    for problem in reading.problems:
        (problem.message + str(problem.raw_text)).encode()


@pytest.mark.parametrize(
    "written",
    [
        b"1e99",
        b"1e400",
        b"-1.5E+0999",
        b"9" * 400,
        b'"1e400"',
        b"1" * 150,
        b'"\\ud83d\\ude00"',
        b'"\\u0000"',
        b'"NaN"',
    ],
)
def test_what_only_looks_like_it_is_kept(written):
    reading = read_analysis(in_first_output(written))
    assert reading.problems == []
    output = reading.rows["rounds"]["parsed_output"][0]
    assert json.loads(output)["days"] == json.loads(written)


@pytest.mark.parametrize("levels", [2_000, 100_000])
def test_nesting_that_is_too_deep_rejects_the_case_alone(levels):
    reading = read_analysis(in_first_output(b"[" * levels + b"]" * levels))
    assert rejects(reading) == [("/cases/0", "too_deep")]
    assert reading.problems[0].record_id == "c0"
    assert reading.records_loaded == 2


@pytest.mark.parametrize("place", [(), ("rounds", 0), ("baselines", 0)])
@pytest.mark.parametrize(
    "value", ["[" * 600 + "]" * 600, f'"{"x" * 17_000_000}"'], ids=["deep", "long"]
)
def test_an_unknown_key_rejects_no_case_whatever_its_value(place, value):
    changed = document()
    holder = changed["cases"][0]
    for key in place:
        holder = holder[key]
    holder["unknown"] = "HERE"
    reading = read_analysis(as_bytes(changed).replace(b'"HERE"', value.encode()))
    assert [(p.severity, p.code) for p in reading.problems] == [
        ("warning", "unknown_key")
    ]
    assert reading.records_loaded == 3


def test_nesting_as_people_write_it_is_kept():
    reading = read_analysis(in_first_output(b"[" * 200 + b"]" * 200))
    assert reading.problems == []


def test_bad_bytes_in_a_text_field_reject_the_case_alone():
    data = as_bytes(document()).replace("退款需要".encode(), b"\xc3\x28", 1)
    reading = read_analysis(data)
    assert rejects(reading) == [("/cases/0/rounds/0/raw_output", "bad_utf8")]


def test_bad_bytes_below_an_unknown_key_reject_the_case_alone():
    changed = document()
    changed["cases"][0]["note"] = "NOTE"
    reading = read_analysis(as_bytes(changed).replace(b"NOTE", b"\xff"))
    assert rejects(reading) == [("/cases/0/note", "bad_utf8")]
    assert reading.records_loaded == 2


def test_all_faults_of_a_case_are_named_at_once():
    changed = document()
    first_round(changed).update(run_index=0, latency_ms="5")
    del first_baseline(changed)["owner"]
    reading = read_analysis(as_bytes(changed))
    assert rejects(reading) == [
        ("/cases/1/rounds/0/run_index", "out_of_range"),
        ("/cases/1/rounds/0/latency_ms", "wrong_type"),
        ("/cases/1/baselines/0/owner", "missing"),
    ]
    assert reading.records_rejected == 1
    assert len({problem.raw_text for problem in reading.problems}) == 1
    assert json.loads(str(reading.problems[0].raw_text)) == changed["cases"][1]


def test_line_and_column_are_those_of_the_value():
    changed = document()
    first_round(changed)["run_index"] = 0
    data = as_bytes(changed)
    problem = read_analysis(data).problems[0]
    line = data.decode().split("\n")[(problem.line or 0) - 1]
    assert line[(problem.column or 0) - 1 :] == "0,"
    assert line.lstrip().startswith('"run_index"')


def test_the_columns_count_characters_not_bytes():
    changed = document()
    changed["cases"][1]["context"] = {"问题": "好", "x": float("inf")}
    data = json.dumps(changed, ensure_ascii=False).encode()
    problem = read_analysis(data).problems[0]
    assert problem.line == 1
    assert data.decode()[(problem.column or 0) - 1 :].startswith("Infinity")


def test_of_twins_the_second_is_rejected_and_shown_where_the_first_is():
    changed = document()
    changed["cases"].append(case("c1"))
    reading = read_analysis(as_bytes(changed))
    assert rejects(reading) == [("/cases/3/case_id", "duplicate_case")]
    assert "/cases/1" in reading.problems[0].message
    assert list(reading.rows["cases"]["case_id"]) == ["c0", "c1", "c2"]


def test_of_rounds_with_one_id_the_first_is_kept_and_the_other_named():
    changed = document()
    changed["cases"][1]["rounds"][1].update(round_id="c1-1", raw_output="other")
    reading = read_analysis(as_bytes(changed))
    [problem] = reading.problems
    assert (problem.severity, problem.code) == ("warning", "duplicate_round")
    assert problem.pointer == "/cases/1/rounds/1/round_id"
    assert list(reading.rows["rounds"]["round_id"]) == [
        *("c0-1", "c0-2", "c1-1", "c2-1", "c2-2")
    ]
    assert "other" not in list(reading.rows["rounds"]["raw_output"])


def test_round_ids_need_be_unique_in_their_case_only():
    changed = document()
    for each in changed["cases"]:
        for n, one in enumerate(each["rounds"]):
            one["round_id"] = f"r{n}"
    reading = read_analysis(as_bytes(changed))
    assert reading.problems == []
    assert len(reading.rows["rounds"]["round_id"]) == 6


# ---------------------------------------------------------------- a fault in the file

BAD_FILES: list[tuple[str, str, Change]] = [
    ("/task", "missing", lambda d: d.pop("task")),
    ("/task", "wrong_type", lambda d: d.update(task=[])),
    ("/task/task_id", "blank", lambda d: d["task"].update(task_id="")),
    ("/task/title", "missing", lambda d: d["task"].pop("title")),
    ("/task/env/region", "wrong_type", lambda d: d["task"]["env"].update(region=1)),
    ("/task/created_at", "bad_value", lambda d: d["task"].update(created_at="now")),
    ("/cases", "missing", lambda d: d.pop("cases")),
    ("/cases", "wrong_type", lambda d: d.update(cases={})),
    ("/dimensions", "wrong_type", lambda d: d.update(dimensions=None)),
    (
        "/dimensions/0/weight",
        "out_of_range",
        lambda d: d["dimensions"][0].update(weight=1.5),
    ),
    (
        "/dimensions/0/weight",
        "out_of_range",
        lambda d: d["dimensions"][0].update(weight=-0.1),
    ),
    (
        "/dimensions/0/weight",
        "wrong_type",
        lambda d: d["dimensions"][0].update(weight="1"),
    ),
    (
        "/dimensions/0/weight",
        "not_a_number",
        lambda d: d["dimensions"][0].update(weight=float("nan")),
    ),
    (
        "/dimensions/0/scoring_mode",
        "unknown_value",
        lambda d: d["dimensions"][0].update(scoring_mode="higher"),
    ),
    (
        "/dimensions/1/dimension_id",
        "duplicate_dimension_id",
        lambda d: d["dimensions"].append(dict(d["dimensions"][0])),
    ),
    (
        "/dimensions/0/target",
        "wrong_type",
        lambda d: d["dimensions"][0].update(target=1),
    ),
    (
        "/dimensions/0/parameters",
        "wrong_type",
        lambda d: d["dimensions"][0].update(parameters=["exact"]),
    ),
    ("/extras", "wrong_type", lambda d: d.update(extras="x")),
    ("/extras/x", "lone_surrogate", lambda d: d.update(extras={"x": "SURROGATE"})),
]


@pytest.mark.parametrize(("pointer", "code", "change"), BAD_FILES)
def test_a_fault_in_task_or_dimensions_rejects_the_file(pointer, code, change):
    changed = document()
    change(changed)
    reading = read_analysis(as_bytes(changed).replace(b"SURROGATE", b"\\udfff"))
    assert rejects(reading) == [(pointer, code)]
    assert reading.rejected
    assert reading.rows == {}
    assert (reading.keys, reading.records_loaded) == ([], 0)
    assert reading.problems[0].line is not None


@pytest.mark.parametrize(
    ("data", "line", "column", "code"),
    [
        (b"", 1, 1, "unexpected_end"),
        (b" \n ", 2, 2, "unexpected_end"),
        (b"{", 1, 2, "unexpected_end"),
        (b'{"task": {},\n "cases": [{}\n', 3, 1, "unexpected_end"),
        (b'{"task": {},\n "cases": [{},]}', 2, 15, "syntax"),
        (b'{"task": {},}', 1, 13, "syntax"),
        (b'{"task": {} "cases": []}', 1, 13, "syntax"),
        (b'{"task" {}}', 1, 9, "syntax"),
        (b"{'task': {}}", 1, 2, "syntax"),
        (b'{"task": {}}\n{"task": {}}', 2, 1, "syntax"),
        ('{"task": {"title": "好"}, cases: []}'.encode(), 1, 26, "syntax"),
        (b'{"task": {"title": "a\nb"}}', 1, 20, "unterminated_string"),
        (b'{"task": {"title": "\\x"}}', 1, 21, "bad_escape"),
        (b'{"task": {"title": "open', 1, 20, "unterminated_string"),
        (b"\xff\xfe{\x00}\x00", 1, 1, "bad_utf8"),
        (b'{"task": \xff}', 1, 10, "bad_utf8"),
        (b"[]", 1, 1, "wrong_type"),
        (b"7", 1, 1, "wrong_type"),
        (b"null", 1, 1, "wrong_type"),
    ],
)
def test_what_is_no_json_object_is_rejected_with_line_and_column(
    data, line, column, code
):
    reading = read_analysis(data)
    [problem] = reading.problems
    assert (problem.line, problem.column, problem.code) == (line, column, code)
    assert reading.rejected
    assert reading.rows == {}


@pytest.mark.parametrize("place", ["task", "extras", "cases"])
def test_no_nesting_is_too_deep_to_be_refused(place):
    changed = document()
    changed[place] = "DEEP"
    deep = b'{"a":' * 50_000 + b"1" + b"}" * 50_000
    reading = read_analysis(as_bytes(changed).replace(b'"DEEP"', deep))
    assert reading.rejected
    assert [p.pointer for p in reading.problems] == [f"/{place}"]


# ---------------------------------------------------------------- warnings


def test_unknown_keys_are_named_once_with_the_nearest_known_one():
    changed = document()
    changed["owner"] = "x"
    changed["task"]["region"] = "x"
    changed["dimensions"][0]["wight"] = 1
    for each in changed["cases"]:
        each["rounds"][0]["latency"] = 5
        each["baselines"][0]["note"] = 5
    reading = read_analysis(as_bytes(changed))
    assert {p.code for p in reading.problems} == {"unknown_key"}
    assert {p.severity for p in reading.problems} == {"warning"}
    said = {p.pointer: p.message for p in reading.problems}
    assert set(said) == {
        "/owner",
        "/task/region",
        "/dimensions/0/wight",
        "/cases/0/rounds/0/latency",
        "/cases/0/baselines/0/note",
    }
    assert 'did you mean "latency_ms"' in said["/cases/0/rounds/0/latency"]
    assert "in 2 more" in said["/cases/0/rounds/0/latency"]
    assert "`payload`" in said["/cases/0/baselines/0/note"]
    assert reading.records_loaded == 3


def test_unknown_keys_are_named_beside_a_rejected_case_too():
    changed = document()
    changed["cases"][0]["rounds"][0]["latency"] = 5
    changed["cases"][1]["rounds"][0]["run_index"] = 0
    codes = [p.code for p in read_analysis(as_bytes(changed)).problems]
    assert codes == ["out_of_range", "unknown_key"]


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2024-10-24T12:31:05Z", datetime(2024, 10, 24, 12, 31, 5, tzinfo=UTC)),
        (
            "2024-10-24T20:31:05.25+08:00",
            datetime(2024, 10, 24, 12, 31, 5, 250000, UTC),
        ),
        ("2024-10-24 12:31:05Z", datetime(2024, 10, 24, 12, 31, 5, tzinfo=UTC)),
        ("2024-10-24T12:31Z", datetime(2024, 10, 24, 12, 31, tzinfo=UTC)),
        ("20241024T123105Z", datetime(2024, 10, 24, 12, 31, 5, tzinfo=UTC)),
        (
            "2024-10-24T12:31:05.123456789Z",
            datetime(2024, 10, 24, 12, 31, 5, 123456, UTC),
        ),
        ("2024-10-24T12:31:05-0330", datetime(2024, 10, 24, 16, 1, 5, tzinfo=UTC)),
    ],
)
def test_times_are_iso_8601_and_kept_in_utc(written, moment):
    reading = read_changed(lambda d: first_round(d).update(executed_at=written))
    assert reading.problems == []
    assert reading.rows["rounds"]["executed_at"][2] == moment


def test_a_negative_cost_is_missing_with_a_warning_at_its_place():
    def change(changed: Document) -> None:
        first_round(changed)["metadata"] = {"cost": -1.5, "cost_usd": -0.0, "n": -2}

    reading = read_changed(change)
    assert '{"cost_usd":-0.0,"n":-2}' in reading.rows["rounds"]["metadata"]
    (problem,) = reading.problems
    assert (problem.severity, problem.code) == ("warning", "odd_cost")
    assert problem.pointer == "/cases/1/rounds/0/metadata/cost"


def test_times_without_a_zone_are_utc_with_one_warning_for_all():
    def change(changed: Document) -> None:
        changed["task"]["created_at"] = "2024-10-24"
        first_round(changed)["executed_at"] = "2024-10-24T12:31:05"
        changed["cases"][2]["rounds"][1]["executed_at"] = "2024-10-24T12:31:05"

    reading = read_changed(change)
    assert [(p.pointer, p.severity, p.code) for p in reading.problems] == [
        ("/task/created_at", "warning", "time_without_zone"),
        ("/cases/1/rounds/0/executed_at", "warning", "time_without_zone"),
    ]
    assert reading.problems[1].message.startswith("2 times")
    assert reading.rows["tasks"]["created_at"][0] == datetime(2024, 10, 24, tzinfo=UTC)
    assert reading.rows["rounds"]["executed_at"][2] == datetime(
        2024, 10, 24, 12, 31, 5, tzinfo=UTC
    )


@pytest.mark.parametrize("file", ["memory-qa-0503.json", "memory-qa-0710.json"])
def test_real_runs_load_wholly(file: str):
    path = SHARED_RUNS / file
    if not path.exists():
        pytest.skip("the shared data is not here")
    reading = read_analysis(path.read_bytes())
    assert reading.problems == []
    assert reading.records_loaded == 233


@pytest.mark.parametrize(
    ("change", "code", "pointer", "words"),
    [
        (
            {"parameters": {"match_rule": "exakt"}},
            "invalid_parameter",
            "/dimensions/0/parameters/match_rule",
            'found "exakt"; did you mean "exact"?',
        ),
        (
            {"parameters": {"trim": 0.7}},
            "invalid_parameter",
            "/dimensions/0/parameters/trim",
            "expected less than 0.5, found 0.7",
        ),
        (
            {"parameters": {"matchrule": "exact"}},
            "unknown_parameter",
            "/dimensions/0/parameters/matchrule",
            'did you mean "match_rule"?',
        ),
        (
            {"scoring_mode": "range", "target": {"min": 3, "max": 1}},
            "invalid_target",
            "/dimensions/0/target",
            "the lower limit is above the upper one",
        ),
        (
            {"scoring_mode": "range", "target": {"max_ms": 1, "max_s": 2}},
            "invalid_target",
            "/dimensions/0/target/max_s",
            "two limits for this side",
        ),
        (
            {"target": {"min_score": "high"}},
            "invalid_target",
            "/dimensions/0/target/min_score",
            'expected a number, found "high"',
        ),
    ],
)
def test_a_slip_in_a_dimension_is_a_warning_with_its_place(
    change, code, pointer, words
):
    dimension = {
        "dimension_id": "accuracy",
        "name": "Accuracy",
        "weight": 1,
        "scoring_mode": "higher_better",
    }
    changed = document() | {"dimensions": [dimension | change]}
    reading = read_analysis(json.dumps(changed, indent=1).encode())
    [problem] = reading.problems
    assert (problem.severity, problem.code) == ("warning", code)
    assert (problem.pointer, problem.line > 1) == (pointer, True)
    assert words in problem.message
    assert not reading.rejected
