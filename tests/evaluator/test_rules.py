"""Rules: each kind, where it looks, and configurations that cannot be meant."""

from __future__ import annotations

from typing import Any

import pytest

from promptlab.errors import UsageError
from promptlab.evaluator import (
    EvaluationConfig,
    EvaluationResult,
    PipelineRun,
    RuleConfig,
    UnifiedEvaluator,
)
from promptlab.evaluator.models import RULE_VALUES
from promptlab.evaluator.rules import KINDS, estimated_tokens, holds


@pytest.mark.parametrize(
    ("kind", "operand", "value", "kept"),
    [
        ("contains", "success", "a success!", True),
        ("contains", "success", "a SUCCESS!", False),
        ("contains", '"a":1', {"a": 1}, True),
        ("not_contains", "抱歉", "很好", True),
        ("not_contains", "抱歉", "很抱歉", False),
        ("contains_any", ["好", "棒"], "真棒", True),
        ("contains_any", ["好", "棒"], "差", False),
        ("regex", r"^\d{3}-\d{4}$", "555-1234", True),
        ("regex", r"^\d{3}-\d{4}$", "55-1234", False),
        ("regex", r"^\w+$", "中文", True),
        ("starts_with", "总结：", "总结：好", True),
        ("starts_with", "总结：", "好。总结：", False),
        ("ends_with", "。", "好。", True),
        ("ends_with", "。", "好", False),
        ("equals", "positive", "positive\n", True),
        ("equals", "positive", "Positive", False),
        ("equals", 5, 5.0, True),
        ("equals", 5, "5", False),
        ("equals", {"a": [1, "contains:x"]}, {"a": [1.0, "contains:x"]}, True),
        ("equals", {"a": 1}, {"a": 1, "b": 2}, False),
        ("equals", "contains:x", "axb", False),
        ("equals", True, True, True),
        ("equals", True, 1, False),
        ("allowed_values", ["0", "1"], " 1 ", True),
        ("allowed_values", ["0", "1"], "2", False),
        ("allowed_values", [0, 1], 1, True),
        ("allowed_values", [0, 1], True, False),
        ("max_chars", 2, "中文", True),
        ("max_chars", 2, "中文字", False),
        ("max_chars", 1, "😀", True),
        ("min_chars", 3, "abc", True),
        ("min_chars", 3, "ab", False),
        ("max_tokens", 3, "one two three", True),
        ("max_tokens", 3, "one two three four", False),
        ("max_tokens", 3, "好文章 ok", False),
        ("non_empty", None, "x", True),
        ("non_empty", None, " \n　", False),
        ("non_empty", None, {}, False),
        ("non_empty", None, [0], True),
        ("non_empty", None, 0, True),
        ("is_json", None, '{"a": 1}', True),
        ("is_json", None, "{'a': 1}", False),
        ("is_json", None, "NaN", False),
        ("is_json", None, {"a": 1}, True),
        ("required_keys", ["a", "b"], {"a": 1, "b": None}, True),
        ("required_keys", ["a", "b"], '{"a": 1, "b": 2}', True),
        ("required_keys", ["a", "b"], {"a": 1}, False),
        ("required_keys", ["a"], "a", False),
        ("required_keys", ["0"], ["x"], False),
    ],
)
def test_a_rule_holds_for_a_value(kind, operand, value, kept):
    assert holds(RuleConfig("r", kind, value=operand), value) is kept


@pytest.mark.parametrize("kind", RULE_VALUES)
def test_no_rule_holds_for_null(kind):
    operands = {
        "texts": ["a"],
        "values": [1],
        "count": 0,
        "pattern": ".*",
        "nothing": None,
        "text": "a",
        "value": "a",
    }
    rule = RuleConfig("r", kind, value=operands[RULE_VALUES[kind]])
    assert not holds(rule, None)


def test_every_kind_is_implemented():
    assert {*KINDS, "max_tokens"} == set(RULE_VALUES)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("one  two\nthree", 3),
        ("你好 world", 3),
        ("GPT-4很好。", 4),
        ([1, 2], 1),
    ],
)
def test_tokens_are_estimated_by_words_and_cjk_characters(text, count):
    assert estimated_tokens(text) == count


def test_the_count_that_the_run_reports_goes_before_the_estimate():
    rule = RuleConfig("r", "max_tokens", value=3)
    assert holds(rule, "one two three four", output_tokens=3)
    assert not holds(rule, "one", output_tokens=4)


def violations(rules: list[RuleConfig], **known: Any) -> EvaluationResult:
    evaluator = UnifiedEvaluator(EvaluationConfig(rules=rules))
    return evaluator.evaluate_run("p", "v1", {"id": "c"}, PipelineRun(**known))


@pytest.mark.parametrize(
    ("field", "known", "kept"),
    [
        (None, {"final_output": "x"}, True),
        ("output", {"final_output": "x"}, True),
        ("answer", {"final_output": {"answer": "x"}}, True),
        ("output", {"final_output": {"output": "x"}}, True),
        ("answer", {"final_output": "y", "step_outputs": {"answer": "x"}}, True),
        ("answer", {"final_output": "x"}, False),
        ("answer", {"final_output": {"answer": None}}, False),
        (None, {"raw_output": "x"}, True),
        (None, {}, False),
        ("_old", {"final_output": "y", "step_outputs": {"_old": "x"}}, False),
    ],
)
def test_a_rule_looks_where_the_final_scope_looks(field, known, kept):
    result = violations([RuleConfig("r", "equals", field=field, value="x")], **known)
    assert (result.rule_violations == []) is kept


def test_the_reported_tokens_are_those_of_the_whole_answer_only():
    rules = [
        RuleConfig("all", "max_tokens", value=3),
        RuleConfig("part", "max_tokens", field="part", value=3),
    ]
    result = violations(rules, final_output={"part": "x"}, output_tokens=9)
    assert [each["rule"] for each in result.rule_violations] == ["all"]


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
        ({"type": "contains"}, "type contains takes a non-empty text as value, found"),
        ({"type": "contains", "value": ""}, "takes a non-empty text"),
        ({"type": "contains_any", "value": "x"}, "takes a list of non-empty texts"),
        ({"type": "contains_any", "value": []}, "takes a list of non-empty texts"),
        ({"type": "required_keys", "value": [1]}, "takes a list of non-empty texts"),
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
