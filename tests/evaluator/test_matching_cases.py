"""The evaluator against the shared table of matching cases."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import pytest

from promptlab.evaluator import UnifiedEvaluator
from promptlab.evaluator.matching import Matcher, Reason, matcher_of
from promptlab.json_text.reading import JsonText, parse_as_duckdb
from tests.matching_cases import MatchingCase, matching_cases

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
