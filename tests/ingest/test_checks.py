"""Expectations, flattened: one check per leaf and per container."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlab.contracts.testset import TestCase
from promptlab.ingest.checks import (
    LONGEST_EXPECTED,
    ExpectationCheck,
    ExpectationTooLargeError,
    Flattener,
    Remark,
)
from promptlab.json_text.writing import compact

ODD_KEYS = ["", "*", "a", "0", "a.b", 'q"q', "b\\s", "~", "/", "$ref", "a[0]", "#"]
ODD_KEYS += ["'", " ", "-1", "\n", "\x00", "😀", "中", "?", "@", "..", "a~1b", "[*]"]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**40), 10**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8"), max_size=6),
)
KEYS = st.one_of(st.sampled_from(ODD_KEYS), st.text(st.characters(codec="utf-8")))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=15,
)


def flatten(**fields: Any) -> list[ExpectationCheck]:
    return Flattener().flatten(TestCase(id="c", **fields))[0]


def remarks(expected: Any) -> list[Remark]:
    case = TestCase(id="c", intermediate_expectations={"s": expected})
    return Flattener().flatten(case)[1]


def step(expected: Any, **config: Any) -> list[ExpectationCheck]:
    return flatten(intermediate_expectations={"s": expected}, evaluation_config=config)


def size(value: Any) -> int:
    """The number of leaves and containers of a value."""
    children: Any = ()
    if isinstance(value, dict):
        children = value.values()
    elif isinstance(value, list):
        children = value
    return 1 + sum(size(child) for child in children)


def resolve(value: Any, pointer: str) -> Any:
    """Follow a JSON Pointer, as RFC 6901 says."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


# ---------------------------------------------------------------- what a check holds


@pytest.mark.parametrize(
    ("expected", "matcher", "operand", "number"),
    [
        ("ok", "text", "ok", None),
        ("", "text", "", None),
        ("contains: a b ", "contains", "a b", None),
        ("literal:contains:x", "text", "contains:x", None),
        (True, "bool", "true", None),
        (False, "bool", "false", None),
        (None, "null", None, None),
        (1, "number", "1", 1.0),
        (-0, "number", "0", 0.0),
        (0.95, "number", "0.95", 0.95),
        (10.0, "number", "10.0", 10.0),
        (2**64 + 1, "number", "18446744073709551617", float(2**64)),
        (10**400, "number", "1" + "0" * 400, None),
    ],
)
def test_a_leaf_becomes_one_check(expected, matcher, operand, number):
    (check,) = step(expected)
    assert check == ExpectationCheck(
        scope="intermediate",
        step_id="s",
        field=None,
        path="$",
        pointer="",
        matcher=matcher,
        expected=compact(expected),
        operand=operand,
        number=number,
    )


def test_a_pattern_is_stored_translated_and_once_more_for_ascii_texts():
    (check,) = step(r"regex:  \d+$")
    assert check.matcher == "regex"
    assert check.operand == r"[0-9\x{ff10}-\x{ff19}]+$"
    assert check.operand_ascii == r"\d+$"
    assert check.expected == r'"regex:  \\d+$"'


def test_an_invalid_pattern_has_no_operand_and_is_remarked():
    (check,) = step("regex:(?=a)")
    assert (check.matcher, check.operand, check.operand_ascii) == ("regex", None, None)
    (remark,) = remarks({"a/b": ["regex:(?=a)"]})
    assert (remark.code, remark.pointer) == ("invalid_pattern", "/a~1b/0")
    assert "Look-around" in remark.message


@pytest.mark.parametrize(
    ("expected", "code"),
    [
        ("contains: ", "empty_needle"),
        ("regex:", "doubtful_pattern"),
        (r"regex:中\b", "doubtful_pattern"),
    ],
)
def test_a_text_that_is_likely_a_slip_is_remarked(expected, code):
    assert [remark.code for remark in remarks(expected)] == [code]


def test_containers_come_before_what_is_in_them_in_the_order_of_the_file():
    checks = step({"b": [1, {}], "a": "x"})
    assert [(check.pointer, check.matcher, check.length) for check in checks] == [
        ("", "object", None),
        ("/b", "array", 2),
        ("/b/0", "number", None),
        ("/b/1", "object", None),
        ("/a", "text", None),
    ]
    assert [check.path for check in checks] == [
        "$",
        '$."b"',
        '$."b"[0]',
        '$."b"[1]',
        '$."a"',
    ]


