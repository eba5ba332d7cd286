"""Laws of matching that hold for every pair."""

from __future__ import annotations

import copy
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from promptlab.evaluator.matching import (
    MISSING,
    SLACK,
    MatchOptions,
    judge,
    numbers_match,
)
from promptlab.json_text.reading import copy_json
from promptlab.json_text.writing import compact_as_duckdb
from tests.judging.pairs import (
    KEYS,
    NUMBERS,
    OPTIONS,
    TOLERANCES,
    VALUES,
    literal,
    pairs,
)


def with_extra_keys(value: Any) -> Any:
    if isinstance(value, dict):
        grown = {key: with_extra_keys(child) for key, child in value.items()}
        return {"an extra key": None, **grown, "another": [1]}
    return (
        [with_extra_keys(each) for each in value] if isinstance(value, list) else value
    )


def plain(value: Any) -> bool:
    """No text in it starts with a prefix whose search would see extra keys."""
    if isinstance(value, dict):
        return all(plain(child) for child in value.values())
    if isinstance(value, list):
        return all(plain(child) for child in value)
    return not isinstance(value, str) or not value.startswith(("contains:", "regex:"))


@given(pairs(), OPTIONS)
def test_judging_twice_gives_the_same_and_changes_nothing(pair, options):
    expected, actual = pair
    before = copy.deepcopy(pair)
    first = judge(expected, actual, options)
    assert judge(expected, actual, options) == first
    assert compact_as_duckdb(pair) == compact_as_duckdb(before)


@given(VALUES, OPTIONS)
def test_every_value_matches_itself_taken_literally(value, options):
    assert judge(literal(value), value, options).failures == ()


@given(pairs(), TOLERANCES)
def test_extra_keys_never_matter_unless_strict(pair, tolerance):
    expected, actual = pair
    assume(plain(expected))
    options = MatchOptions(tolerance=tolerance)
    lean = judge(expected, actual, options)
    grown = judge(expected, with_extra_keys(actual), options)
    assert [(f.pointer, f.reason) for f in grown.failures] == [
        (f.pointer, f.reason) for f in lean.failures
    ]


@given(st.dictionaries(KEYS, VALUES, max_size=3))
def test_strict_names_the_extra_keys_of_every_object(value):
    grown = with_extra_keys(value)
    failures = judge(literal(value), grown, MatchOptions(strict=True)).failures
    assert failures[0].pointer == ""
    for failure in failures:
        assert failure.reason == "unexpected_field"
        assert failure.actual == ["an extra key", "another"]


@given(pairs(), OPTIONS, TOLERANCES)
def test_more_tolerance_never_turns_a_pass_into_a_failure(pair, options, more):
    expected, actual = pair
    wider = MatchOptions(options.strict, options.tolerance + more, options.ignore)
    tight = judge(expected, actual, options)
    loose = judge(expected, actual, wider)
    if tight.status == "pass":
        assert loose.status == "pass"
    assert loose.checks_failed <= tight.checks_failed


@given(pairs(), OPTIONS)
def test_strict_only_adds_unexpected_fields(pair, options):
    expected, actual = pair
    lenient = MatchOptions(False, options.tolerance, options.ignore)
    strict = MatchOptions(True, options.tolerance, options.ignore)
    without = [
        (f.pointer, f.reason)
        for f in judge(expected, actual, strict).failures
        if f.reason != "unexpected_field"
    ]
    assert without == [
        (f.pointer, f.reason) for f in judge(expected, actual, lenient).failures
    ]


@given(VALUES, OPTIONS)
def test_a_missing_output_fails_every_check(expected, options):
    verdict = judge(expected, MISSING, options)
    assert verdict.status == "fail"
    assert len(verdict.failures) == verdict.checks == verdict.checks_failed
    assert {failure.reason for failure in verdict.failures} == {"missing_step"}


@given(pairs(), OPTIONS)
def test_ignoring_a_key_is_leaving_it_out_of_the_expectation(pair, options):
    expected, actual = pair

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            kept = value.items()
            return {k: without(v) for k, v in kept if k not in options.ignore}
        return [without(each) for each in value] if isinstance(value, list) else value

    trimmed = without(expected)
    lenient = MatchOptions(False, options.tolerance, options.ignore)
    plain_options = MatchOptions(False, options.tolerance)
    assert [
        (f.pointer, f.reason) for f in judge(expected, actual, lenient).failures
    ] == [(f.pointer, f.reason) for f in judge(trimmed, actual, plain_options).failures]


@given(pairs(), OPTIONS)
def test_no_place_fails_twice_and_parents_come_first(pair, options):
    pointers = [f.pointer for f in judge(*pair, options).failures]
    assert len(set(pointers)) == len(pointers)
    for place, pointer in enumerate(pointers):
        below = [p for p in pointers[:place] if p.startswith(f"{pointer}/")]
        assert below == []


@given(NUMBERS, NUMBERS, TOLERANCES)
def test_matching_numbers_is_symmetric(one, other, tolerance):
    options = MatchOptions(tolerance=tolerance)
    assert judge(one, other, options).status == judge(other, one, options).status


def nest(depth: int, leaf: Any) -> Any:
    value = leaf
    for level in range(depth):
        value = {"k": value} if level % 2 else [value]
    return value


@pytest.mark.parametrize("depth", [500, 790])
def test_deep_nesting_is_judged_like_any_other(depth):
    same = judge(copy_json(nest(depth, 1)), copy_json(nest(depth, 1.0)))
    assert (same.status, same.checks) == ("pass", depth + 1)
    other = judge(nest(depth, 1), nest(depth, 2))
    assert [failure.reason for failure in other.failures] == ["value_mismatch"]
    assert other.failures[0].pointer.count("/") == depth


def test_a_deep_output_that_ends_too_early_fails_all_that_is_below():
    verdict = judge(nest(500, 1), {"k": 7})
    assert verdict.checks_failed == 500
    assert [failure.reason for failure in verdict.failures[:2]] == [
        "type_mismatch",
        "missing_field",
    ]


def test_below_a_wrong_type_odd_keys_are_looked_up_by_pointer():
    """As in the warehouse: `/0` fits an array too, where a path cannot be written."""
    plain_keys = judge({"0": {"a": 5}}, [{"a": 5}])
    assert [(f.pointer, f.reason) for f in plain_keys.failures] == [
        ("", "type_mismatch"),
        ("/0", "missing_field"),
        ("/0/a", "missing_field"),
    ]
    for odd in ("", "*"):
        odd_keys = judge({"0": {odd: 5}}, [{odd: 5}])
        assert [(f.pointer, f.reason) for f in odd_keys.failures] == [
            ("", "type_mismatch"),
            ("/0", "missing_field"),
        ]


DECIMALS = st.builds(
    lambda digits, power: Decimal(digits).scaleb(power),
    st.integers(-(10**15), 10**15),
    st.integers(-12, 6),
)


@given(DECIMALS, DECIMALS, st.integers(1, 10**6), st.integers(-9, 3))
def test_a_tolerance_holds_at_every_magnitude(number, difference, digits, power):
    tolerance = Decimal(digits).scaleb(power)
    for apart in (tolerance, tolerance * 2, difference):
        other = number + apart
        assume(len(other.as_tuple().digits) <= 17)
        is_within = numbers_match(float(number), float(other), float(tolerance))
        largest = max(abs(number), abs(other), tolerance)
        if abs(apart) <= tolerance:
            assert is_within
        elif abs(apart) > tolerance + largest * 2 * Decimal(SLACK):
            assert not is_within
