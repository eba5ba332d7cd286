from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from promptlab.contracts.analysis_input import EvaluationRecord
from promptlab.ingest import raw
from promptlab.ingest.raw.rows import Reading
from tests.ingest.at_once import read_results


def record(**changes: Any) -> dict[str, Any]:
    return {
        "sample_id": "s1",
        "entity_type": "pipeline",
        "entity_id": "refunds",
        "variant": "v2",
        "overall_score": 8.5,
        "must_have_pass": True,
        "judge_feedback": "好",
        "execution_time": 1.25,
        "step_outputs": {
            "clean": {"text": "7 天"},
            "_intermediate_evaluation": {"clean": {"matched": True}},
        },
        "failed_steps": [],
        "executed_at": "2024-10-24T12:31:05Z",
        **changes,
    }


def lines(*records: Any) -> bytes:
    texts = (
        each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)
        for each in records
    )
    return "\n".join(texts).encode()


def read(*records: Any, name: str = "runs/nightly.eval") -> Reading:
    return read_results(lines(*records), name)


def column(reading: Reading, table: str, name: str) -> list[Any]:
    return list(reading.rows[table][name])


def found(reading: Reading) -> list[tuple[int | None, str | None, str]]:
    return [(p.line, p.pointer, p.code) for p in reading.problems]


def test_a_record_may_tell_what_was_asked_and_the_prompt():
    messages = [{"role": "system", "content": "简短。"}]
    reading = read(
        record(inputs={"q": "运费？"}, prompt=messages),
        record(sample_id="s2"),
        record(inputs={"q": "again"}, prompt=messages),
        record(sample_id="s3", inputs={"q": 3}, prompt=messages),
    )
    assert column(reading, "cases", "case_id") == ["s1", "s2", "s3"]
    asked = [json.loads(each) for each in column(reading, "cases", "context")]
    assert asked == [{"q": "运费？"}, {}, {"q": 3}]
    (extras,) = column(reading, "tasks", "extras")
    assert json.loads(extras)["prompt"] == messages
    assert reading.problems == []


def test_the_first_of_two_prompts_counts_with_a_warning():
    reading = read(record(prompt="Answer."), record(sample_id="s2", prompt="Reply."))
    (extras,) = column(reading, "tasks", "extras")
    assert json.loads(extras)["prompt"] == "Answer."
    assert found(reading) == [(2, "/prompt", "task_field_differs")]


def test_a_result_becomes_a_task_a_case_and_a_round():
    reading = read(record())
    task = {name: values[0] for name, values in reading.rows["tasks"].items()}
    assert json.loads(task.pop("extras")) == {
        "entity_type": "pipeline",
        "entity_id": "refunds",
        "variant": "v2",
    }
    assert task == {
        "task_id": "refunds/v2/nightly",
        "run_id": None,
        "variant": None,
        "source_kind": "results",
        "title": "refunds",
        "prompt_version": "v2",
        "model": "unknown",
        "triggered_by": "unknown",
        "env": "{}",
        "created_at": datetime(2024, 10, 24, 12, 31, 5, tzinfo=UTC),
        "testset_ref": None,
        "pipeline_ref": "refunds",
    }
    case = {name: values[0] for name, values in reading.rows["cases"].items()}
    assert case == {
        "task_id": "refunds/v2/nightly",
        "case_id": "s1",
        "position": 0,
        "context": "{}",
        "tags": "[]",
        "expectation_hash": case["expectation_hash"],
    }
    one = {name: values[0] for name, values in reading.rows["rounds"].items()}
    assert json.loads(one.pop("step_outputs")) == record()["step_outputs"]
    assert one == {
        "task_id": "refunds/v2/nightly",
        "case_id": "s1",
        "round_id": "s1-1",
        "position": 0,
        "run_index": 1,
        "raw_output": None,
        "input_tokens": None,
        "output_tokens": None,
        "latency_ms": 1250.0,
        "metadata": "{}",
        "executed_at": datetime(2024, 10, 24, 12, 31, 5, tzinfo=UTC),
        "error": None,
        "final_output": None,
        "steps": None,
        "failed_steps": "[]",
        "rule_violations": "[]",
        "judge_feedback": "好",
        "overall_score": 8.5,
        "reported_must_have_pass": True,
        "reported_status": "pass",  # of its steps
    }
    assert reading.keys == [("task", "refunds/v2/nightly")]
    assert reading.problems == []


