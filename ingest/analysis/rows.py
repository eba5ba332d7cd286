"""Convert the checked structs of one task to columns of the raw tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import Any, cast

import msgspec
import polars as pl

from promptlab.ingest.analysis.head import AnalysisHead
from promptlab.ingest.analysis.rules import rule_rows
from promptlab.ingest.checks import (
    MATCH_RULE,
    ExpectationTooLargeError,
    GoldenAnswer,
    golden_checks,
)
from promptlab.ingest.raw.rows import Columns, Rows, height
from promptlab.ingest.reading.checked_columns import (
    Doubtful,
    doubles,
    integers,
    json_objects,
    json_objects_or_null,
    names,
    texts,
    times,
)
from promptlab.ingest.reading.limits import Limits
from promptlab.ingest.reading.records import StructRecords, Table
from promptlab.json_text.places import STRINGS
from promptlab.json_text.reading import Fault
from promptlab.patterns import translate

# Only an escape or a named group has another spelling; in JSON an escape also has a
# backslash.
_SUSPECT = r"\\|\(\?<"
_SUSPECTED = re.compile(_SUSPECT)


def spellings(
    types: pl.Series, payloads: pl.Series, *, are_answers_patterns: bool
) -> pl.Series:
    """Return for each baseline the spellings of its patterns, as JSON.

    Args:
        types: ``golden_answer``, ``rules`` …
        payloads: JSON objects, as text.
        are_answers_patterns: Whether golden answers are patterns (``match_rule:
            regex``); translating long ones that are not patterns would take long.

    Returns:
        An object ``{"<as written>": {"unicode": "<RE2>", "ascii": "<RE2>"}}``: the
        pattern for every text, and the cheaper one for texts that are all ASCII. An
        invalid pattern has null. Null if the object would be empty.
    """
    found: list[str | None] = [None] * len(payloads)
    may_have = types == "golden_answer"
    if not are_answers_patterns or not may_have.any():
        return texts(found)
    for row in (payloads.str.contains(_SUSPECT) & may_have).arg_true():
        spelled = dict(_spelled(set(_candidates(payloads[row]))))
        if spelled:
            found[row] = msgspec.json.encode(spelled).decode()
    return texts(found)


def _spelled(
    candidates: set[str],
) -> Iterator[tuple[str, dict[str, str | None] | None]]:
    """Yield the patterns with another spelling, and that spelling."""
    for written in sorted(candidates):
        pattern = translate(written)
        if pattern.error is not None:
            yield written, None
        elif not written == pattern.translated == pattern.ascii:
            yield written, {"unicode": pattern.translated, "ascii": pattern.ascii}


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
    head: AnalysisHead,
    cases: StructRecords,
    limits: Limits,
    zoneless: list[tuple[int, int]],
    slips: list[tuple[int, Fault]],
) -> Rows:
    """Turn the cases of a task into columns, without a Python object per row.

    Args:
        head: The task, its dimensions, its extras.
        cases: The good cases; their ids are unique, and those of a case's rounds are.
        limits: Limits of a value.
        zoneless: Receives rounds whose time has no zone, as (case, position in it).
        slips: Receives the invalid rules, as (case, warning).

    Raises:
        Doubtful: Some cases hold a value that only the contract can judge.
    """
    structs = cases.structs
    case_ids = names(_each("case_id", structs))
    positions = integers([cases.position(row) for row in range(len(structs))])
    rounds = _Parts(structs, attrgetter("rounds"), limits)
    baseline_parts = _Parts(structs, attrgetter("baselines"), limits)
    without_zone: list[int] = []
    tables: dict[str, Table] = {
        "cases": _Parts(structs, lambda case: [case], limits).build(
            lambda _: {
                "case_id": case_ids,
                "position": positions,
                **_cases(structs),
            }
        ),
        "rounds": rounds.build(lambda parts: _rounds(parts, without_zone), case_ids),
        "baselines": baseline_parts.build(_baselines, case_ids),
    }
    zoneless[:] = [rounds.place(row) for row in without_zone]
    baselines = tables["baselines"]
    rules = [each.parameters.get("match_rule") for each in head.contract.dimensions]
    baselines["patterns"] = spellings(
        baselines["type"], baselines["payload"], are_answers_patterns="regex" in rules
    )
    rows: Rows = {
        name: _of_task(head.task_id, cast("Columns", each))
        for name, each in tables.items()
    }
    with_rules = (baselines["type"] == "rules").arg_true().to_list()
    if with_rules:
        flat_rules, warnings = rule_rows(
            [
                (baselines["case_id"][n], baselines["baseline_id"][n], payload)
                for n, payload in zip(
                    with_rules, baselines["payload"].gather(with_rules), strict=True
                )
            ]
        )
        rows["rules"] = _of_task(head.task_id, flat_rules)
        slips[:] = []
        for n, fault in warnings:
            row, place = baseline_parts.place(with_rules[n])
            way = ("baselines", place, "payload", *fault.keys)
            slips.append((row, replace(fault, keys=way)))
    if MATCH_RULE in rules:
        checks = _golden_checks(case_ids, baselines)
        rows["golden_checks"] = _of_task(head.task_id, checks)
    return rows


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
        self._owners = [n for n, each in enumerate(self._lists) for _ in each]

    @cached_property
    def _places(self) -> list[int]:
        return [n for each in self._lists for n in range(len(each))]

    def place(self, row: int) -> tuple[int, int]:
        """Return the case of a part, and the part's position in it."""
        return self._owners[row], self._places[row]

    def build(
        self,
        columns: Callable[[list[Any]], Table],
        case_ids: pl.Series | None = None,
    ) -> Table:
        """Build the columns of all parts; errors refer to the cases of the parts.

        Raises:
            Doubtful: Their places.
        """
        parts = [part for each in self._lists for part in each]
        try:
            table = columns(parts)
            _check_limits(table, self._limits)
        except Doubtful as error:
            cases = sorted({self._owners[row] for row in error.rows})
            raise Doubtful(cases, error.reason) from error
        if case_ids is None:
            return table
        ids = case_ids.gather(integers(self._owners))
        return {"case_id": ids, "position": integers(self._places), **table}


