"""Laws of matching that hold for every pair."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from promptlab.evaluator.matching import MISSING, MatchOptions, compare
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
    first = compare(expected, actual, options)
    assert compare(expected, actual, options) == first
    assert compact_as_duckdb(pair) == compact_as_duckdb(before)


@given(VALUES, OPTIONS)
def test_every_value_matches_itself_taken_literally(value, options):
    assert compare(literal(value), value, options).failures == ()


@given(pairs(), TOLERANCES)
def test_extra_keys_never_matter_unless_strict(pair, tolerance):
    expected, actual = pair
    assume(plain(expected))
    options = MatchOptions(tolerance=tolerance)
    lean = compare(expected, actual, options)
    grown = compare(expected, with_extra_keys(actual), options)
    assert [(f.pointer, f.reason) for f in grown.failures] == [
        (f.pointer, f.reason) for f in lean.failures
    ]


@given(st.dictionaries(KEYS, VALUES, max_size=3))
def test_strict_names_the_extra_keys_of_every_object(value):
    grown = with_extra_keys(value)
    failures = compare(literal(value), grown, MatchOptions(strict=True)).failures
    assert failures[0].pointer == ""
    for failure in failures:
        assert failure.reason == "unexpected_field"
        assert failure.actual == ["an extra key", "another"]


@given(pairs(), OPTIONS, TOLERANCES)
def test_more_tolerance_never_turns_a_pass_into_a_failure(pair, options, more):
    expected, actual = pair
    wider = MatchOptions(options.strict, options.tolerance + more, options.ignore)
    tight = compare(expected, actual, options)
    loose = compare(expected, actual, wider)
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
        for f in compare(expected, actual, strict).failures
        if f.reason != "unexpected_field"
    ]
    assert without == [
        (f.pointer, f.reason) for f in compare(expected, actual, lenient).failures
    ]


@given(VALUES, OPTIONS)
def test_a_missing_output_fails_every_check(expected, options):
    verdict = compare(expected, MISSING, options)
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
        (f.pointer, f.reason) for f in compare(expected, actual, lenient).failures
    ] == [
        (f.pointer, f.reason) for f in compare(trimmed, actual, plain_options).failures
    ]


@given(pairs(), OPTIONS)
def test_no_place_fails_twice_and_parents_come_first(pair, options):
    pointers = [f.pointer for f in compare(*pair, options).failures]
    assert len(set(pointers)) == len(pointers)
    for place, pointer in enumerate(pointers):
        below = [p for p in pointers[:place] if p.startswith(f"{pointer}/")]
        assert below == []


@given(NUMBERS, NUMBERS, TOLERANCES)
def test_matching_numbers_is_symmetric(one, other, tolerance):
    options = MatchOptions(tolerance=tolerance)
    assert compare(one, other, options).status == compare(other, one, options).status
