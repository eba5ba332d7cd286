"""Rules: requirements on one answer, without an expectation.

``docs/matching.md`` describes each kind; a table of cases and a property test check
that this module and the warehouse agree.

A rule without field checks the whole answer. Its text is the raw output, else the
text of the final output; its value is the parsed output, else the final output. A rule
with a field checks that key of the final object, else the step output of that name;
``output`` and the output key of the evaluation target are the whole answer if there is
no such key. A missing or null answer breaks every rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from promptlab.contracts.scoring import KEY_TYPES
from promptlab.errors import InputError
from promptlab.evaluator.matching import MISSING, searchable_text, type_of
from promptlab.evaluator.models import RuleConfig
from promptlab.evaluator.outputs import FinalOutput, names_the_whole, part_of_final
from promptlab.evaluator.sentences import Language, broken_rule
from promptlab.json_text.reading import parse_as_duckdb
from promptlab.json_text.writing import canonical_as_duckdb, compact_as_duckdb
from promptlab.patterns import translate

MUST: Final = "must"

_EMPTY: Final = ("", "{}", "[]")
"""Texts of an empty answer, without white space."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The values that a rule checks."""

    text: str | None
    """``None`` without an answer."""

    value: Any
    """The same as a JSON value, or ``MISSING``."""

    tokens: int | None = None
    """Number of tokens in the run; ``None`` if not counted."""


@dataclass(frozen=True, slots=True)
class RuleFindings:
    """The result of the rules of one sample."""

    n_musts_passed: int = 0
    """Rules of severity ``must`` that passed."""

    broken: list[dict[str, Any]] = field(default_factory=list)
    """One object per broken rule, in the order of the rules."""

    unjudged: list[RuleConfig] = field(default_factory=list)
    """Rules that could not be judged."""

    @property
    def breaks_must(self) -> bool:
        """True if a rule of severity ``must`` is violated."""
        return any(broken["severity"] == MUST for broken in self.broken)

    @property
    def must_have(self) -> bool | None:
        """False: a must is broken; ``None``: there is none that could be judged."""
        if self.breaks_must:
            return False
        return True if self.n_musts_passed else None


def whole_answer(
    final: FinalOutput,
    *,
    raw_output: str | None = None,
    parsed_output: Any = None,
    output_tokens: int | None = None,
) -> Subject:
    """Return the whole answer of a run."""
    text = None if final.is_missing else searchable_text(final.value)
    return Subject(
        text=text if raw_output is None else raw_output,
        value=final.value if parsed_output is None else parsed_output,
        tokens=output_tokens,
    )


def judge_rules(
    rules: Iterable[RuleConfig],
    answer: Subject,
    final: FinalOutput,
    steps: Mapping[str, Any],
    *,
    is_error: bool = False,
    lang: Language = "en",
) -> RuleFindings:
    """Judge every rule.

    *is_error*: the run gave no usable answer, so every rule is broken.
    """
    n_musts_passed = 0
    broken, unjudged = [], []
    for rule in rules:
        subject = subject_of(rule, answer, final, steps)
        passes = False if is_error else holds(rule, subject)
        if passes is None:
            unjudged.append(rule)
        elif passes:
            n_musts_passed += rule.severity == MUST
        else:
            broken.append(
                {
                    "rule": rule.name,
                    "type": rule.type,
                    "field": rule.field,
                    "severity": rule.severity,
                    "message": rule.message or _message(rule, subject, lang),
                }
            )
    return RuleFindings(n_musts_passed, broken, unjudged)


def subject_of(
    rule: RuleConfig, answer: Subject, final: FinalOutput, steps: Mapping[str, Any]
) -> Subject:
    """Return the values for a rule: the whole answer, or its field."""
    if rule.field is None:
        return answer
    part = part_of_final(rule.field, final, steps)
    if part is not None:
        return Subject(searchable_text(part.value), part.value)
    if names_the_whole(rule.field, final):
        return answer
    return Subject(None, MISSING)


def holds(rule: RuleConfig, subject: Subject) -> bool | None:
    """Return true if a rule passes; ``None`` if it cannot be judged."""
    if subject.text is None:
        return False
    if rule.type == "max_tokens":
        return None if subject.tokens is None else subject.tokens <= rule.value
    return KINDS[rule.type](subject, rule.value)


def _texts(operand: Any) -> list[str]:
    return [operand] if isinstance(operand, str) else list(operand)


def _text(subject: Subject) -> str:
    return subject.text or ""


def _starts_with(subject: Subject, starts: Any) -> bool:
    text = _text(subject).lstrip()
    return any(text.startswith(start.lstrip()) for start in _texts(starts))


def _ends_with(subject: Subject, ends: Any) -> bool:
    text = _text(subject).rstrip()
    return any(text.endswith(end.rstrip()) for end in _texts(ends))


def _equals(subject: Subject, expected: Any) -> bool:
    """Compare texts without surrounding white space, other values as JSON."""
    if isinstance(expected, str):
        return _text(subject).strip() == expected.strip()
    value = _read(subject.value)
    return value is not MISSING and canonical_as_duckdb(value) == canonical_as_duckdb(
        expected
    )


def _read(value: Any) -> Any:
    """Parse a text as JSON; return any other text or value unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return parse_as_duckdb(value)
    except InputError:
        return value


def _is_json(text: str) -> bool:
    try:
        parse_as_duckdb(text)
    except InputError:
        return False
    return True


def _has_keys(subject: Subject, keys: Any) -> bool:
    members = _read(subject.value)
    if not isinstance(members, dict):
        return False
    if not isinstance(keys, Mapping):
        return all(key in members for key in keys)
    return all(
        key in members and _is_of_type(members[key], KEY_TYPES[name])
        for key, name in keys.items()
    )


def _is_of_type(value: Any, type_name: str) -> bool:
    if type_name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return type_name in ("any", type_of(value))


KINDS: Final[dict[str, Callable[[Subject, Any], bool]]] = {
    "contains": lambda subject, needles: all(
        needle in _text(subject) for needle in _texts(needles)
    ),
    "not_contains": lambda subject, needles: (
        not any(needle in _text(subject) for needle in _texts(needles))
    ),
    "contains_any": lambda subject, needles: any(
        needle in _text(subject) for needle in _texts(needles)
    ),
    "regex": lambda subject, pattern: (
        translate(pattern.strip()).search(_text(subject)) is True
    ),
    "starts_with": _starts_with,
    "ends_with": _ends_with,
    "equals": _equals,
    "allowed_values": lambda subject, values: any(
        _equals(subject, value) for value in values
    ),
    "max_chars": lambda subject, most: len(_text(subject)) <= most,
    "min_chars": lambda subject, least: len(_text(subject)) >= least,
    "non_empty": lambda subject, _: _text(subject).strip() not in _EMPTY,
    "is_json": lambda subject, _: _is_json(_text(subject)),
    "required_keys": _has_keys,
}
"""All kinds except ``max_tokens``, which also needs a token count."""


def _message(rule: RuleConfig, subject: Subject, lang: Language) -> str:
    requirement = rule.type
    if rule.value not in (None, True):
        requirement = f"{rule.type} {compact_as_duckdb(rule.value)}"
    return broken_rule(
        rule.name, rule.field or "output", requirement, _shown(subject), lang
    )


def _shown(subject: Subject) -> str | None:
    if subject.value is MISSING:
        return None
    is_its_text = searchable_text(subject.value) == subject.text
    return compact_as_duckdb(subject.value if is_its_text else subject.text)
