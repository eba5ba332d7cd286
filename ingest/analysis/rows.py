"""Convert the checked structs of one task to columns of the raw tables.

`task_rows` does it; below it are the rules of baselines, and the patterns among golden
answers.

A rule is one row of a ``rules`` baseline, whose payload is one rule or a list of them
under ``rules``. It is written with its kind as the key (``{"contains": "x",
"max_chars": 80}``, one rule for each) or under ``type`` (``{"type": "contains",
"value": "x"}``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from promptlab.contracts.scoring import KEY_TYPES, RULE_VALUES
from promptlab.errors import nearest
from promptlab.ingest.analysis.head import AnalysisHead
from promptlab.ingest.checks import (
    MATCH_RULE,
    ExpectationTooLargeError,
    golden_checks,
)
from promptlab.ingest.raw.rows import Columns, Rows, columns_of, height
from promptlab.ingest.reading.odd_values import (
    NEGATIVE_COST,
    in_utc_or_none,
    without_negative_costs,
)
from promptlab.ingest.reading.records import StructRecords, Table
from promptlab.json_text.places import STRINGS, Keys
from promptlab.json_text.reading import Fault, parse_all
from promptlab.json_text.writing import compact, shown
from promptlab.patterns import translate
from promptlab.steps import steps_in


def task_rows(
    head: AnalysisHead, cases: StructRecords
) -> tuple[Rows, list[tuple[int, int]], list[tuple[int, Fault]]]:
    """Turn the cases of a task into columns, without a Python object per row.

    Case ids are unique, and so are the ids of a case's rounds.

    Returns:
        The rows; the rounds whose time has no zone, as (case, position in it); the
        invalid rules and negative costs, as (case, warning).
    """
    match_rules = [
        dimension.parameters.get("match_rule") for dimension in head.contract.dimensions
    ]
    golden = _golden_checks(cases) if MATCH_RULE in match_rules else {}
    structs = cases.structs
    rounds = _Parts(structs, attrgetter("rounds"))
    baseline_parts = _Parts(structs, attrgetter("baselines"))
    round_table, without_zone, costs = _rounds(rounds.all)
    baselines: Table = {**baseline_parts.owners(), **_baselines(baseline_parts.all)}
    tables: dict[str, Table] = {
        "cases": {
            "case_id": _values("case_id", structs),
            "position": [cases.position(row) for row in range(len(structs))],
            **_cases(structs),
        },
        "rounds": {**rounds.owners(), **round_table},
        "baselines": baselines,
    }
    baselines["patterns"] = spellings(
        baselines["type"],
        baselines["payload"],
        are_answers_patterns="regex" in match_rules,
    )
    rows: Rows = {**tables}
    rules, warnings = _rule_rows(baselines, baseline_parts)
    for part, key in costs:
        row, place = rounds.place(part)
        fault = Fault(("rounds", place, "metadata", key), "odd_cost", NEGATIVE_COST)
        warnings.append((row, fault))
    if rules:
        rows["rules"] = rules
    if golden:
        rows["golden_checks"] = golden
    tables_of_task: Rows = {
        name: {"task_id": [head.task_id] * height(table), **table}
        for name, table in rows.items()
    }
    return tables_of_task, [rounds.place(row) for row in without_zone], warnings


class _Parts:
    """The parts of all cases in one list, with their cases."""

    def __init__(
        self, cases: Sequence[Any], parts_of: Callable[[Any], list[Any]]
    ) -> None:
        self._cases = cases
        self._lists = list(map(parts_of, cases))
        self.all = [part for parts in self._lists for part in parts]

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        return [
            (row, n) for row, parts in enumerate(self._lists) for n in range(len(parts))
        ]

    def place(self, part: int) -> tuple[int, int]:
        """Return the case of a part, and the part's position in it."""
        return self._places[part]

    def owners(self) -> Table:
        """Return the id of each part's case, and the part's position in it."""
        return {
            "case_id": [self._cases[row].case_id for row, _ in self._places],
            "position": [place for _, place in self._places],
        }


def _cases(cases: Sequence[Any]) -> Table:
    encode = msgspec.json.Encoder().encode
    return {
        "context": _values("context", cases),
        "tags": [encode(case.tags).decode() for case in cases],
        "cluster": _values("cluster", cases),
    }


def _rounds(rounds: Sequence[Any]) -> tuple[Table, list[int], list[tuple[int, str]]]:
    """Return the columns, the rounds without a zone, and those with negative costs."""
    executed_at, zoneless = in_utc_or_none(_values("executed_at", rounds))
    metadata, costs = without_negative_costs(_values("metadata", rounds))
    names = ("round_id", "run_index", "raw_output", "parsed_output")
    numbers = ("input_tokens", "output_tokens", "latency_ms")
    return (
        {
            **{name: _values(name, rounds) for name in (*names, *numbers)},
            "metadata": metadata,
            "executed_at": executed_at,
            "steps": steps_in(metadata),
        },
        zoneless,
        costs,
    )


def _baselines(baselines: Sequence[Any]) -> Table:
    names = ("baseline_id", "type", "payload", "owner", "confidence")
    return {name: _values(name, baselines) for name in names}


def _golden_checks(cases: StructRecords) -> Columns:
    """Return the checks of golden answers; reject a case with far too many."""
    while True:
        answers = [
            (case.case_id, baseline.baseline_id, baseline.payload)
            for case in cases.structs
            for baseline in case.baselines
            if baseline.type == "golden_answer"
        ]
        try:
            return golden_checks(answers)
        except ExpectationTooLargeError:
            longest, *_ = max(answers, key=lambda answer: len(answer[2]))
            ids = [case.case_id for case in cases.structs]
            cases.refuse(
                [ids.index(longest)],
                "flattened, its golden answers are far larger than they are written."
                " Nest them less deeply.",
            )