@pytest.mark.parametrize(
    ("said", "must_have_pass", "status"),
    [
        ({}, None, None),
        ({}, True, None),  # a verdict only without a testset
        ({}, False, "fail"),
        ({"_intermediate_evaluation": {}}, None, None),
        ({"_intermediate_evaluation": {"a": {"matched": True}}}, None, "pass"),
        ({"_intermediate_evaluation": {"a": {"matched": True}}}, False, "fail"),
        ({"_intermediate_evaluation": {"a": {"matched": False}}}, True, "fail"),
        ({"_intermediate_evaluation": {"a": {"matched": None}}}, True, "unevaluated"),
        ({"_intermediate_evaluation": {"a": {"matched": "so"}}}, True, "unevaluated"),
        ({"_intermediate_evaluation": {"a": {"expected": 1}}}, None, None),
        ({"_intermediate_evaluation": "broken"}, None, None),
        ({"_aggregation_evaluation": {"matched": False}}, True, "fail"),
        ({"_final_evaluation": {"matched": False}}, None, "fail"),
        (
            {
                "_intermediate_evaluation": {"a": {"matched": None}},
                "_aggregation_evaluation": {"matched": False},
            },
            True,
            "fail",
        ),
    ],
)
def test_a_result_without_a_status_has_the_verdict_of_its_judgements(
    said, must_have_pass, status
):
    one = record(step_outputs=said, must_have_pass=must_have_pass)
    assert column(read(one), "rounds", "reported_status") == [status]
    told = record(step_outputs=said, must_have_pass=must_have_pass, status="error")
    assert column(read(told), "rounds", "reported_status") == ["error"]


def test_what_the_file_says_of_its_task_comes_first():
    reading = read(
        record(
            run_id="run-7",
            title="Refunds",
            prompt_version="p9",
            model="vendor/model",
            triggered_by="ci",
            testset="refund_basic_v1",
            pipeline="other",
            created_at="2024-10-24T12:00:00Z",
        )
    )
    rows = {name: values[0] for name, values in reading.rows["tasks"].items()}
    assert (rows["task_id"], rows["title"]) == ("run-7", "Refunds")
    assert (rows["prompt_version"], rows["model"]) == ("p9", "vendor/model")
    assert (rows["testset_ref"], rows["pipeline_ref"]) == ("refund_basic_v1", "other")
    assert rows["triggered_by"] == "ci"
    assert rows["created_at"] == datetime(2024, 10, 24, 12, tzinfo=UTC)


def test_only_what_is_known_is_needed():
    reading = read({"sample_id": "s1", "entity_id": "refunds", "variant": "v2"})
    assert found(reading) == []
    assert column(reading, "tasks", "created_at") == [None]
    assert column(reading, "tasks", "pipeline_ref") == [None]
    for name in (
        "overall_score",
        "reported_must_have_pass",
        "latency_ms",
        "executed_at",
    ):
        assert column(reading, "rounds", name) == [None]
    assert column(reading, "rounds", "step_outputs") == ["{}"]


@pytest.mark.parametrize(
    ("name", "stem"),
    [("nightly", "nightly"), ("a.b/c/nightly.v2.eval", "nightly"), (".hidden", "")],
)
def test_the_task_without_a_run_id_is_named_after_its_file(name, stem):
    reading = read(record(), name=name)
    assert reading.keys == [("task", f"refunds/v2/{stem}")]


def test_a_sample_that_comes_again_has_more_rounds():
    reading = read(record(), record(sample_id="s2"), record(), record(tags=["new"]))
    assert column(reading, "rounds", "round_id") == ["s1-1", "s2-1", "s1-2", "s1-3"]
    assert column(reading, "rounds", "run_index") == [1, 1, 2, 3]
    assert column(reading, "rounds", "position") == [0, 0, 1, 2]
    assert column(reading, "cases", "case_id") == ["s1", "s2"]
    assert column(reading, "cases", "tags") == ['["new"]', "[]"]


