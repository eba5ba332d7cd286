"""Convert the checked structs of one task to columns of the raw tables.

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
from promptlab.ingest.reading.checked_columns import (
    NEGATIVE_COST,
    Doubtful,
    json_objects,
    names,
    times,
    without_negative_costs,
)
from promptlab.ingest.reading.records import StructRecords, Table
from promptlab.ingest.reading.source import Limits
from promptlab.json_text.places import STRINGS, Keys
from promptlab.json_text.reading import Fault, parse_all
from promptlab.json_text.writing import compact, shown
from promptlab.patterns import translate
from promptlab.steps import steps_in

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


# Only an escape or a named group has another spelling; in JSON an escape also has a
# backslash.
_SUSPECTED = re.compile(r"\\|\(\?<")


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
        if kind == "golden_answer" and _SUSPECTED.search(payload):
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
        if not _SUSPECTED.search(string):
            continue
        try:
            text = msgspec.json.decode(string, type=str)
        except msgspec.DecodeError:  # a lone surrogate is not valid text in SQL
            continue
        if _SUSPECTED.search(text):
            yield text.strip()


def task_rows(
    head: AnalysisHead, cases: StructRecords
) -> tuple[Rows, list[tuple[int, int]], list[tuple[int, Fault]]]:
    """Turn the cases of a task into columns, without a Python object per row.

    Case ids are unique, and so are the ids of a case's rounds.

    Returns:
        The rows; the rounds whose time has no zone, as (case, position in it); the
        invalid rules and negative costs, as (case, warning).

    Raises:
        Doubtful: Some cases hold a value that only the contract can judge.
    """
    structs = cases.structs
    case_ids = names(_values("case_id", structs))
    positions = [cases.position(row) for row in range(len(structs))]
    rounds = _Parts(structs, attrgetter("rounds"), cases.limits)
    baseline_parts = _Parts(structs, attrgetter("baselines"), cases.limits)
    without_zone: list[int] = []
    costs: list[tuple[int, str]] = []
    tables: dict[str, Table] = {
        "cases": _Parts(structs, lambda case: [case], cases.limits).build(
            lambda _: {
                "case_id": case_ids,
                "position": positions,
                **_cases(structs),
            }
        ),
        "rounds": rounds.build(
            lambda parts: _rounds(parts, without_zone, costs), case_ids
        ),
        "baselines": baseline_parts.build(_baselines, case_ids),
    }
    baselines = tables["baselines"]
    match_rules = [
        dimension.parameters.get("match_rule") for dimension in head.contract.dimensions
    ]
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
    if MATCH_RULE in match_rules:
        rows["golden_checks"] = _golden_checks(case_ids, baselines)
    tables_of_task: Rows = {
        name: {"task_id": [head.task_id] * height(table), **table}
        for name, table in rows.items()
    }
    return tables_of_task, [rounds.place(row) for row in without_zone], warnings


class _Parts:
    """The parts of all cases in one list, with their cases."""

    def __init__(
        self,
        cases: Sequence[Any],
        parts_of: Callable[[Any], list[Any]],
        limits: Limits,
    ) -> None:
        self._limits = limits
        self._lists = list(map(parts_of, cases))
        self._owners = [n for n, parts in enumerate(self._lists) for _ in parts]

    @cached_property
    def _places(self) -> list[int]:
        return [n for parts in self._lists for n in range(len(parts))]

    def place(self, row: int) -> tuple[int, int]:
        """Return the case of a part, and the part's position in it."""
        return self._owners[row], self._places[row]

    def build(
        self,
        columns: Callable[[list[Any]], Table],
        case_ids: Sequence[str | None] | None = None,
    ) -> Table:
        """Build the columns of all parts; errors refer to the cases of the parts.

        Raises:
            Doubtful: Their places.
        """
        parts = [part for case_parts in self._lists for part in case_parts]
        try:
            table = columns(parts)
            _check_limits(table, self._limits)
        except Doubtful as error:
            cases = sorted({self._owners[row] for row in error.rows})
            raise Doubtful(cases, error.reason) from error
        if case_ids is None:
            return table
        ids = [case_ids[owner] for owner in self._owners]
        return {"case_id": ids, "position": self._places, **table}


_JSON = frozenset({"context", "tags", "parsed_output", "metadata", "payload"})


def _check_limits(table: Table, limits: Limits) -> None:
    """Check that no value is too large.

    Raises:
        Doubtful: The rows of those that are.
    """
    rows: set[int] = set()
    for name, column in table.items():
        if not isinstance(next(filter(None, column), None), str):
            continue
        # of characters, of which each has at most four bytes
        limit = limits.harmless if name in _JSON else limits.max_string // 4
        if max(map(len, filter(None, column))) > limit:
            rows |= {
                row
                for row, text in enumerate(column)
                if text is not None and len(text) > limit
                if (
                    limits.fault(text)
                    if name in _JSON
                    else len(text.encode("utf-8", "surrogatepass")) > limits.max_string
                )
            }
    if rows:
        raise Doubtful(sorted(rows))


def _cases(cases: Sequence[Any]) -> Table:
    encode = msgspec.json.Encoder().encode
    return {
        "context": json_objects(_values("context", cases)),
        "tags": [encode(case.tags).decode() for case in cases],
        "cluster": _values("cluster", cases),
    }


def _rounds(
    rounds: Sequence[Any], zoneless: list[int], costs: list[tuple[int, str]]
) -> Table:
    executed_at, zoneless[:] = times(_values("executed_at", rounds))
    metadata = json_objects(_values("metadata", rounds))
    metadata, costs[:] = without_negative_costs(metadata)
    return {
        "round_id": names(_values("round_id", rounds)),
        "run_index": _values("run_index", rounds),
        "raw_output": _values("raw_output", rounds),
        "parsed_output": json_objects(
            _values("parsed_output", rounds), may_be_null=True
        ),
        "input_tokens": _values("input_tokens", rounds),
        "output_tokens": _values("output_tokens", rounds),
        "latency_ms": _values("latency_ms", rounds),
        "metadata": metadata,
        "executed_at": executed_at,
        "steps": steps_in(metadata),
    }


def _baselines(baselines: Sequence[Any]) -> Table:
    return {
        "baseline_id": names(_values("baseline_id", baselines)),
        "type": _values("type", baselines),
        "payload": json_objects(_values("payload", baselines)),
        "owner": _values("owner", baselines),
        "confidence": _values("confidence", baselines),
    }


def _golden_checks(case_ids: Sequence[str | None], baselines: Table) -> Columns:
    columns = (baselines[name] for name in ("case_id", "baseline_id", "payload"))
    answers = [
        (case_id, baseline_id, payload)
        for kind, case_id, baseline_id, payload in zip(
            baselines["type"], *columns, strict=True
        )
        if kind == "golden_answer"
    ]
    try:
        return golden_checks(answers)
    except ExpectationTooLargeError as error:
        longest, *_ = max(answers, key=lambda answer: len(answer[2]))
        raise Doubtful(
            [row for row, case_id in enumerate(case_ids) if case_id == longest],
            "flattened, its golden answers are far larger than they are written."
            " Nest them less deeply.",
        ) from error


def _values(name: str, structs: Sequence[Any]) -> list[Any]:
    return list(map(attrgetter(name), structs))
