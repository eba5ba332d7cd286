"""Rules: plain demands on one output, without an expectation to compare it with.

A rule looks at a field of the final output, found as the final scope finds its fields
(``outputs.final_field``); ``output`` or no field at all is the whole of it. A value
that is missing or null breaks every rule: there is no answer to speak of.

A rule on text reads the text of the value: a text itself, anything else its compact
JSON. ``equals`` and ``allowed_values`` compare JSON values (``5`` is not ``"5"``), of
texts without the white space around them. ``max_tokens`` takes the count that the run
reports; where it reports none, words are counted, with every CJK character as a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from promptlab.errors import InputError
from promptlab.evaluator.json_values import compact_text, parse_json, searchable_text
from promptlab.evaluator.matching import MISSING, MatchOptions, judge, type_of
from promptlab.evaluator.models import RuleConfig
from promptlab.evaluator.outputs import FinalOutput, final_field
from promptlab.evaluator.wording import Language, broken_rule
from promptlab.patterns import translate

MUST: Final = "must"

_CJK: Final = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_WORD: Final = re.compile(f"[{_CJK}]|[^\\s{_CJK}]+")


def broken_rules(
    rules: Iterable[RuleConfig],
    final: FinalOutput,
    steps: Mapping[str, Any],
    *,
    output_tokens: int | None = None,
    lang: Language = "zh",
) -> list[dict[str, Any]]:
    """Return one object for each rule that does not hold, in the order of the rules.

    Args:
        rules: The rules.
        final: The final output.
        steps: The visible step outputs.
        output_tokens: Tokens of the answer, as the run counted them.
        lang: Language of the messages.
    """
    broken = []
    for rule in rules:
        value = value_of(rule, final, steps)
        counted = output_tokens if rule.field in (None, "output") else None
        if not holds(rule, value, counted):
            broken.append(
                {
                    "rule": rule.name,
                    "type": rule.type,
                    "field": rule.field,
                    "severity": rule.severity,
                    "message": rule.message or _message(rule, value, lang),
                }
            )
    return broken


def value_of(rule: RuleConfig, final: FinalOutput, steps: Mapping[str, Any]) -> Any:
    """Return what the rule looks at, or ``MISSING``."""
    if rule.field is None:
        return final.value
    return final_field(rule.field, final, steps).value


def holds(rule: RuleConfig, value: Any, output_tokens: int | None = None) -> bool:
    """Say whether a rule holds for a value.

    Args:
        rule: The rule.
        value: A JSON value, or ``MISSING``.
        output_tokens: The number of its tokens, if known.
    """
    if value is MISSING or value is None:
        return False
    if rule.type == "max_tokens":
        known = output_tokens is not None
        count = output_tokens if known else estimated_tokens(value)
        return bool(count <= rule.value)
    return KINDS[rule.type](value, rule.value)


def estimated_tokens(value: Any) -> int:
    """Count words, every CJK character being one; no tokenizer is asked."""
    return len(_WORD.findall(searchable_text(value) or ""))


def _text(value: Any) -> str:
    return searchable_text(value) or ""


def _same(value: Any, wanted: Any) -> bool:
    """Equal as JSON: types agree, objects hold the same keys, prefixes mean nothing."""
    if isinstance(value, str) and isinstance(wanted, str):
        return value.strip() == wanted.strip()
    return judge(_literal(wanted), value, MatchOptions(strict=True)).status == "pass"


def _literal(value: Any) -> Any:
    """Return *value* as an expectation that takes every text as it is written."""
    if isinstance(value, dict):
        return {key: _literal(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_literal(child) for child in value]
    return f"literal:{value}" if isinstance(value, str) else value


def _is_empty(value: Any) -> bool:
    if type_of(value) in ("object", "array"):
        return len(value) == 0
    return not _text(value).strip()


def _parsed(value: Any) -> Any:
    """Return the JSON value that a text holds; any other value is one already."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except InputError:
        return MISSING


def _has_keys(value: Any, keys: Iterable[str]) -> bool:
    members = _parsed(value)
    return isinstance(members, dict) and all(key in members for key in keys)


KINDS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "contains": lambda value, needle: needle in _text(value),
    "not_contains": lambda value, needle: needle not in _text(value),
    "contains_any": lambda value, needles: any(
        text in _text(value) for text in needles
    ),
    "regex": lambda value, pattern: translate(pattern).search(_text(value)) is True,
    "starts_with": lambda value, start: _text(value).startswith(start),
    "ends_with": lambda value, end: _text(value).endswith(end),
    "equals": _same,
    "allowed_values": lambda value, values: any(_same(value, each) for each in values),
    "max_chars": lambda value, most: len(_text(value)) <= most,
    "min_chars": lambda value, least: len(_text(value)) >= least,
    "non_empty": lambda value, _: not _is_empty(value),
    "is_json": lambda value, _: _parsed(value) is not MISSING,
    "required_keys": _has_keys,
}
"""Every kind but ``max_tokens``, which needs a count beside the value."""


def _message(rule: RuleConfig, value: Any, lang: Language) -> str:
    wanted = rule.type
    if rule.value not in (None, True):
        wanted = f"{rule.type} {compact_text(rule.value)}"
    found = None if value is MISSING else compact_text(value)
    return broken_rule(rule.name, rule.field or "output", wanted, found, lang)