@pytest.mark.parametrize(
    ("expected", "paths"),
    [
        ({"": 1}, ["$", "/"]),
        ({"*": 1}, ["$", "/*"]),
        (
            {"a/b": {"": [{"c~": 1}]}},
            ["$", '$."a/b"', "/a~1b/", "/a~1b//0", "/a~1b//0/c~0"],
        ),
        ([{"": 1}], ["$", "$[0]", "/0/"]),
        ({"**": 1, "a*": 2}, ["$", '$."**"', '$."a*"']),
        ({'"': {"\\": 1}}, ["$", '$."\\""', '$."\\""."\\\\"']),
    ],
)
def test_below_an_empty_key_or_a_star_the_path_is_a_pointer(expected, paths):
    assert [check.path for check in step(expected)] == paths


@given(VALUES)
def test_every_leaf_and_container_yields_one_check(value):
    checks = step(value)
    assert len(checks) == size(value)
    assert len({check.pointer for check in checks}) == len(checks)
    for check in checks:
        assert json.loads(check.expected) == resolve(value, check.pointer)


@given(st.lists(VALUES, min_size=1, max_size=5))
def test_the_database_finds_each_expected_value_by_its_path(values):
    pairs = [(compact(value), check) for value in values for check in step(value)]
    texts = ", ".join(["(?, ?, ?)"] * len(pairs))
    parameters = [part for doc, c in pairs for part in (doc, c.path, c.expected)]
    wrong = duckdb.execute(
        "select doc, path, expected from (values "
        + texts
        + ") as pairs(doc, path, expected)"
        " where cast(json_extract(cast(doc as json), path) as varchar)"
        " is distinct from cast(cast(expected as json) as varchar)",
        parameters,
    ).fetchall()
    # The texts may only differ in how one and the same number is written.
    for doc, path, expected in wrong:
        found = duckdb.execute(
            "select json_extract(cast(? as json), ?)", [doc, path]
        ).fetchone()
        assert found is not None
        assert json.loads(found[0]) == json.loads(expected), (doc, path)


# ---------------------------------------------------------------- scopes


EVERYTHING: dict[str, Any] = {
    "intermediate_expectations": {"s": {"a": 1}, "t": "x"},
    "expected_aggregation": {"n": 2},
    "expected_outputs": {"f": {"g": True}, "/h": [0]},
}


def places(checks: list[ExpectationCheck]) -> list[tuple]:
    return [(c.scope, c.step_id, c.field, c.path, c.pointer) for c in checks]


def test_paths_start_at_the_step_the_aggregation_or_the_field():
    assert places(flatten(**EVERYTHING)) == [
        ("intermediate", "s", None, "$", ""),
        ("intermediate", "s", None, '$."a"', "/a"),
        ("intermediate", "t", None, "$", ""),
        ("aggregation", None, None, "$", ""),
        ("aggregation", None, None, '$."n"', "/n"),
        ("final", None, "f", "$", "/f"),
        ("final", None, "f", '$."g"', "/f/g"),
        ("final", None, "/h", "$", "/~1h"),
        ("final", None, "/h", "$[0]", "/~1h/0"),
    ]


@pytest.mark.parametrize(
    ("flag", "scope"),
    [
        ("evaluate_intermediate", "intermediate"),
        ("evaluate_aggregation", "aggregation"),
        ("evaluate_final", "final"),
    ],
)
def test_an_explicit_false_leaves_a_scope_out_and_true_changes_nothing(flag, scope):
    everything = flatten(**EVERYTHING)
    off = flatten(**EVERYTHING, evaluation_config={flag: False})
    assert off == [check for check in everything if check.scope != scope]
    assert flatten(**EVERYTHING, evaluation_config={flag: True}) == everything


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"expected_outputs": {}},
        {"expected_aggregation": None},
        {"intermediate_expectations": {}},
        {"expected_outputs": {}, "evaluation_config": {"strict_mode": True}},
        {
            "expected_outputs": {"t": 1},
            "evaluation_config": {"strict_mode": True, "ignore_fields": ["t"]},
        },
        {"evaluation_config": {"evaluate_final": True, "evaluate_intermediate": True}},
    ],
)
def test_where_nothing_is_expected_there_is_no_check(fields):
    assert flatten(**fields) == []


@pytest.mark.parametrize(
    ("fields", "matchers"),
    [
        ({"intermediate_expectations": {"s": {}}}, ["object"]),
        ({"intermediate_expectations": {"s": None}}, ["null"]),
        ({"intermediate_expectations": {"s": []}}, ["array"]),
        ({"expected_outputs": {"f": None}}, ["null"]),
        ({"expected_aggregation": {}}, ["object"]),
        ({"expected_aggregation": 0}, ["number"]),
        ({"expected_aggregation": False}, ["bool"]),
    ],
)
def test_an_empty_expectation_that_is_there_is_a_check(fields, matchers):
    assert [check.matcher for check in flatten(**fields)] == matchers


