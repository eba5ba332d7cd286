"""The evaluator against the shared tables of cases."""

from __future__ import annotations

from collections import Counter
from typing import Any, get_args

import pytest

from promptlab.contracts.scoring import RULE_VALUES
from promptlab.evaluator import UnifiedEvaluator
from promptlab.evaluator.matching import Matcher, Reason, compare, matcher_of
from promptlab.json_text.reading import JsonText, copy_json, parse_as_duckdb
from tests.judging.both import in_python
from tests.judging.cases import golden_cases, output_cases, rule_cases
from tests.matching_cases import MatchingCase, matching_cases

# ---------- the evaluator against the shared table of matching cases


CASES = matching_cases()


def evaluated(case: MatchingCase) -> dict:
    test_case = {
        "id": case.id,
        "intermediate_expectations": {"s": JsonText(case.expected)},
        "evaluation_config": case.config,
    }
    outputs = {} if case.actual is None else {"s": JsonText(case.actual)}
    return UnifiedEvaluator().evaluate_intermediate_steps(
        "p", "v1", test_case, outputs
    )["s"]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_the_verdict_and_every_failure_are_as_the_table_says(case: MatchingCase):
    result = evaluated(case)
    failures = [(each["pointer"], each["reason"]) for each in result["failures"]]
    assert failures == case.failures
    assert result["status"] == case.verdict
    matched = {"pass": True, "fail": False, "unevaluated": None}[case.verdict]
    assert result["matched"] is matched


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_the_counts_agree_with_the_failures(case: MatchingCase):
    result = evaluated(case)
    failed = [reason for _, reason in case.failures if reason != "invalid_pattern"]
    assert result["checks_failed"] == len(failed)
    assert result["checks_total"] >= len(case.failures)
    assert result["actual_source"] == (None if case.actual is None else "step_id")


def test_the_table_names_each_case_once():
    assert [name for name, n in Counter(c.id for c in CASES).items() if n > 1] == []
    assert len(CASES) >= 200


def test_the_table_has_every_reason():
    assert {reason for case in CASES for _, reason in case.failures} == set(
        get_args(Reason)
    )


def test_the_table_has_every_matcher():
    found = {matcher_of(parse_as_duckdb(case.expected)) for case in CASES}
    assert found == set(get_args(Matcher))


def test_the_table_has_every_rule_of_the_matching_page_with_both_answers():
    verdicts: dict[str, set[str]] = {}
    for case in CASES:
        verdicts.setdefault(case.rule, set()).add(case.verdict)
    rules = {
        "object", "array", "contains:", "regex:", "literal:", "other text", "number",
        "tolerance", "true, false, null", "strict_mode", "ignore_fields",
        "a key is a key", "duplicate keys",
    }  # fmt: skip
    assert {rule for rule in rules if {"pass", "fail"} <= verdicts[rule]} == rules
    assert verdicts["invalid pattern"] == {"unevaluated", "fail", "pass"}
    assert verdicts["missing step"] == {"fail"}


def nest(depth: int, leaf: Any) -> Any:
    value = leaf
    for level in range(depth):
        value = {"k": value} if level % 2 else [value]
    return value


@pytest.mark.parametrize("depth", [500, 790])
def test_deep_nesting_is_judged_like_any_other(depth):
    same = compare(copy_json(nest(depth, 1)), copy_json(nest(depth, 1.0)))
    assert (same.status, same.checks) == ("pass", depth + 1)
    other = compare(nest(depth, 1), nest(depth, 2))
    assert [failure.reason for failure in other.failures] == ["value_mismatch"]
    assert other.failures[0].pointer.count("/") == depth


def test_a_deep_output_that_ends_too_early_fails_all_that_is_below():
    verdict = compare(nest(500, 1), {"k": 7})
    assert verdict.checks_failed == 500
    assert [failure.reason for failure in verdict.failures[:2]] == [
        "type_mismatch",
        "missing_field",
    ]


def test_below_a_wrong_type_odd_keys_are_looked_up_by_pointer():
    """As in the warehouse: `/0` fits an array too, where a path cannot be written."""
    plain_keys = compare({"0": {"a": 5}}, [{"a": 5}])
    assert [(f.pointer, f.reason) for f in plain_keys.failures] == [
        ("", "type_mismatch"),
        ("/0", "missing_field"),
        ("/0/a", "missing_field"),
    ]
    for odd in ("", "*"):
        odd_keys = compare({"0": {odd: 5}}, [{odd: 5}])
        assert [(f.pointer, f.reason) for f in odd_keys.failures] == [
            ("", "type_mismatch"),
            ("/0", "missing_field"),
        ]


# ---------- the evaluator against the shared tables of rules, outputs and golden answers


def named(table):
    return [pytest.param(*row, id=row[0].id) for row in table]


@pytest.mark.parametrize(("sample", "holds"), named(rule_cases()))
def test_a_rule_is_kept_as_the_table_says(sample, holds):
    assert in_python(sample).rules == (holds,)


@pytest.mark.parametrize(("sample", "scopes"), named(output_cases()))
def test_an_expectation_is_compared_with_the_output_that_the_table_names(
    sample, scopes
):
    assert in_python(sample).scopes == scopes


@pytest.mark.parametrize(("sample", "metric"), named(golden_cases()))
def test_an_answer_is_as_right_as_the_table_says(sample, metric):
    assert in_python(sample).golden == metric


@pytest.mark.parametrize("table", [rule_cases(), output_cases(), golden_cases()])
def test_a_table_names_each_case_once(table):
    names = [sample.id for sample, _ in table]
    assert len(set(names)) == len(names)


def test_the_table_has_every_kind_of_rule_kept_and_broken():
    kinds: dict[str, set[bool | None]] = {kind: set() for kind in RULE_VALUES}
    for sample, holds in rule_cases():
        kinds[sample.rules[0]["type"]].add(holds)
    assert {
        kind for kind, found in kinds.items() if not {True, False} <= found
    } == set()
    assert None in kinds["max_tokens"]
