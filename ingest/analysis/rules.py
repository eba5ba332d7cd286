"""Flatten the rules of a case: one row per rule of a ``rules`` baseline.

A payload is one rule or a list of them under ``rules``. A rule is written with its kind
as the key (``{"contains": "x", "max_chars": 80}``, one rule for each) or under ``type``
(``{"type": "contains", "value": "x"}``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from promptlab.contracts.scoring import KEY_TYPES, RULE_VALUES
from promptlab.errors import nearest
from promptlab.json_text.places import Keys
from promptlab.json_text.reading import Fault, parse_all
from promptlab.json_text.writing import compact, shown
from promptlab.patterns import translate

_OPERANDS = ("value", "values", "pattern", "keys", "target")
_KINDS = ("type", "rule", "kind")
_ALIASES = {"regex_match": "regex"}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)


class Rule(NamedTuple):
    """One rule, named as the columns of ``raw.rules``."""

    rule: str | None
    """One of ``RULE_VALUES``; None: the kind is unknown."""
    severity: str | None
    field: str | None
    """The part of the answer that it checks; None: all of it."""
    operand: str | None
    """The operand of the rule, as JSON."""
    number: float | None
    """The operand as a number."""
    pattern: str | None
    """regex: the translated pattern; None: it is invalid."""
    ascii_pattern: str | None
    """regex: the pattern for texts that are all ASCII."""
    is_usable: bool


Rules = tuple[tuple[Rule, ...], tuple[Fault, ...]]
"""The rules of a payload, and a warning for each invalid one."""


def rule_rows(
    baselines: Sequence[tuple[str, str, str]],
) -> tuple[dict[str, list[Any]], Iterator[tuple[int, Fault]]]:
    """Return the rules of a task, and a warning for each invalid one.

    Args:
        baselines: Case id, baseline id and payload of each ``rules`` baseline.

    Returns:
        The columns of ``raw.rules`` except ``task_id``; and for each warning the
        position of its baseline, with keys from the top of the payload.
    """
    rows: list[tuple[Any, ...]] = []
    read = [rules_of(payload) for _, _, payload in baselines]
    for (case_id, baseline_id, _), (rules, _) in zip(baselines, read, strict=True):
        rows += [
            (case_id, baseline_id, number, *rule)
            for number, rule in enumerate(rules, start=1)
        ]
    names = ("case_id", "baseline_id", "rule_no", *Rule._fields)
    columns = [list(column) for column in zip(*rows, strict=True)] or [
        [] for _ in names
    ]
    warnings = ((n, each) for n, (_, found) in enumerate(read) for each in found)
    return dict(zip(names, columns, strict=True)), warnings


@lru_cache(maxsize=4096)
def rules_of(payload: str) -> Rules:
    """Return the rules of one payload, given as JSON text."""
    value, _ = parse_all(payload)
    listed = value.get("rules") if isinstance(value, dict) else None
    entries: list[tuple[Keys, Any]] = [((), value)]
    if isinstance(listed, list):
        entries = [(("rules", n), each) for n, each in enumerate(listed)]
    severity = _text(value.get("severity")) if isinstance(value, dict) else None
    rules: list[Rule] = []
    warnings: list[Fault] = []
    for keys, entry in entries:
        entry = entry if isinstance(entry, dict) else {}
        own_severity = _text(entry.get("severity"))
        said = severity if own_severity is None else own_severity
        part = _text(entry.get("field"))
        found = list(_operands(entry))
        if not found:
            rules.append(Rule(None, said, part, None, None, None, None, False))
            warnings.append(Fault(keys, "unknown_rule", _unknown_rule(entry)))
        for name, operand in found:
            if name in ("non_empty", "is_json") and operand is False:
                continue  # it requires nothing
            rule = _rule(name, operand, said, part)
            rules.append(rule)
            if not rule.is_usable:
                message = (
                    f"the rule {name} cannot be used with {shown(operand)}; expected"
                    f" {_EXPECTED[RULE_VALUES[name]]}. It stays unevaluated"
                )
                way = (*keys, name) if name in entry else keys
                warnings.append(Fault(way, "invalid_rule", message))
    return tuple(rules), tuple(warnings)


_EXPECTED = {
    "texts": "a text or a list of texts",
    "pattern": "a regular expression (RE2)",
    "value": "a JSON value other than null",
    "values": "a list of JSON values",
    "count": "a number",
    "keys": "a list of keys, or an object of keys and their types",
    "nothing": "true",
}


def _operands(entry: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each rule of an entry with its operand."""
    kinds = (entry[key] for key in _KINDS if entry.get(key) is not None)
    kind = _text(next(kinds, None))
    kind = _ALIASES.get(kind or "", kind)
    for name, takes in RULE_VALUES.items():
        if name == kind:
            given = (entry[key] for key in _OPERANDS if entry.get(key) is not None)
            yield name, next(given, True if takes == "nothing" else None)
        elif name in entry:
            yield name, entry[name]


def _rule(name: str, operand: Any, severity: str | None, field: str | None) -> Rule:
    text = _text(operand)
    text = None if text is None else text.strip()
    number = pattern = ascii_pattern = None
    is_number = isinstance(operand, int | float | str) and not isinstance(operand, bool)
    if is_number and text is not None and _NUMBER.fullmatch(text):
        number = float(text)
        number = None if math.isinf(number) else number
    takes = RULE_VALUES[name]
    if takes == "pattern":
        found = None if text is None else translate(text)
        if found is not None and found.error is None:
            pattern, ascii_pattern = found.translated, found.ascii
        is_usable = pattern is not None
    elif takes == "count":
        is_usable = number is not None
    elif takes == "nothing":
        is_usable = isinstance(operand, bool)
    elif takes == "keys":
        is_usable = isinstance(operand, list) or (
            isinstance(operand, dict)
            and all(isinstance(t, str) and t in KEY_TYPES for t in operand.values())
        )
    elif takes in ("value", "values"):
        is_usable = operand is not None and not (takes == "values" and operand == [])
    else:
        is_usable = isinstance(operand, str) or (
            isinstance(operand, list) and bool(operand)
        )
    return Rule(
        name,
        severity,
        field,
        operand=None if operand is None else compact(operand),
        number=number,
        pattern=pattern,
        ascii_pattern=ascii_pattern,
        is_usable=is_usable,
    )


def _unknown_rule(entry: dict[str, Any]) -> str:
    named = [str(entry[key]) for key in _KINDS if entry.get(key) is not None]
    others = [key for key in entry if key not in ("severity", "field", *_KINDS)]
    near = ""
    for word in (*named, *others):
        near = near or nearest(word, [*RULE_VALUES])
    known = near or f"; expected one of {', '.join(RULE_VALUES)}"
    return f"names no known kind of rule{known}. It stays unevaluated"


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else compact(value)