def test_a_file_may_hold_more_than_one_task():
    reading = read(record(), record(variant="v3"), record(sample_id="s2"))
    assert reading.keys == [
        ("task", "refunds/v2/nightly"),
        ("task", "refunds/v3/nightly"),
    ]
    assert column(reading, "cases", "case_id") == ["s1", "s2", "s1"]
    assert column(reading, "cases", "position") == [0, 1, 0]
    assert column(reading, "rounds", "round_id") == ["s1-1", "s1-1", "s2-1"]


def test_a_round_id_of_ours_makes_room_for_the_files_own():
    reading = read(record(), record(), record(round_id="s1-2"), record(round_id="x"))
    assert column(reading, "rounds", "round_id") == ["s1-1", "s1-3", "s1-2", "x"]


def test_of_rounds_with_one_id_the_first_is_kept_and_the_other_named():
    reading = read(
        record(round_id="r"), record(round_id="r", overall_score=1), record()
    )
    assert found(reading) == [(2, "/round_id", "duplicate_round")]
    assert reading.problems[0].severity == "warning"
    assert column(reading, "rounds", "overall_score") == [8.5, 8.5]
    assert column(reading, "rounds", "round_id") == ["r", "s1-2"]
    assert reading.records_loaded == 2


def test_the_earliest_time_is_the_tasks():
    reading = read(
        record(executed_at="2024-10-25T00:00:00Z"),
        record(executed_at=None),
        record(executed_at="2024-10-24T23:00:00+01:00"),
    )
    expected = datetime(2024, 10, 24, 22, tzinfo=UTC)
    assert column(reading, "tasks", "created_at") == [expected]


def test_times_without_a_zone_are_utc_with_one_warning_for_each_field():
    reading = read(
        record(executed_at="2024-10-24T12:00:00"),
        record(executed_at="2024-10-24T12:00:00", created_at="2024-10-24"),
    )
    assert found(reading) == [
        (1, "/executed_at", "time_without_zone"),
        (2, "/created_at", "time_without_zone"),
    ]


def test_results_of_one_run_that_differ_in_what_is_the_runs_are_named():
    reading = read(
        record(run_id="r", model="a"),
        record(run_id="r", model="a"),
        record(run_id="r", model="b"),
    )
    assert found(reading) == [(3, "/model", "task_field_differs")]
    assert column(reading, "tasks", "model") == ["a"]
    assert column(reading, "tasks", "prompt_version") == ["v2"]


@pytest.mark.parametrize("field", ["entity_id", "variant"])
def test_a_run_id_of_two_variants_rejects_its_file(field):
    reading = read(
        record(run_id="r"), record(run_id="s"), record(run_id="r", **{field: "other"})
    )
    assert reading.rejected
    assert found(reading) == [(3, f"/{field}", "run_id_shared")]
    assert not reading.rows


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("timeout", "timeout"),
        ("", None),
        (False, None),
        (None, None),
        ({}, None),
        ({"code": 5}, '{"code":5}'),
    ],
)
def test_an_error_is_text_and_none_where_there_was_none(written, kept):
    assert column(read(record(error=written)), "rounds", "error") == [kept]


@pytest.mark.parametrize("written", ["text", 5, 0, False, [], {"a": None}, ""])
def test_the_final_output_may_be_any_value(written):
    reading = read(record(final_output=written))
    assert json.loads(column(reading, "rounds", "final_output")[0]) == written


def test_a_null_final_output_is_missing():
    assert column(read(record(final_output=None)), "rounds", "final_output") == [None]


def test_rule_violations_are_texts_or_objects():
    given_ = ["too long", {"id": "max", "severity": "should"}]
    reading = read(record(rule_violations=given_, failed_steps=["clean"]))
    assert json.loads(column(reading, "rounds", "rule_violations")[0]) == given_
    assert json.loads(column(reading, "rounds", "failed_steps")[0]) == ["clean"]


