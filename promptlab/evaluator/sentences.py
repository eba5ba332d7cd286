"""The sentences of the evaluator's results, in Chinese and English."""

from __future__ import annotations

from typing import Any, Final, Literal

from promptlab.evaluator.matching import Failure, Verdict
from promptlab.json_text.writing import compact_as_duckdb
from promptlab.patterns import text_check

Language = Literal["zh", "en"]

SHOWN_FAILURES: Final = 5
"""Maximum number of failures in ``details``; ``failures`` has all."""

SHOWN_CHARACTERS: Final = 60
"""Maximum length of a quoted value."""

ALL_MATCHED: Final = {"zh": "所有字段匹配", "en": "all fields match"}

_REASONS: Final = {
    "zh": {
        "missing_step": "{place}：没有输出",
        "missing_field": "{place}：缺少字段，期望 {expected}",
        "type_mismatch": "{place}：类型不同，期望 {expected}，实际 {actual}",
        "value_mismatch": "{place}：期望 {expected}，实际 {actual}",
        "not_contained": "{place}：期望包含 {operand}，实际 {actual}",
        "no_regex_match": "{place}：期望匹配正则 {operand}，实际 {actual}",
        "length_mismatch": "{place}：期望 {expected_length} 个元素，实际 {length} 个",
        "unexpected_field": "{place}：出现多余字段 {actual}",
        "invalid_pattern": "{place}：正则表达式无法执行，未评估：{operand}",
    },
    "en": {
        "missing_step": "{place}: no output",
        "missing_field": "{place}: missing, expected {expected}",
        "type_mismatch": "{place}: other type, expected {expected}, got {actual}",
        "value_mismatch": "{place}: expected {expected}, got {actual}",
        "not_contained": "{place}: expected to contain {operand}, got {actual}",
        "no_regex_match": "{place}: expected to match {operand}, got {actual}",
        "length_mismatch": "{place}: expected {expected_length} elements, got {length}",
        "unexpected_field": "{place}: unexpected fields {actual}",
        "invalid_pattern": "{place}: invalid pattern, not evaluated: {operand}",
    },
}
_WHOLE: Final = {"zh": "（整体）", "en": "(whole)"}
_HEAD: Final = {
    "zh": {
        "fail": "{count} 处不匹配：{named}{more}",
        "unevaluated": "{count} 处未评估：{named}{more}",
        "no_output": "不匹配：没有输出，{count} 项检查全部落空",
    },
    "en": {
        "fail": "{count} mismatches: {named}{more}",
        "unevaluated": "{count} not evaluated: {named}{more}",
        "no_output": "mismatch: there is no output, none of {count} checks could match",
    },
}
_MORE: Final = {"zh": "；另有 {count} 处", "en": "; {count} more"}
_JOINT: Final = {"zh": "；", "en": "; "}
_BROKEN_RULE: Final = {
    "zh": "规则 {name} 不满足：{field} 期望 {requirement}，实际 {value}",
    "en": "rule {name} is broken: {field} should meet {requirement}, got {value}",
}
_NOTHING: Final = {"zh": "空缺", "en": "nothing"}
_NO_JUDGE: Final = {
    "zh": "没有运行 judge：创建评估器时请传入 judge=…",
    "en": "no judge ran: pass judge=… when the evaluator is made",
}
_PIPELINE_FAILED: Final = {
    "zh": "Pipeline 执行失败: {reason}",  # as the guide writes it
    "en": "the pipeline failed: {reason}",
}
_JUDGE_FAILED: Final = {
    "zh": "Judge 评估失败: {reason}",
    "en": "the judge failed: {reason}",
}


def details(verdict: Verdict, lang: Language) -> str:
    """Return the sentence about the result of a scope."""
    failures = verdict.failures
    if not failures:
        return ALL_MATCHED[lang]
    if all(failure.reason == "missing_step" for failure in failures):
        return _HEAD[lang]["no_output"].format(count=verdict.checks)
    sentences = [_sentence(failure, lang) for failure in failures[:SHOWN_FAILURES]]
    rest = len(failures) - len(sentences)
    return _HEAD[lang][verdict.status].format(
        count=len(failures),
        named=_JOINT[lang].join(sentences),
        more=_MORE[lang].format(count=rest) if rest else "",
    )


def broken_rule(
    name: str, field: str, requirement: str, value: str | None, lang: Language
) -> str:
    """Return the sentence for a broken rule; *value* is ``None`` without an answer."""
    return _BROKEN_RULE[lang].format(
        name=name,
        field=field,
        requirement=clipped(requirement),
        value=_NOTHING[lang] if value is None else clipped(value),
    )


def no_judge(lang: Language) -> str:
    """Return the sentence for a judge that is enabled but missing."""
    return _NO_JUDGE[lang]


def judge_failed(reason: str, lang: Language) -> str:
    """Return the sentence for a judge without a usable answer."""
    return _JUDGE_FAILED[lang].format(reason=reason)


def pipeline_failed(reason: str, lang: Language) -> str:
    """Return the feedback for a sample on which the pipeline failed."""
    return _PIPELINE_FAILED[lang].format(reason=reason)


def clipped(text: str) -> str:
    """Shorten a text for a sentence."""
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


def _sentence(failure: Failure, lang: Language) -> str:
    expected: Any = failure.expected
    is_text = isinstance(expected, str)
    return _REASONS[lang][failure.reason].format(
        place=failure.pointer or _WHOLE[lang],
        expected=clipped(compact_as_duckdb(expected)),
        actual=clipped(compact_as_duckdb(failure.actual)),
        operand=clipped(text_check(expected).operand) if is_text else "",
        expected_length=len(expected) if isinstance(expected, list) else "",
        length=len(failure.actual) if isinstance(failure.actual, list) else "",
    )
