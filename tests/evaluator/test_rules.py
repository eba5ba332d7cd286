"""Rules: each kind, where it looks, and configurations that cannot be meant."""

from __future__ import annotations

from typing import Any

import pytest

from promptlab.contracts.scoring import RULE_VALUES
from promptlab.errors import UsageError
from promptlab.evaluator import (
    EvaluationConfig,
    EvaluationResult,
    PipelineRun,
    RuleConfig,
    UnifiedEvaluator,
)
from promptlab.evaluator.rules import KINDS


def test_every_kind_is_implemented():
    assert {*KINDS, "max_tokens"} == set(RULE_VALUES)


def test_a_rule_that_nobody_can_judge_leaves_the_sample_unevaluated():
    rules = [
        RuleConfig("short", "max_tokens", value=3),
        RuleConfig("polite", "contains", value="please", severity="should"),
    ]
    result = violations(rules, final_output="please wait")
    assert (result.status, result.rule_violations) == ("unevaluated", [])
    assert result.to_dict()["unjudged_rules"] == ["short"]
    assert violations(rules[:1], final_output="x").must_have_pass is None
    measured = violations(rules, final_output="please wait", output_tokens=2)
    assert (measured.status, measured.must_have_pass) == ("pass", True)
    assert "unjudged_rules" not in measured.to_dict()


def violations(rules: list[RuleConfig], **known: Any) -> EvaluationResult:
    evaluator = UnifiedEvaluator(EvaluationConfig(rules=rules))
    return evaluator.evaluate_run("p", "v1", {"id": "c"}, PipelineRun(**known))


def test_a_violation_says_what_was_broken():
    rules = [
        RuleConfig("状态", "contains", field="output", value="success"),
        RuleConfig("json", "is_json", severity="should", message="请输出 JSON"),
    ]
    result = violations(rules, final_output="failed")
    assert result.rule_violations == [
        {
            "rule": "状态",
            "type": "contains",
            "field": "output",
            "severity": "must",
            "message": (
                '规则 状态 不满足：output 期望 contains "success"，实际 "failed"'
            ),
        },
        {
            "rule": "json",
            "type": "is_json",
            "field": None,
            "severity": "should",
            "message": "请输出 JSON",
        },
    ]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"type": "containz", "value": "x"}, "unknown type 'containz'; choose one of"),
        ({"type": "contains"}, "contains takes a non-empty text or a list of them as"),
        ({"type": "contains", "value": ""}, "takes a non-empty text"),
        ({"type": "contains_any", "value": []}, "takes a non-empty text or a list"),
        ({"type": "contains_any", "value": [""]}, "takes a non-empty text or a list"),
        ({"type": "required_keys", "value": [1]}, "takes a list of keys, or an object"),
        ({"type": "required_keys", "value": {"a": "date"}}, "of keys and their types"),
        ({"type": "regex", "value": "["}, r"pattern '\[' cannot be used: RE2 says"),
        ({"type": "regex", "value": "(?=a)"}, "cannot be used: Look-around"),
        ({"type": "equals"}, "takes a JSON value other than null"),
        ({"type": "allowed_values", "value": "a"}, "takes a list of JSON values"),
        ({"type": "max_chars", "value": "9"}, "takes a whole number of at least 0"),
        ({"type": "max_chars", "value": True}, "takes a whole number of at least 0"),
        ({"type": "max_tokens", "value": -1}, "takes a whole number of at least 0"),
        ({"type": "non_empty", "value": "x"}, "takes no value"),
        ({"type": "is_json", "severity": " "}, "severity is empty"),
    ],
)  # fmt: skip
def test_a_rule_that_cannot_be_meant_is_refused(rule, message):
    with pytest.raises(UsageError, match=message):
        RuleConfig(name="r", **rule)


def test_a_configuration_takes_rules_as_yaml_has_them():
    config = EvaluationConfig(rules=[{"name": "r", "type": "contains", "value": "x"}])
    assert config.rules == (RuleConfig("r", "contains", value="x"),)
    with pytest.raises(UsageError, match="expected name and type"):
        EvaluationConfig(rules=[{"id": "r", "kind": "contains"}])


def test_rules_can_be_left_out():
    evaluator = UnifiedEvaluator(
        EvaluationConfig(rules=[RuleConfig("r", "contains", value="x")])
    )
    run = PipelineRun(final_output="y")
    result = evaluator.evaluate_run("p", "v", {"id": "c"}, run, apply_rules=False)
    assert (result.rule_violations, result.status) == ([], "unevaluated")
