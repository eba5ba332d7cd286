"""Testset files: what is loaded, what is rejected, what is warned of."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from promptlab.contracts.testset import Pipeline, PipelineStep, TestCase
from promptlab.errors import InputError
from promptlab.ingest.raw.rows import Reading, columns_of, height
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.testsets import (
    filter_by_tags,
    load_testset,
    pipelines_of,
    read_cases,
    validate_testset,
)
from tests.ingest.at_once import read_testset

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def lines(*records: Any) -> bytes:
    return "\n".join(
        record if isinstance(record, str) else json.dumps(record) for record in records
    ).encode()


def case(record: Any) -> TestCase:
    (found,) = read_cases(lines(record))
    assert found.case is not None, found.problems
    return found.case


def told(reading: Reading) -> list[Problem]:
    """Return the problems of the records; most testsets here have no expectations."""
    return [one for one in reading.problems if one.code != "nothing_expected"]


def problems(*records: Any) -> list[tuple]:
    reading = read_testset(lines(*records), "t")
    return [(one.severity, one.code, one.pointer) for one in told(reading)]


def rows(*records: Any, table: str = "test_cases") -> list[dict[str, Any]]:
    columns = read_testset(lines(*records), "t").rows[table]
    return [
        dict(zip(columns, values, strict=True))
        for values in zip(*columns.values(), strict=True)
    ]


# ---------------------------------------------------------------- the two formats


@pytest.mark.parametrize(
    ("simple", "pipeline"),
    [
        (
            {"id": "a", "text": "x", "expected_output": "y"},
            {"id": "a", "inputs": {"text": "x"}, "expected_outputs": {"output": "y"}},
        ),
        (
            {"id": "a", "raw_text": "x", "tags": ["t"], "expected_summary": "s"},
            {
                "id": "a",
                "tags": ["t"],
                "inputs": {"raw_text": "x"},
                "expected_outputs": {"summary": "s"},
            },
        ),
        (
            {"id": "a", "expected": None, "expected_x_y": {"z": 1}},
            {
                "id": "a",
                "inputs": {},
                "expected_outputs": {"output": None, "x_y": {"z": 1}},
            },
        ),
        (
            {"id": "a", "raw_data": 1, "expected_": 2, "metadata": {}},
            {"id": "a", "inputs": {"raw_data": 1, "expected_": 2, "metadata": {}}},
        ),
        ({"id": "a"}, {"id": "a", "inputs": {}}),
        (
            {"id": "a", "inputs": {}, "expected_output": "y"},
            {"id": "a", "expected_outputs": {"output": "y"}},
        ),
    ],
)
def test_a_simple_record_means_its_pipeline_form(simple, pipeline):
    (first,), (second,) = rows(simple), rows(pipeline)
    assert first["content_hash"] == second["content_hash"]
    for name in ("tags", "inputs", "expected_outputs"):
        assert json.loads(first[name]) == json.loads(second[name])


NAMES = st.text(st.characters(codec="utf-8"), max_size=5)
DATA = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(-1e9, 1e9), NAMES),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)
    ),
    max_leaves=6,
)
PIPELINE_KEYS = {
    "inputs",
    "step_inputs",
    "batch_items",
    "expected_outputs",
    "expected_aggregation",
    "intermediate_expectations",
    "evaluation_config",
}
INPUT_NAMES = NAMES.filter(
    lambda key: (
        key not in PIPELINE_KEYS | {"id", "tags", "expected"}
        and not key.startswith("expected_")
    )
)
OUTPUT_NAMES = NAMES.filter(lambda key: key and f"expected_{key}" not in PIPELINE_KEYS)


@given(
    st.dictionaries(INPUT_NAMES, DATA, max_size=3),
    st.dictionaries(OUTPUT_NAMES, DATA, max_size=3),
    st.lists(NAMES, max_size=2),
)
def test_every_simple_record_is_checked_like_its_pipeline_form(inputs, expected, tags):
    simple = {"id": "a", "tags": tags, **inputs}
    simple |= {f"expected_{key}": value for key, value in expected.items()}
    pipeline = {"id": "a", "tags": tags, "inputs": inputs, "expected_outputs": expected}
    first, second = case(simple), case(pipeline)
    for name in TestCase.model_fields.keys() - {"raw_data"}:
        assert getattr(first, name) == getattr(second, name)
    checks = [next(read_cases(lines(one))).checks for one in (simple, pipeline)]
    assert checks[0] == checks[1]


@pytest.mark.parametrize("key", sorted(PIPELINE_KEYS))
def test_any_pipeline_field_makes_a_record_version_2(key):
    value = [] if key == "batch_items" else {}
    (row,) = rows({"id": "a", "note": 1, key: value})
    assert row["format_version"] == "2.0"
    assert row["inputs"] == "{}"
    assert json.loads(row["raw_data"])["note"] == 1


def test_unknown_fields_are_kept_as_written_and_never_become_inputs():
    found = case('{"id": "a", "inputs": {"x": 1}, "depends_on": ["b"], "n": 1.50}')
    assert found.inputs == {"x": 1}
    assert found.raw_data["depends_on"] == ["b"]
    (row,) = rows('{"id": "a", "inputs": {"x": 1}, "n": 1.50}')
    assert row["raw_data"] == '{"id": "a", "inputs": {"x": 1}, "n": 1.50}'


def test_a_full_record_fills_every_column():
    record = {
        "id": "a",
        "tags": ["t", "中"],
        "inputs": {"x": 1},
        "step_inputs": {"s": {"y": True}},
        "batch_items": [{"i": 1}],
        "expected_outputs": {"f": "x"},
        "expected_aggregation": [1],
        "intermediate_expectations": {"s": "ok"},
        "evaluation_config": {"tolerance": 0.5},
    }
    (row,) = rows(record)
    for name in record.keys() - {"id"}:
        assert json.loads(row[name]) == record[name]
    assert (row["testset_id"], row["case_id"]) == ("t", "a")
    assert (row["line"], row["position"], row["format_version"]) == (1, 0, "2.0")
    assert json.loads(row["raw_data"]) == record
    checks = rows(record, table="expectations")
    assert [(one["check_no"], one["scope"]) for one in checks] == [
        (0, "intermediate"),
        (1, "aggregation"),
        (2, "aggregation"),
        (3, "final"),
    ]
    assert {one["tolerance"] for one in checks} == {0.5}
    assert {(one["testset_id"], one["case_id"]) for one in checks} == {("t", "a")}


def test_what_is_absent_is_empty_or_null():
    (row,) = rows({"id": "a", "batch_items": None, "expected_aggregation": None})
    assert row["batch_items"] is None
    assert row["expected_aggregation"] is None
    assert (row["tags"], row["inputs"], row["evaluation_config"]) == ("[]", "{}", "{}")


# ---------------------------------------------------------------- rejects


@pytest.mark.parametrize(
    ("record", "faults"),
    [
        ({}, [("missing", "/id")]),
        ({"id": None}, [("wrong_type", "/id")]),
        ({"id": ""}, [("blank", "/id")]),
        ({"id": " \t"}, [("blank", "/id")]),
        ({"id": True}, [("wrong_type", "/id")]),
        ({"id": 1.0}, [("wrong_type", "/id")]),
        ({"id": ["a"]}, [("wrong_type", "/id")]),
        ({"id": "a", "tags": "t"}, [("wrong_type", "/tags")]),
        ({"id": "a", "tags": None}, [("wrong_type", "/tags")]),
        ({"id": "a", "tags": ["t", 1]}, [("wrong_type", "/tags/1")]),
        ({"id": "a", "inputs": []}, [("wrong_type", "/inputs")]),
        ({"id": "a", "inputs": None}, [("wrong_type", "/inputs")]),
        ({"id": "a", "step_inputs": []}, [("wrong_type", "/step_inputs")]),
        ({"id": "a", "step_inputs": {"s": 1}}, [("wrong_type", "/step_inputs/s")]),
        ({"id": "a", "batch_items": {}}, [("wrong_type", "/batch_items")]),
        ({"id": "a", "batch_items": [{}, 1]}, [("wrong_type", "/batch_items/1")]),
        ({"id": "a", "expected_outputs": "x"}, [("wrong_type", "/expected_outputs")]),
        ({"id": "a", "expected_outputs": None}, [("wrong_type", "/expected_outputs")]),
        (
            {"id": "a", "intermediate_expectations": ["s"]},
            [("wrong_type", "/intermediate_expectations")],
        ),
        ({"id": "a", "evaluation_config": []}, [("wrong_type", "/evaluation_config")]),
        (
            {"id": "a", "evaluation_config": {"strict_mode": 1, "tolerance": True}},
            [
                ("wrong_type", "/evaluation_config/strict_mode"),
                ("wrong_type", "/evaluation_config/tolerance"),
            ],
        ),
        (
            {"id": "a", "evaluation_config": {"tolerance": -0.1}},
            [("out_of_range", "/evaluation_config/tolerance")],
        ),
        (
            {"id": "a", "evaluation_config": {"evaluate_final": None}},
            [("wrong_type", "/evaluation_config/evaluate_final")],
        ),
        (
            {"id": "a", "evaluation_config": {"ignore_fields": ["t", 1]}},
            [("wrong_type", "/evaluation_config/ignore_fields/1")],
        ),
        ([{"id": "a"}], [("not_an_object", "")]),
        ('"a"', [("not_an_object", "")]),
        ("null", [("not_an_object", "")]),
        ('{"id": "a", "x": NaN}', [("not_a_number", "/x")]),
        ('{"id": "a", "id": "b"}', [("duplicate_key", "/id")]),
        ('{"id": "a"', [("unclosed_record", "/id")]),
    ],
)
def test_a_bad_record_is_rejected_and_the_others_are_loaded(record, faults):
    reading = read_testset(lines(record, {"id": "good"}), "t")
    rejects = [one for one in told(reading) if one.severity == "reject"]
    assert [(one.code, one.pointer) for one in rejects] == faults
    assert {one.line for one in rejects} == {1}
    assert (reading.records_loaded, reading.records_rejected) == (1, 1)
    assert reading.rows["test_cases"]["case_id"] == ["good"]


def test_all_faults_of_a_record_are_named_at_once_with_its_text():
    record = {
        "id": 2.5,
        "tags": [1],
        "inputs": 3,
        "evaluation_config": {"tolerance": -1},
    }
    reading = read_testset(lines(record), "t")
    assert [one.pointer for one in told(reading)] == [
        "/id",
        "/tags/0",
        "/inputs",
        "/evaluation_config/tolerance",
    ]
    assert {one.raw_text for one in told(reading)} == {json.dumps(record)}
    assert reading.records_rejected == 1


def test_a_message_says_what_was_found_what_was_expected_and_one_fix():
    (problem,) = told(read_testset(lines({"id": "a", "tags": "smoke"}), "t"))
    assert problem.message == (
        'expected a list, found "smoke". Write a list of texts such as ["smoke"].'
    )
    assert problem.record_id == "a"


@pytest.mark.parametrize("second", [{"id": "a"}, {"id": "a", "x": 1}])
def test_the_second_of_two_equal_ids_is_rejected(second):
    reading = read_testset(lines({"id": "a"}, "", second), "t")
    (problem,) = told(reading)
    assert (problem.code, problem.line, problem.pointer) == ("duplicate_id", 3, "/id")
    assert "in line 1" in problem.message
    assert reading.rows["test_cases"]["line"] == [1]


def test_a_number_and_its_text_are_one_id():
    assert ("reject", "duplicate_id", "/id") in problems({"id": "7"}, {"id": 7})


def test_the_id_of_a_rejected_record_is_free():
    assert problems({"id": "a", "tags": 1}, {"id": "a"}) == [
        ("reject", "wrong_type", "/tags")
    ]


@pytest.mark.parametrize(
    "case_id", ["a b", "中文", "a.b", "x/y", "-", "é_1", "A:1", "a" * 300]
)
def test_an_id_may_have_any_characters(case_id):
    assert problems({"id": case_id}) == []


def test_positions_count_the_good_records_and_lines_are_those_of_the_file():
    reading = read_testset(lines("// c", {"id": "a"}, "{,", {"id": "b"}), "t")
    columns = reading.rows["test_cases"]
    assert (columns["line"], columns["position"]) == ([2, 4], [0, 1])
    assert reading.rows["testsets"]["cases"] == [2]


@pytest.mark.parametrize("data", [b"", b"\n// nothing\n", b"{,", b"\xff\xfe{\x00"])
def test_a_file_without_any_good_record_is_rejected_whole(data):
    reading = read_testset(data, "t")
    assert reading.rejected
    assert reading.rows == {}
    assert reading.keys == []
    assert [one.severity for one in told(reading)] == ["reject"]


def test_expectations_far_larger_than_the_file_reject_their_record():
    deep = '{"a":' * 490 + "[" + "1," * 60_000 + "1]" + "}" * 490
    record = '{"id": "deep", "expected_outputs": {"f": ' + deep + "}}"
    reading = read_testset(lines({"id": "a"}, record, {"id": "b"}), "t")
    (problem,) = told(reading)
    assert (problem.code, problem.record_id) == ("expectation_too_large", "deep")
    assert reading.rows["test_cases"]["case_id"] == ["a", "b"]
    assert height(reading.rows["expectations"]) == 0


# ---------------------------------------------------------------- warnings


@pytest.mark.parametrize(
    ("record", "warnings"),
    [
        ({"id": 7}, [("integer_id", "/id")]),
        ({"id": "a", "expected": 1}, []),
        ({"id": "a", "expected": 1, "expected_output": 2}, ["/expected"]),
        (
            {"id": "a", "expected_outputs": {}, "expected_output": 2},
            ["/expected_output"],
        ),
        (
            {"id": "a", "batch_items": [{}]},
            [("no_expected_aggregation", "/batch_items")],
        ),
        ({"id": "a", "batch_items": [{}], "expected_aggregation": {}}, []),
        ({"id": "a", "batch_items": []}, []),
        (
            {"id": "a", "evaluation_config": {"strict": True}},
            [("unknown_option", "/evaluation_config/strict")],
        ),
        (
            {"id": "a", "inputs": {}, "expected_ouputs": {}},
            [("unknown_field", "/expected_ouputs")],
        ),
        ({"id": "a", "inputs": {}, "metadata": {}, "conditions": []}, []),
        (
            {"id": "a", "intermediate_expectations": {"s/t": {"x": "regex:("}}},
            [("invalid_pattern", "/intermediate_expectations/s~1t/x")],
        ),
        (
            {"id": "a", "expected_aggregation": ["regex:("]},
            [("invalid_pattern", "/expected_aggregation/0")],
        ),
        (
            {"id": "a", "expected_outputs": {"f~": ["contains:"]}},
            [("empty_needle", "/expected_outputs/f~0/0")],
        ),
        ({"id": "a", "expected_summary": "regex:("}, ["/expected_summary"]),
        ({"id": "a", "expected": {"x": "regex:("}}, ["/expected/x"]),
        ({"id": "a", "inputs": {}, "expected_output": "regex:("}, ["/expected_output"]),
    ],
)
def test_a_likely_slip_is_warned_of_and_the_case_is_loaded(record, warnings):
    reading = read_testset(lines(record), "t")
    assert reading.records_loaded == 1
    found = [(one.code, one.pointer) for one in told(reading)]
    codes_left_open = [
        ("invalid_pattern" if "regex" in str(record) else "unused_expectation", one)
        if isinstance(one, str)
        else one
        for one in warnings
    ]
    assert found == codes_left_open
    assert {one.severity for one in told(reading)} <= {"warning"}
    assert {one.raw_text for one in told(reading)} <= {None}


@pytest.mark.parametrize(
    ("record", "meant"),
    [
        ({"id": "a", "evaluation_config": {"tolerence": 1}}, "did you mean tolerance?"),
        ({"id": "a", "inputs": {}, "tag": []}, "did you mean tags?"),
    ],
)
def test_a_warning_names_the_nearest_known_name(record, meant):
    assert meant in told(read_testset(lines(record), "t"))[0].message


def test_an_integer_id_is_read_as_its_text():
    assert rows({"id": 12345678901234567890123})[0]["case_id"] == (
        "12345678901234567890123"
    )


# ---------------------------------------------------------------- content hash


@pytest.mark.parametrize(
    "other",
    [
        {"evaluation_config": {}, "inputs": {"b": {"d": 1, "c": 2}, "a": 1}, "id": "z"},
        {"id": "a", "inputs": {"a": 1, "b": {"c": 2, "d": 1}}, "tags": ["new"]},
        {"id": "a", "inputs": {"a": 1, "b": {"c": 2, "d": 1}}, "author": "me"},
        {"id": "a", "inputs": {"a": 1, "b": {"c": 2, "d": 1}}, "batch_items": None},
        {"id": "a", "a": 1, "b": {"c": 2, "d": 1}},
    ],
)
def test_the_hash_forgets_ids_tags_unknown_fields_and_the_order_of_keys(other):
    first = {"id": "a", "inputs": {"a": 1, "b": {"c": 2, "d": 1}}}
    assert rows(first)[0]["content_hash"] == rows(other)[0]["content_hash"]


def test_the_hash_tells_apart_what_is_asked_and_what_is_expected():
    records = [
        {"id": "a", "inputs": {}},
        {"id": "a", "inputs": {"x": 1}},
        {"id": "a", "inputs": {"x": "1"}},
        {"id": "a", "step_inputs": {"x": {}}},
        {"id": "a", "batch_items": []},
        {"id": "a", "expected_outputs": {"x": 1}},
        {"id": "a", "expected_aggregation": {"x": 1}},
        {"id": "a", "intermediate_expectations": {"x": 1}},
        {"id": "a", "evaluation_config": {"tolerance": 1}},
    ]
    hashes = Counter(rows(record)[0]["content_hash"] for record in records)
    assert len(hashes) == len(records)


# ---------------------------------------------------------------- names and steps


@pytest.mark.parametrize(
    ("testset_id", "parts"),
    [
        ("sentiment_analysis_basic_v1", ("sentiment_analysis", "basic", "v1")),
        (
            "a/b/pipeline_multi_step_integration_v2",
            ("pipeline_multi_step", "integration", "v2"),
        ),
        ("refunds_smoke_V1.2", ("refunds", "smoke", "V1.2")),
        ("sentiment_basic", (None, None, None)),
        ("sentiment_v1", (None, None, None)),
        ("documents", (None, None, None)),
        ("run_of_0503", (None, None, None)),
    ],
)
def test_the_name_tells_feature_type_and_version_where_it_fits(testset_id, parts):
    table = read_testset(b'{"id":"a"}', testset_id).rows["testsets"]
    assert (table["feature"], table["type"], table["version"]) == tuple(
        [part] for part in parts
    )
    assert table["testset_id"] == [testset_id]


PIPELINE = Pipeline(
    id="p",
    default_testset="reviews.jsonl",
    steps=[
        PipelineStep(id="clean", output_key="cleaned_text"),
        PipelineStep(id="summarize"),
    ],
)


@pytest.mark.parametrize(
    ("reference", "testset_id", "belongs"),
    [
        ("reviews", "reviews", True),
        ("reviews.jsonl", "reviews", True),
        ("reviews.jsonl", "unit/reviews", True),
        ("unit/reviews.jsonl", "unit/reviews", True),
        ("data/testsets/unit/reviews.jsonl", "unit/reviews", True),
        ("./reviews", "reviews", True),
        ("unit/reviews", "reviews", True),
        ("unit/reviews", "e2e/reviews", False),
        ("views", "reviews", False),
        ("reviews_v2", "reviews", False),
        (None, "reviews", False),
    ],
)
def test_a_pipeline_belongs_to_the_testset_that_it_names(
    reference, testset_id, belongs
):
    pipeline = PIPELINE.model_copy(update={"default_testset": reference})
    assert pipelines_of(testset_id, [pipeline]) == [pipeline] * belongs


def test_step_ids_that_the_pipeline_lacks_are_warned_of_with_the_nearest_one():
    record = {
        "id": "a",
        "step_inputs": {"claen": {}, "clean": {}, "cleaned_text": {}},
        "intermediate_expectations": {"cleaned_text": 1, "summary": 2, "zzz": 3},
    }
    reading = read_testset(lines(record), "unit/reviews", pipelines=[PIPELINE])
    assert [(one.code, one.severity) for one in told(reading)] == [
        ("unknown_step", "warning")
    ] * 4
    assert [(one.pointer, one.message) for one in told(reading)] == [
        ("/step_inputs/claen", 'pipeline p has no step "claen"; did you mean "clean"?'),
        (
            "/step_inputs/cleaned_text",
            'pipeline p has no step "cleaned_text"; that is the output of step "clean"',
        ),
        (
            "/intermediate_expectations/summary",
            'pipeline p has no step "summary"; did you mean "summarize"?',
        ),
        (
            "/intermediate_expectations/zzz",
            'pipeline p has no step "zzz"; it has "clean", "summarize", "cleaned_text"',
        ),
    ]


def test_a_testset_of_no_known_pipeline_is_not_checked():
    record = {"id": "a", "step_inputs": {"zzz": {}}}
    assert told(read_testset(lines(record), "other", pipelines=[PIPELINE])) == []
    assert len(told(read_testset(lines(record), "reviews", pipelines=[PIPELINE]))) == 1


# ---------------------------------------------------------------- raw tables


def test_the_columns_are_those_of_the_raw_tables():
    con = duckdb.connect()
    con.execute(
        resources.files("promptlab.ingest.raw").joinpath("raw.sql").read_text("utf-8")
    )
    given_by_the_loader = {"load_id", "file_uri"}
    for table, columns in read_testset(b'{"id":"a","expected":1}', "t").rows.items():
        schema = {
            row[0]: row[1:]
            for row in con.execute(
                "select column_name, data_type, is_nullable from duckdb_columns()"
                " where schema_name = 'raw' and table_name = ?",
                [table],
            ).fetchall()
        }
        assert set(columns) == schema.keys() - given_by_the_loader
        for name, values in columns.items():
            data_type, nullable = schema[name]
            kinds = {
                "BIGINT": int,
                "DOUBLE": float,
                "VARCHAR": str,
                "JSON": str,
            }
            for value in values:
                assert isinstance(value, kinds[data_type]) or (
                    value is None and nullable
                ), (table, name)


def test_columns_are_made_of_rows_of_one_length():
    assert columns_of(("a", "b"), [(1, 2), (3, 4)]) == {"a": [1, 3], "b": [2, 4]}
    assert columns_of(("a", "b"), []) == {"a": [], "b": []}
    with pytest.raises(ValueError, match="rows of 1 values"):
        columns_of(("a", "b"), [(1,), (3,)])
    with pytest.raises(ValueError, match="shorter"):
        columns_of(("a", "b"), [(1, 2), (3,)])


# ---------------------------------------------------------------- for Python


@pytest.fixture
def write(tmp_path: Path):
    def run(*records: Any) -> Path:
        path = tmp_path / "reviews.jsonl"
        path.write_bytes(lines(*records))
        return path

    return run


def test_load_testset_returns_the_cases_in_order(write):
    path = write({"id": "b", "x": 1}, {"id": 7, "inputs": {}})
    cases = load_testset(path)
    assert [(one.id, one.inputs) for one in cases] == [("b", {"x": 1}), ("7", {})]
    assert load_testset(str(path)) == cases


def test_load_testset_lists_every_reject_with_its_place(write):
    path = write({"id": "a", "tags": 1}, {"id": "ok"}, '{"id": NaN}')
    with pytest.raises(InputError) as caught:
        load_testset(path)
    first, second = str(caught.value).split("\n")
    assert first.startswith(f"{path}:1:21: /tags: expected a list, found 1.")
    assert second.startswith(f"{path}:3:8: /id: NaN is not a JSON value.")


def test_validate_testset_returns_rejects_and_warnings(write):
    path = write({"id": 1}, {"id": "a", "tags": 1})
    assert [(one.severity, one.line) for one in validate_testset(path)] == [
        ("warning", 1),
        ("reject", 2),
    ]
    assert validate_testset(write({"id": "a"})) == []


@pytest.mark.parametrize("function", [load_testset, validate_testset])
def test_a_file_that_is_not_there_is_an_input_error(function, tmp_path):
    with pytest.raises(InputError, match=re.escape("no.jsonl: cannot be read")):
        function(tmp_path / "no.jsonl")


@pytest.mark.parametrize(
    ("include", "exclude", "ids"),
    [
        (None, None, "abc"),
        (["x"], None, "ab"),
        (["x", "y"], None, "ab"),
        (["y"], ["x"], ""),
        (None, ["y"], "ac"),
        ([], None, ""),
        ("x", "y", "a"),
    ],
)
def test_cases_are_filtered_by_any_tag(include, exclude, ids):
    cases = [
        TestCase(id="a", tags=["x"]),
        TestCase(id="b", tags=["x", "y"]),
        TestCase(id="c"),
    ]
    assert "".join(one.id for one in filter_by_tags(cases, include, exclude)) == ids


def test_a_test_case_fills_in_the_options():
    assert TestCase(id="a").options.model_dump() == {
        "evaluate_intermediate": True,
        "evaluate_final": True,
        "evaluate_aggregation": True,
        "strict_mode": False,
        "tolerance": 0.0,
        "ignore_fields": [],
    }
    config = {"tolerance": 1, "evaluate_final": False, "unknown": 1}
    options = TestCase(id="a", evaluation_config=config).options
    assert (options.tolerance, options.evaluate_final) == (1.0, False)


@pytest.mark.parametrize(
    "fields",
    [
        {"id": ""},
        {"id": "a", "tags": [1]},
        {"id": "a", "evaluation_config": {"tolerance": "0.1"}},
        {"id": "a", "evaluation_config": {"tolerance": float("nan")}},
    ],
)
def test_a_test_case_made_in_python_obeys_the_same_types(fields):
    with pytest.raises(ValidationError):
        TestCase(**fields)


# ---------------------------------------------------------------- real files


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is not there")
@pytest.mark.parametrize(
    ("name", "cases", "warnings"),
    [
        ("documents", 6, {"integer_id": 6}),
        ("pipeline_batch_aggregation_examples", 7, {}),
        ("pipeline_multi_step_examples", 5, {}),
        ("simple_sentiment_analysis", 10, {}),
    ],
)
def test_testsets_that_people_wrote_are_read_whole(name, cases, warnings):
    data = (SHARED / "testsets" / f"{name}.jsonl").read_bytes()
    reading = read_testset(data, name)
    assert (reading.records_loaded, reading.records_rejected) == (cases, 0)
    assert Counter(one.code for one in told(reading)) == warnings
    assert height(reading.rows["expectations"]) >= cases


def test_every_fault_has_the_line_and_column_of_what_its_pointer_names(tmp_path):
    file = tmp_path / "set.jsonl"
    file.write_text(
        '{"id": "a", "tags": "x", "evaluation_config": {"tolerance": "0.1"}}\n'
        "  {\n"
        "    // a comment inside a record\n"
        '    "id": "b",\n'
        '    "expected_outputs": {"n": "regex:("}\n'
        "  }\n",
        "utf-8",
    )
    places = [(p.line, p.column, p.pointer) for p in validate_testset(file)]
    assert places == [
        (1, 21, "/tags"),
        (1, 61, "/evaluation_config/tolerance"),
        (5, 31, "/expected_outputs/n"),
    ]