def test_unknown_keys_are_kept_in_the_metadata():
    reading = read(record(cost=0.5, metadata={"seed": 1}), record(cost=0.7))
    kept = [json.loads(each) for each in column(reading, "rounds", "metadata")]
    assert kept == [{"cost": 0.5, "seed": 1}, {"cost": 0.7}]
    assert reading.problems == []


def test_negative_costs_are_missing_with_one_warning_at_the_first():
    reading = read(record(), record(cost=-0.5), record(metadata={"cost": -1, "a": 1}))
    kept = [json.loads(each) for each in column(reading, "rounds", "metadata")]
    assert kept[1:] == [{}, {"a": 1}]
    (problem,) = reading.problems
    assert (problem.severity, problem.code, problem.line) == ("warning", "odd_cost", 2)
    assert "(here and in 1 more)" in problem.message


@pytest.mark.parametrize(
    ("changes", "pointer", "code"),
    [
        ({"sample_id": ""}, "/sample_id", "blank"),
        ({"sample_id": 1}, "/sample_id", "wrong_type"),
        ({"entity_id": None}, "/entity_id", "wrong_type"),
        ({"variant": " "}, "/variant", "blank"),
        ({"overall_score": 10.5}, "/overall_score", "out_of_range"),
        ({"overall_score": -1}, "/overall_score", "out_of_range"),
        ({"overall_score": "8"}, "/overall_score", "wrong_type"),
        ({"must_have_pass": "yes"}, "/must_have_pass", "wrong_type"),
        ({"must_have_pass": 1}, "/must_have_pass", "wrong_type"),
        ({"execution_time": -0.1}, "/execution_time", "out_of_range"),
        ({"step_outputs": []}, "/step_outputs", "wrong_type"),
        ({"step_outputs": None}, "/step_outputs", "wrong_type"),
        ({"failed_steps": "clean"}, "/failed_steps", "wrong_type"),
        ({"failed_steps": [1]}, "/failed_steps/0", "wrong_type"),
        ({"rule_violations": [1]}, "/rule_violations/0", "wrong_type"),
        ({"error": 5}, "/error", "wrong_type"),
        ({"executed_at": "soon"}, "/executed_at", "bad_value"),
        ({"created_at": 5}, "/created_at", "wrong_type"),
        ({"metadata": "x"}, "/metadata", "wrong_type"),
        ({"metadata": "x", "unknown": 1}, "/metadata", "wrong_type"),
        ({"final_output": float("inf")}, "/final_output", "not_a_number"),
        ({"round_id": ""}, "/round_id", "blank"),
        ({"run_id": ""}, "/run_id", "blank"),
    ],
)
def test_a_bad_result_is_rejected_alone_and_by_pointer(changes, pointer, code):
    reading = read(record(sample_id="a"), record(**changes), record(sample_id="b"))
    assert found(reading) == [(2, pointer, code)]
    assert column(reading, "rounds", "case_id") == ["a", "b"]
    assert (reading.records_loaded, reading.records_rejected) == (2, 1)
    assert json.loads(str(reading.problems[0].raw_text)).keys() >= changes.keys()


@pytest.mark.parametrize(
    ("name", "value", "pointer"),
    [
        ("execution_time", "1e400", "/execution_time"),
        ("error", '{"a": [1e400]}', "/error/a/0"),
        ("rule_violations", '[{"n": -1e999}]', "/rule_violations/0/n"),
        ("prompt", '[{"role": 1e400}]', "/prompt/0/role"),
    ],
)
@pytest.mark.parametrize("frame", ["%s\n%s", "[%s,\n%s]"])
def test_a_number_beyond_a_double_is_named_at_its_place(name, value, pointer, frame):
    good, bad = (
        json.dumps(record(**changes)).replace('"HERE"', value)
        for changes in (
            {"sample_id": "a", "metadata": {"a": "HERE"}},
            {"sample_id": "b", name: "HERE"},
        )
    )
    reading = read(frame % (good, bad))
    [problem] = reading.problems
    assert problem.code == "number_out_of_range"
    assert (problem.line, (problem.pointer or "").removeprefix("/1")) == (2, pointer)
    assert "is beyond what a double can hold" in problem.message
    assert column(reading, "rounds", "case_id") == ["a"]