def _values(name: str, structs: Sequence[Any]) -> list[Any]:
    return list(map(attrgetter(name), structs))


# ---------- rules

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


def _rule_rows(
    baselines: Table, parts: _Parts
) -> tuple[Columns, list[tuple[int, Fault]]]:
    """Return the rows of ``raw.rules``, and case and warning of each invalid rule."""
    rows: list[tuple[Any, ...]] = []
    warnings: list[tuple[int, Fault]] = []
    columns = [baselines[name] for name in ("case_id", "baseline_id", "payload")]
    with_rules = [n for n, kind in enumerate(baselines["type"]) if kind == "rules"]
    for n in with_rules:
        *owner, payload = (column[n] for column in columns)
        rules, rule_warnings = rules_of(payload)
        rows += [(*owner, number, *rule) for number, rule in enumerate(rules, start=1)]
        row, place = parts.place(n)
        for fault in rule_warnings:
            keys = ("baselines", place, "payload", *fault.keys)
            warnings.append((row, replace(fault, keys=keys)))
    column_names = ("case_id", "baseline_id", "rule_no", *Rule._fields)
    return columns_of(column_names, rows) if with_rules else {}, warnings


@lru_cache(maxsize=4096)
def rules_of(payload: str) -> Rules:
    """Return the rules of one payload, given as JSON text."""
    value, _ = parse_all(payload)
    rule_list = value.get("rules") if isinstance(value, dict) else None
    entries: list[tuple[Keys, Any]] = [((), value)]
    if isinstance(rule_list, list):
        entries = [(("rules", n), entry) for n, entry in enumerate(rule_list)]
    severity = _text(value.get("severity")) if isinstance(value, dict) else None
    rules: list[Rule] = []
    warnings: list[Fault] = []
    for keys, entry in entries:
        entry = entry if isinstance(entry, dict) else {}
        own_severity = _text(entry.get("severity"))
        its_severity = severity if own_severity is None else own_severity
        part = _text(entry.get("field"))
        operands = list(_operands(entry))
        if not operands:
            rules.append(Rule(None, its_severity, part, None, None, None, None, False))
            warnings.append(Fault(keys, "unknown_rule", _unknown_rule(entry)))
        for name, operand in operands:
            if name in ("non_empty", "is_json") and operand is False:
                continue  # it requires nothing
            rule = _rule(name, operand, its_severity, part)
            rules.append(rule)
            if not rule.is_usable:
                message = (
                    f"the rule {name} cannot be used with {shown(operand)}; expected"
                    f" {_EXPECTED[RULE_VALUES[name]]}. It stays unevaluated"
                )
                path = (*keys, name) if name in entry else keys
                warnings.append(Fault(path, "invalid_rule", message))
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
            operands = (entry[key] for key in _OPERANDS if entry.get(key) is not None)
            yield name, next(operands, True if takes == "nothing" else None)
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
        translation = None if text is None else translate(text)
        if translation is not None and translation.error is None:
            pattern, ascii_pattern = translation.translated, translation.ascii
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
    kinds = [str(entry[key]) for key in _KINDS if entry.get(key) is not None]
    keys = [key for key in entry if key not in ("severity", "field", *_KINDS)]
    near = ""
    for word in (*kinds, *keys):
        near = near or nearest(word, [*RULE_VALUES])
    hint = near or f"; expected one of {', '.join(RULE_VALUES)}"
    return f"names no known kind of rule{hint}. It stays unevaluated"


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else compact(value)


# ---------- patterns

# Only an escape or a named group has another spelling; in JSON an escape also has a
# backslash.
_MAY_DIFFER = re.compile(r"\\|\(\?<")


def spellings(
    types: Sequence[str], payloads: Sequence[str], *, are_answers_patterns: bool
) -> list[str | None]:
    """Return for each baseline the spellings of its patterns, as JSON.

    Args:
        types: ``golden_answer``, ``rules`` …
        payloads: JSON objects, as text.
        are_answers_patterns: True if golden answers are patterns (``match_rule:
            regex``); translating long ones that are not patterns would take long.

    Returns:
        An object ``{"<as written>": {"unicode": "<RE2>", "ascii": "<RE2>"}}``: the
        pattern for every text, and the cheaper one for texts that are all ASCII. An
        invalid pattern has null. Null if the object would be empty.
    """
    spellings_by_row: list[str | None] = [None] * len(payloads)
    if not are_answers_patterns:
        return spellings_by_row
    for row, (kind, payload) in enumerate(zip(types, payloads, strict=True)):
        if kind == "golden_answer" and _MAY_DIFFER.search(payload):
            spelled = dict(_spelled(set(_candidates(payload))))
            if spelled:
                spellings_by_row[row] = msgspec.json.encode(spelled).decode()
    return spellings_by_row


def _spelled(
    candidates: set[str],
) -> Iterator[tuple[str, dict[str, str | None] | None]]:
    """Yield the patterns with another spelling, and that spelling."""
    for source in sorted(candidates):
        pattern = translate(source)
        if pattern.error is not None:
            yield source, None
        elif not source == pattern.translated == pattern.ascii:
            yield source, {"unicode": pattern.translated, "ascii": pattern.ascii}


def _candidates(payload: str) -> Iterator[str]:
    """Yield the texts that may be patterns, trimmed like in SQL."""
    for string in STRINGS.findall(payload):
        if not _MAY_DIFFER.search(string):
            continue
        try:
            text = msgspec.json.decode(string, type=str)
        except msgspec.DecodeError:  # a lone surrogate is not valid text in SQL
            continue
        if _MAY_DIFFER.search(text):
            yield text.strip()
