"""Compare an expectation with an output: of a step, the aggregation or a final field.

An expectation is a set of checks, one for every leaf and every container, in the order
of the file: the container first, then its children. A pair matches when all checks do;
every failed check is reported.

This is a second, independent implementation of the warehouse's SQL rules
(docs/matching.md); a property test checks that verdicts and failures are equal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from promptlab.json_text.places import escape_pointer
from promptlab.json_text.writing import compact_as_duckdb
from promptlab.patterns import text_check, translate

Status = Literal["pass", "fail", "unevaluated"]
Matcher = Literal[
    "object", "array", "text", "contains", "regex", "number", "bool", "null"
]
Reason = Literal[
    "missing_step",
    "missing_field",
    "type_mismatch",
    "value_mismatch",
    "not_contained",
    "no_regex_match",
    "length_mismatch",
    "unexpected_field",
    "invalid_pattern",
]


class _Missing:
    """The value of a missing output; JSON null is ``None``."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()

_INDEX: Final = re.compile("0|[1-9][0-9]{0,17}")
"""A JSON Pointer token that can be an array index."""


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """Comparison options of a case: its ``evaluation_config``."""

    strict: bool = False
    """If true, unexpected keys fail their object, at every depth."""

    tolerance: float = 0.0
    """Largest difference between two numbers that still match; absolute, inclusive."""

    ignore: frozenset[str] = frozenset()
    """Keys that are ignored at every depth, in expected and actual values."""

    def to_dict(self) -> dict[str, Any]:
        """Return an ``evaluation_config`` of the options that are not the default."""
        options = {
            "strict_mode": self.strict,
            "tolerance": self.tolerance,
            "ignore_fields": sorted(self.ignore),
        }
        return {name: value for name, value in options.items() if value}