_JSON = frozenset({"context", "tags", "parsed_output", "metadata", "payload"})


def _check_limits(table: Table, limits: Limits) -> None:
    """Check that no value is too large.

    Raises:
        Doubtful: The rows of those that are.
    """
    rows: set[int] = set()
    for name, column in table.items():
        if column.dtype == pl.String:
            least = limits.harmless if name in _JSON else limits.max_string
            long = column.str.len_bytes() > least
            if long.any():
                rows |= {
                    row
                    for row in long.fill_null(value=False).arg_true().to_list()
                    if name not in _JSON or limits.fault(column[row])
                }
    if rows:
        raise Doubtful(sorted(rows))


def _cases(cases: Sequence[Any]) -> Table:
    encode = msgspec.json.Encoder().encode
    return {
        "context": json_objects(_each("context", cases)),
        "tags": texts([encode(case.tags).decode() for case in cases]),
        "cluster": texts(_each("cluster", cases)),
    }


def _rounds(rounds: Sequence[Any], zoneless: list[int]) -> Table:
    executed_at, without_zone = times(_each("executed_at", rounds))
    zoneless += without_zone
    return {
        "round_id": names(_each("round_id", rounds)),
        "run_index": integers(_each("run_index", rounds)),
        "raw_output": texts(_each("raw_output", rounds)),
        "parsed_output": json_objects_or_null(_each("parsed_output", rounds)),
        "input_tokens": integers(_each("input_tokens", rounds)),
        "output_tokens": integers(_each("output_tokens", rounds)),
        "latency_ms": doubles(_each("latency_ms", rounds)),
        "metadata": json_objects(_each("metadata", rounds)),
        "executed_at": executed_at,
    }


def _baselines(baselines: Sequence[Any]) -> Table:
    return {
        "baseline_id": names(_each("baseline_id", baselines)),
        "type": texts(_each("type", baselines)),
        "payload": json_objects(_each("payload", baselines)),
        "owner": texts(_each("owner", baselines)),
        "confidence": doubles(_each("confidence", baselines)),
    }


def _golden_checks(case_ids: pl.Series, baselines: Table) -> Columns:
    golden = pl.DataFrame({name: baselines[name] for name in GoldenAnswer._fields})
    is_golden = baselines["type"] == "golden_answer"
    answers = [GoldenAnswer(*row) for row in golden.filter(is_golden).iter_rows()]
    try:
        return golden_checks(answers)
    except ExpectationTooLargeError as error:
        longest = max(answers, key=lambda answer: len(answer.payload))
        raise Doubtful(
            (case_ids == longest.case_id).arg_true().to_list(),
            "flattened, its golden answers are far larger than they are written."
            " Nest them less deeply.",
        ) from error


def _each(name: str, structs: Sequence[Any]) -> list[Any]:
    return list(map(attrgetter(name), structs))


def _of_task(task_id: str, table: Columns) -> Columns:
    """Add the task's id to every row."""
    ids = texts([task_id]).new_from_index(0, height(table))
    return {"task_id": cast("Sequence[str]", ids), **table}