@pytest.mark.parametrize("levels", [600, 5_000])
@pytest.mark.parametrize("frame", ["%s", "[%s]"])
def test_a_value_that_is_too_deep_is_named_by_a_short_pointer(frame, levels):
    deep = json.dumps(record(unknown="HERE")).replace(
        '"HERE"', "[" * levels + "]" * levels
    )
    [problem] = read(frame % deep).problems
    assert problem.code == "too_deep"
    assert len(problem.pointer or "") < 5


def test_a_fault_in_a_record_of_several_lines_has_its_place_in_the_file():
    text = json.dumps(record(status=1), indent=4).replace("{", "  {\n\n", 1)
    [problem] = read(text).problems
    [line] = [n for n, each in enumerate(text.split("\n"), 1) if '"status"' in each]
    assert (problem.line, problem.column) == (line, len('    "status": 1'))
    text = f"  {json.dumps(record(status=1))}"
    [problem] = read(text).problems
    assert (problem.line, problem.column) == (1, text.index('"status": 1') + 11)


@pytest.mark.parametrize("key", ["sample_id", "entity_id", "variant"])
def test_whose_result_it_is_must_be_stated(key):
    bare = record()
    del bare[key]
    assert found(read(bare)) == [(1, f"/{key}", "missing")]


def test_one_object_and_a_list_are_read_as_well():
    one = read_results(json.dumps(record(), indent=2).encode(), "x")
    many = read_results(json.dumps([record(), 5, record()], indent=2).encode(), "x")
    assert column(one, "rounds", "round_id") == ["s1-1"]
    assert column(many, "rounds", "round_id") == ["s1-1", "s1-2"]
    assert [(p.pointer, p.code) for p in many.problems] == [("/1", "wrong_type")]


def test_a_broken_list_rejects_the_file():
    reading = read_results(b'[{"sample_id": "s1"', "x")
    assert reading.rejected
    assert (reading.rows, reading.keys) == ({}, [])
    assert [p.code for p in reading.problems] == ["unexpected_end"]


VALUES = st.sampled_from(
    [
        *(None, True, 0, -1, 3, 10.5, 2**63, "", " ", "x", "\x1c", "\ud800"),
        *([], {}, [[]], ["a"], [{"a": 1}], [1], float("nan"), {"a": float("inf")}),
        *({"_b": "好"}, "2024-10-24T12:30:00Z", "2024-10-24", "2024-02-30"),
    ]
)
FIELDS = st.sampled_from([*sorted(EvaluationRecord.model_fields), "unknown", ""])


@given(st.dictionaries(FIELDS, VALUES, max_size=3))
def test_a_result_is_loaded_exactly_when_its_contract_accepts_it(changes):
    value = record(**changes)
    try:
        EvaluationRecord.model_validate(value)
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        accepted = True
    except (ValidationError, ValueError):
        accepted = False
    reading = read(json.dumps(value))
    rejects = [p for p in reading.problems if p.severity == "reject"]
    assert reading.records_loaded == int(accepted)
    assert bool(rejects) == (not accepted)


@pytest.fixture(scope="module")
def con():
    with duckdb.connect() as connection:
        raw.ensure_schema(connection, ingest_version="0")
        yield connection


@given(st.dictionaries(FIELDS, VALUES, max_size=4))
def test_what_is_loaded_fits_the_raw_tables_and_their_json_is_json(con, changes):
    reading = read(json.dumps(record(**changes)), record(sample_id="s2"))
    con.begin()
    for table, rows in reading.rows.items():
        height = len(rows["task_id"])
        raw.append(con, table, [{"load_id": [1] * height, **rows}])
        stored = con.execute(f"select count(*) from raw.{table}").fetchall()
        assert stored == [(height,)]
    con.execute(
        "select final_output ->> '$', json_keys(step_outputs), failed_steps ->> '$[0]',"
        " rule_violations ->> '$[0]', json_keys(metadata) from raw.rounds"
    ).fetchall()
    con.rollback()