@dataclass(frozen=True, slots=True)
class Failure:
    """One check that did not match, or could not be judged (``invalid_pattern``)."""

    pointer: str
    """JSON Pointer from the scope's output; empty for the output itself."""

    matcher: Matcher
    expected: Any
    """The expected value, as written in the testset."""

    actual: Any
    """The actual value; ``None`` when missing; for ``unexpected_field`` the keys."""

    reason: Reason

    def to_dict(self) -> dict[str, Any]:
        """Return the failure as a JSON object."""
        return {
            "pointer": self.pointer,
            "matcher": self.matcher,
            "expected": self.expected,
            "actual": self.actual,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of the checks of one scope."""

    checks: int
    failures: tuple[Failure, ...]
    """In the order of the checks; those with ``invalid_pattern`` too."""

    @property
    def status(self) -> Status:
        """A failed check decides, then a check that could not be judged."""
        if any(failure.reason != "invalid_pattern" for failure in self.failures):
            return "fail"
        return "unevaluated" if self.failures else "pass"

    @property
    def matched(self) -> bool | None:
        """True, false, or ``None`` when unevaluated."""
        return {"pass": True, "fail": False, "unevaluated": None}[self.status]

    @property
    def checks_failed(self) -> int:
        """Checks that did not match, without those that could not be judged."""
        return sum(failure.reason != "invalid_pattern" for failure in self.failures)


@dataclass(frozen=True, slots=True)
class _ExpectedValue:
    """One place of the expectation, with the output's value at this place.

    Places are found by a typed path: keys in objects, indexes in arrays. DuckDB cannot
    write a path through the keys ``""`` and ``"*"``; there the warehouse uses a JSON
    Pointer from the top, in which ``/0`` fits an array and an object alike. Both
    lookups are kept, and ``by_pointer`` selects one. They only differ below a container
    of the wrong type, which affects the list of failures but not the verdict.
    """

    expected: Any
    pointer: str
    typed: Any
    loose: Any
    by_pointer: bool

    @property
    def actual(self) -> Any:
        return self.loose if self.by_pointer else self.typed


def judge(
    expected: Any,
    actual: Any,
    options: MatchOptions | None = None,
    *,
    pointer: str = "",
    absent: Reason = "missing_step",
) -> Verdict:
    """Judge one pair.

    Args:
        expected: The expectation, plain JSON values (see ``copy_json``).
        actual: The output, plain JSON values, or ``MISSING``.
        options: The case's comparison options.
        pointer: Pointer of the pair in its scope; prefix of every failure's pointer.
        absent: The reason of every check if *actual* is ``MISSING``.

    Returns:
        The number of checks, and every failure.
    """
    options = options or MatchOptions()
    failures: list[Failure] = []
    checks = 0
    stack = [_ExpectedValue(expected, pointer, actual, actual, by_pointer=False)]
    while stack:
        check = stack.pop()
        checks += 1
        matcher = matcher_of(check.expected)
        value = check.actual
        reason: Reason | None
        if actual is MISSING:
            reason = absent
        elif value is MISSING:
            reason = "missing_field"
        else:
            reason = _reason(matcher, check.expected, value, options)
        if reason is not None:
            if reason == "unexpected_field":
                value = unexpected_keys(check.expected, value, options)
            reported = None if value is MISSING else value
            failures.append(
                Failure(check.pointer, matcher, check.expected, reported, reason)
            )
        stack.extend(reversed(_children(check, options)))
    return Verdict(checks, tuple(failures))


def type_of(value: Any) -> Matcher:
    """Return the JSON type of a value, in the words of the matchers."""
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, str):
        return "text"
    if value is None:
        return "null"
    return "bool" if isinstance(value, bool) else "number"


def matcher_of(expected: Any) -> Matcher:
    """Return the kind of check that *expected* asks for."""
    if isinstance(expected, str):
        return text_check(expected).matcher
    return type_of(expected)


def unexpected_keys(
    expected: Mapping[str, Any], actual: Mapping[str, Any], options: MatchOptions
) -> list[str]:
    """Return the keys that ``strict_mode`` forbids in one object, sorted."""
    return sorted(actual.keys() - expected.keys() - options.ignore)


def searchable_text(value: Any) -> str | None:
    """Return the text that ``contains:`` and ``regex:`` search; None for null."""
    return (
        value if value is None or isinstance(value, str) else compact_as_duckdb(value)
    )


SLACK: Final = 6.661338147750939e-16
"""Three units in the last place: reading both numbers and the tolerance as doubles, and
subtracting them, changes the difference by less than this share of the largest."""


def numbers_match(expected: float, actual: float, tolerance: float) -> bool:
    """Return true if two numbers are equal or differ by at most *tolerance*.

    Two integers compare exactly, whatever their size; anything else as doubles, with a
    slack for their rounding (``SLACK`` of the largest number), so that 0.95 against
    0.94 is within 0.01. Without a tolerance there is no slack: 0.3 is not
    0.30000000000000004.
    """
    if isinstance(expected, int) and isinstance(actual, int):
        return abs(actual - expected) <= tolerance
    try:
        target, value = float(expected), float(actual)
    except OverflowError:  # an integer beyond the range of doubles matches no double
        return False
    if not math.isfinite(value):
        return False
    slack = SLACK * max(abs(value), abs(target), tolerance) if tolerance > 0 else 0.0
    return abs(value - target) <= tolerance + slack


def _children(check: _ExpectedValue, options: MatchOptions) -> list[_ExpectedValue]:
    expected = check.expected
    if isinstance(expected, dict):
        return [
            _ExpectedValue(
                value,
                f"{check.pointer}/{escape_pointer(key)}",
                _member(check.typed, key),
                _step(check.loose, key),
                check.by_pointer or key in ("", "*"),
            )
            for key, value in expected.items()
            if key not in options.ignore
        ]
    if isinstance(expected, list):
        return [
            _ExpectedValue(
                value,
                f"{check.pointer}/{index}",
                _element(check.typed, index),
                _step(check.loose, str(index)),
                check.by_pointer,
            )
            for index, value in enumerate(expected)
        ]
    return []


def _member(value: Any, key: str) -> Any:
    return value.get(key, MISSING) if isinstance(value, dict) else MISSING


def _element(value: Any, index: int) -> Any:
    if isinstance(value, list) and index < len(value):
        return value[index]
    return MISSING


def _step(value: Any, token: str) -> Any:
    """Follow one token of a JSON Pointer, into an object or an array."""
    if isinstance(value, list):
        return _element(value, int(token)) if _INDEX.fullmatch(token) else MISSING
    return _member(value, token)


def _reason(
    matcher: Matcher, expected: Any, actual: Any, options: MatchOptions
) -> Reason | None:
    """Return the reason if an existing value fails its check, else ``None``."""
    if matcher == "object":
        if not isinstance(actual, dict):
            return "type_mismatch"
        if options.strict and unexpected_keys(expected, actual, options):
            return "unexpected_field"
        return None
    if matcher == "array":
        if not isinstance(actual, list):
            return "type_mismatch"
        return None if len(actual) == len(expected) else "length_mismatch"
    if matcher in ("contains", "regex"):
        return _search_reason(matcher, text_check(expected).operand, actual)
    return _leaf_reason(matcher, expected, actual, options.tolerance)


def _search_reason(matcher: Matcher, operand: str, actual: Any) -> Reason | None:
    text = searchable_text(actual)
    if matcher == "contains":
        return None if text is not None and operand in text else "not_contained"
    # Check the pattern first: an invalid one is unevaluated even for null.
    is_match = translate(operand).search(text or "")
    if is_match is None:
        return "invalid_pattern"
    return None if is_match and text is not None else "no_regex_match"


def _leaf_reason(
    matcher: Matcher, expected: Any, actual: Any, tolerance: float
) -> Reason | None:
    if type_of(actual) != matcher:
        return "type_mismatch"
    if matcher == "text":
        equal = actual == text_check(expected).operand
    elif matcher == "number":
        equal = numbers_match(expected, actual, tolerance)
    else:
        equal = actual is expected
    return None if equal else "value_mismatch"


# ---------- the sentences of a result, in Chinese and English


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