# ---------------------------------------------------------------- options


def test_strict_mode_names_the_keys_that_each_object_may_have():
    checks = step({"a": {"b": 1}, "t": 0}, strict_mode=True, ignore_fields=["t", "u"])
    assert [(check.pointer, check.allowed) for check in checks] == [
        ("", '["a","t","u"]'),
        ("/a", '["b","t","u"]'),
        ("/a/b", None),
    ]


def test_strict_mode_adds_one_check_on_the_final_output_itself():
    checks = flatten(
        expected_outputs={"f": 1, "t": 2, "g": {}},
        evaluation_config={"strict_mode": True, "ignore_fields": ["t"]},
    )
    assert checks[0] == ExpectationCheck(
        scope="final",
        step_id=None,
        field=None,
        path="$",
        pointer="",
        matcher="object",
        expected='{"f":1,"t":2,"g":{}}',
        allowed='["f","g","t"]',
    )
    assert places(checks[1:]) == [
        ("final", None, "f", "$", "/f"),
        ("final", None, "g", "$", "/g"),
    ]


def test_without_strict_mode_no_check_names_allowed_keys():
    assert {check.allowed for check in flatten(**EVERYTHING)} == {None}


def test_ignored_fields_are_left_out_at_every_depth_but_step_ids_are_not():
    checks = flatten(
        intermediate_expectations={"t": {"t": 1, "a": [{"t": 2, "b": 3}]}},
        expected_aggregation={"t": 4},
        expected_outputs={"t": 5, "f": {"t": 6}},
        evaluation_config={"ignore_fields": ["t"]},
    )
    assert [(check.scope, check.step_id, check.pointer) for check in checks] == [
        ("intermediate", "t", ""),
        ("intermediate", "t", "/a"),
        ("intermediate", "t", "/a/0"),
        ("intermediate", "t", "/a/0/b"),
        ("aggregation", None, ""),
        ("final", None, "/f"),
    ]


# ---------------------------------------------------------------- size


@pytest.mark.parametrize("depth", [500, 999])
def test_deep_nesting_is_no_matter_of_recursion(depth):
    value: Any = "leaf"
    for _ in range(depth):
        value = {"k": value}
    checks = step(value, strict_mode=True)
    assert len(checks) == depth + 1
    assert checks[-1].pointer == "/k" * depth
    assert checks[-1].path == "$" + '."k"' * depth


def test_an_expected_container_too_long_to_repeat_is_a_sentence():
    rows = [f"row {index:05d}" for index in range(2000)]
    checks = {check.pointer: check for check in step({"rows": rows, "few": rows[:2]})}
    assert checks[""].expected == (
        '"an object of 2 keys, too long to repeat here: see the test case"'
    )
    assert "a list of 2000 elements" in checks["/rows"].expected
    assert checks["/few"].expected == '["row 00000","row 00001"]'
    assert checks["/rows/1999"].expected == '"row 01999"'
    assert max(len(check.expected) for check in checks.values()) <= LONGEST_EXPECTED


DEEP: Any = [1] * 10_000
for _ in range(500):
    DEEP = {"a long key to repeat": DEEP}


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "c", "intermediate_expectations": {"s": DEEP}},
        {"id": "c", "intermediate_expectations": {"s" * 2000: [1] * 10_000}},
        {"id": "c", "expected_outputs": {"f" * 2000: [1] * 10_000}},
        {"id": "c" * 2000, "expected_aggregation": [1] * 10_000},
        {
            "id": "c",
            "expected_aggregation": [{}] * 10_000,
            "evaluation_config": {"strict_mode": True, "ignore_fields": ["i" * 2000]},
        },
    ],
    ids=["paths", "step ids", "fields", "case ids", "ignored names"],
)
def test_checks_far_larger_than_their_file_are_refused(fields):
    with pytest.raises(ExpectationTooLargeError):
        Flattener(limit=10_000_000).flatten(TestCase(**fields))


def test_the_limit_is_for_all_cases_together():
    case = TestCase(id="c", expected_outputs={"f": {"a": 1, "b": 2}})
    flattener = Flattener(limit=100)
    with pytest.raises(ExpectationTooLargeError):
        for _ in range(50):
            flattener.flatten(case)
