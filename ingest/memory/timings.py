"""Times and memory snapshots of newer memory-benchmark files."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from promptlab.contracts.memory import LONGEST_MS, MOST, StageTiming
from promptlab.ingest.memory.findings import Findings
from promptlab.ingest.memory.tolerance import tolerant
from promptlab.json_text.places import Keys
from promptlab.json_text.writing import shown

# pre_insert_ms, memory_retrieval_ms, … repeat their operation and unit.
_STAGE = re.compile(r"(?P<stage>.+?)(_insert|_retrieval)?_ms")
_OPERATIONS = {"insert_timings": "insert", "retrieval_timings": "retrieval"}


class TimingRow(NamedTuple):
    """A row of ``raw.memory_timings``."""

    operation: str
    grain: str
    position: int
    test_index: int | None
    stage: str
    duration_ms: float | None
    min_ms: float | None = None
    max_ms: float | None = None
    calls: int | None = None


TIMING_COLUMNS = (*TimingRow._fields[:-1], "count")
"""Names of the row's values in the table."""


def timing_rows(
    value: Any, keys: Keys, findings: Findings
) -> tuple[list[TimingRow], dict[str, Any]]:
    """Read ``timing_summary``: its rows and its unknown fields."""
    rows: list[TimingRow] = []
    rest: dict[str, Any] = {}
    for name, timings in _members(value, keys, findings, rest):
        here = (*keys, name)
        if name not in _OPERATIONS:
            findings.unknown(here)
            rest[name] = timings
            continue
        odd: dict[str, Any] = {}
        for part, inner in _members(timings, here, findings, odd):
            if part == "summary":
                _summary(_OPERATIONS[name], inner, (*here, part), findings, rows, odd)
            elif part == "details":
                _details(_OPERATIONS[name], inner, (*here, part), findings, rows, odd)
            else:
                findings.unknown((*here, part))
                odd[part] = inner
        if odd:
            rest[name] = odd
    return rows, rest


def snapshots_by_round(
    value: Any, rounds: set[int], keys: Keys, findings: Findings
) -> tuple[dict[int, dict[str, Any]], list[Any]]:
    """Read ``memory_snapshots``: one per round, and those without a round."""
    found: dict[int, dict[str, Any]] = {}
    rest: list[Any] = []
    if value is not None and not isinstance(value, list):
        _odd(f"expected a list, found {shown(value)}", keys, findings)
        return found, [value]
    for place, snapshot in enumerate(value or []):
        index = snapshot.get("test_index") if isinstance(snapshot, dict) else None
        if _is_round(index) and index in rounds and index not in found:
            found[index] = {k: v for k, v in snapshot.items() if k != "test_index"}
        else:
            _odd(
                "belongs to no round, or to one that has its own",
                (*keys, place),
                findings,
            )
            rest.append(snapshot)
    return found, rest


def _summary(
    operation: str,
    value: Any,
    keys: Keys,
    findings: Findings,
    rows: list[TimingRow],
    odd: dict[str, Any],
) -> None:
    stages: dict[str, Any] = {}
    for position, (name, times) in enumerate(_members(value, keys, findings, stages)):
        read, rest = tolerant(StageTiming, times, (*keys, name), findings)
        rows.append(
            TimingRow(
                operation,
                "summary",
                position,
                None,
                _stage(name),
                read.avg_ms,
                read.min_ms,
                read.max_ms,
                read.count,
            )
        )
        if rest:
            stages[name] = rest
    if stages:
        odd["summary"] = stages


def _details(
    operation: str,
    value: Any,
    keys: Keys,
    findings: Findings,
    rows: list[TimingRow],
    odd: dict[str, Any],
) -> None:
    if not isinstance(value, list):
        if value is not None:
            _odd(f"expected a list, found {shown(value)}", keys, findings)
            odd["details"] = value
        return
    calls: dict[str, Any] = {}
    for position, call in enumerate(value):
        here = (*keys, position)
        rest: dict[str, Any] = {}
        members = dict(_members(call, here, findings, rest))
        index = members.pop("test_index", None)
        if index is not None and not _is_round(index):
            _odd("is no number of a round", (*here, "test_index"), findings)
            rest["test_index"], index = index, None
        for name, duration in members.items():
            if _is_duration(duration) and name.endswith("_ms"):
                rows.append(
                    TimingRow(
                        operation,
                        "detail",
                        position,
                        index,
                        _stage(name),
                        float(duration),
                    )
                )
            elif duration is not None:
                _odd("is no time in milliseconds", (*here, name), findings)
                rest[name] = duration
        if rest:
            calls[str(position)] = rest
    if calls:
        odd["details"] = calls


def _members(
    value: Any, keys: Keys, findings: Findings, rest: dict[str, Any]
) -> list[tuple[str, Any]]:
    """Return an object's members; add any other value to *rest*."""
    if isinstance(value, dict):
        return list(value.items())
    if value is not None:
        _odd(f"expected an object, found {shown(value)}", keys, findings)
        rest["value"] = value
    return []


def _is_duration(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value <= LONGEST_MS


def _is_round(value: Any) -> bool:
    return type(value) is int and abs(value) <= MOST


def _stage(name: str) -> str:
    found = _STAGE.fullmatch(name)
    return found["stage"] if found else name


def _odd(message: str, keys: Keys, findings: Findings) -> None:
    findings.count("unreadable_value", f"{message}; it is kept in extras.", keys)
