"""Compare an expectation with an output: of a step, the aggregation or a final field.

An expectation is a set of checks, one for every leaf and every container, in the order
of the file: the container first, then its children. A pair matches when all checks do;
every failed check is reported.

For tests of users without a warehouse. This is a second, independent implementation of
its SQL rules (docs/matching.md); a property test checks that verdicts and failures are
equal. `sentences` writes the results.
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


def compare(
    expected: Any,
    actual: Any,
    options: MatchOptions | None = None,
    *,
    pointer: str = "",
    absent: Reason = "missing_step",
) -> Verdict:
    """Compare one pair.

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
