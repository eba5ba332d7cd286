"""Read the memory benchmark: one JSON file is the run of one conversation.

An error in an answer rejects that answer, an error in the identity of a round that
round; a file that is not a result is rejected whole. Unknown fields and values of
the wrong type are stored in `extras` and named in a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

import msgspec

from promptlab.contracts.memory import LONGEST_MS, MOST, RoundHead, StageTiming
from promptlab.ingest.memory.findings import Findings, json_text, tolerant
from promptlab.ingest.memory.head import MemoryHead, read_head
from promptlab.ingest.memory.rounds import ANSWER_COLUMNS, Rounds
from promptlab.ingest.raw.rows import (
    Columns,
    Reading,
    Rows,
    columns_of,
    columns_of_rows,
    height,
)
from promptlab.ingest.reading.problems import Problem, problem_at
from promptlab.ingest.reading.source import Limits, Source, no_garbage_collection
from promptlab.json_text.places import BOM, Keys, decode
from promptlab.json_text.reading import depth, errors_of
from promptlab.json_text.writing import shown

# pre_insert_ms, memory_retrieval_ms, … repeat their operation and unit.
_STAGE = re.compile(r"(?P<stage>.+?)(_insert|_retrieval)?_ms")
_OPERATIONS = {"insert_timings": "insert", "retrieval_timings": "retrieval"}


TIMING_COLUMNS = (
    *("operation", "grain", "position", "test_index", "stage"),
    *("duration_ms", "min_ms", "max_ms", "count"),
)


def timing_rows(
    value: Any, keys: Keys, findings: Findings
) -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
    """Read ``timing_summary``: its rows and its unknown fields."""
    rows: list[tuple[Any, ...]] = []
    rest: dict[str, Any] = {}
    for name, timings in _members(value, keys, findings, rest):
        path = (*keys, name)
        if name not in _OPERATIONS:
            findings.unknown(path)
            rest[name] = timings
            continue
        unknown_parts: dict[str, Any] = {}
        for part, part_value in _members(timings, path, findings, unknown_parts):
            if part not in _PARTS:
                findings.unknown((*path, part))
                unknown_parts[part] = part_value
                continue
            part_rows, unknown = _PARTS[part](part_value, (*path, part), findings)
            rows += [(_OPERATIONS[name], *row) for row in part_rows]
            if unknown is not None:
                unknown_parts[part] = unknown
        if unknown_parts:
            rest[name] = unknown_parts
    return rows, rest


def snapshots_by_round(
    value: Any, rounds: set[int], keys: Keys, findings: Findings
) -> tuple[dict[int, dict[str, Any]], list[Any]]:
    """Read ``memory_snapshots``: one per round, and those without a round."""
    snapshots: dict[int, dict[str, Any]] = {}
    rest: list[Any] = []
    if value is not None and not isinstance(value, list):
        _odd(f"expected a list, found {shown(value)}", keys, findings)
        return snapshots, [value]
    for place, snapshot in enumerate(value or []):
        index = snapshot.get("test_index") if isinstance(snapshot, dict) else None
        if _is_round(index) and index in rounds and index not in snapshots:
            snapshots[index] = {k: v for k, v in snapshot.items() if k != "test_index"}
        else:
            _odd(
                "belongs to no round, or to one that has its own",
                (*keys, place),
                findings,
            )
            rest.append(snapshot)
    return snapshots, rest


def _summary(
    value: Any, keys: Keys, findings: Findings
) -> tuple[list[tuple[Any, ...]], Any]:
    rows: list[tuple[Any, ...]] = []
    stages: dict[str, Any] = {}
    for position, (name, times) in enumerate(_members(value, keys, findings, stages)):
        timing, rest = tolerant(StageTiming, times, (*keys, name), findings)
        measured = (timing.avg_ms, timing.min_ms, timing.max_ms, timing.count)
        rows.append(("summary", position, None, _stage(name), *measured))
        if rest:
            stages[name] = rest
    return rows, stages or None


def _details(
    value: Any, keys: Keys, findings: Findings
) -> tuple[list[tuple[Any, ...]], Any]:
    if not isinstance(value, list):
        if value is not None:
            _odd(f"expected a list, found {shown(value)}", keys, findings)
        return [], value
    rows: list[tuple[Any, ...]] = []
    calls: dict[str, Any] = {}
    for position, call in enumerate(value):
        path = (*keys, position)
        rest: dict[str, Any] = {}
        members = dict(_members(call, path, findings, rest))
        index = members.pop("test_index", None)
        if index is not None and not _is_round(index):
            _odd("is no number of a round", (*path, "test_index"), findings)
            rest["test_index"], index = index, None
        for name, duration in members.items():
            if _is_duration(duration) and name.endswith("_ms"):
                measured = (float(duration), None, None, None)
                rows.append(("detail", position, index, _stage(name), *measured))
            elif duration is not None:
                _odd("is no time in milliseconds", (*path, name), findings)
                rest[name] = duration
        if rest:
            calls[str(position)] = rest
    return rows, calls or None


_PARTS = {"summary": _summary, "details": _details}


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
    match = _STAGE.fullmatch(name)
    return match["stage"] if match else name


def _odd(message: str, keys: Keys, findings: Findings) -> None:
    findings.count("unreadable_value", f"{message}; it is kept in extras.", keys)


def read(source: Source) -> Iterator[Reading]:
    """Read one file of the memory benchmark, whose path names the run.

    Yields:
        Rows of ``memory_runs``, ``memory_tests``, ``memory_answers``,
        ``memory_invalid_questions`` and ``memory_timings``. Its records are answers.
    """
    with no_garbage_collection():
        reading = _read(source.data, PurePath(source.uri), source.limits)
    yield reading


def _read(data: bytes, path: PurePath, limits: Limits) -> Reading:
    findings = Findings(data)
    document = _decode(data, findings)
    # Counting levels of the value is faster than scanning the text.
    if len(data) > limits.max_string or depth(document, limits.max_depth) is None:
        text = data.decode("utf-8-sig", "surrogateescape")
        fault = limits.fault(text)
        if fault is not None:
            problem = Problem(
                fault.code, fault.message, line=fault.line, column=fault.column
            )
            return Reading(rows={}, problems=[problem], rejected=True)
    if findings.problems or not _is_result(document, findings):
        return Reading(rows={}, problems=findings.close(), rejected=True)
    head = read_head(document, path, findings)
    if head is None:
        return Reading(rows={}, problems=findings.close(), rejected=True)
    rounds = Rounds(head.task_id, findings)
    rounds.read(document["test_results"])
    rows = _rows(document, head, rounds, findings)
    return Reading(
        rows=rows,
        problems=findings.close(),
        records_loaded=len(rounds.answers),
        records_rejected=rounds.rejected,
        keys=[("memory", head.run_id, head.task_id)],
    )


def _decode(data: bytes, findings: Findings) -> Any:
    """Return the JSON value; ``None`` and the errors if the text is not JSON."""
    try:
        return msgspec.json.decode(data.removeprefix(BOM))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    # The last value of a repeated key is used, like in good files.
    for fault in errors_of(decode(data), allow=["duplicate_key"]):
        findings.problems.append(problem_at(lambda _: (1, 1), fault))
    findings.problems += [] if findings.problems else [_NOT_JSON]
    return None


_NOT_JSON = Problem("not_json", "not a JSON value.")


def _is_result(document: Any, findings: Findings) -> bool:
    if not isinstance(document, dict):
        findings.reject(
            "not_a_memory_result",
            f"expected an object with test_results, found {shown(document)}.",
        )
        return False
    if isinstance(document.get("test_results"), list):
        return True
    actual = (
        shown(document["test_results"]) if "test_results" in document else "no such key"
    )
    findings.reject(
        "not_a_memory_result",
        f"expected test_results, the list of rounds, found {actual}."
        " Write [] for a run without rounds.",
        ("test_results",),
    )
    return False


_INVALID = {"question_index", "question", "reason"}


def _rows(
    document: dict[str, Any], head: MemoryHead, rounds: Rounds, findings: Findings
) -> Rows:
    timings, unknown_timings = timing_rows(
        document.get("timing_summary"), ("timing_summary",), findings
    )
    head.extras["timing_summary"] = unknown_timings
    snapshots, unknown_snapshots = snapshots_by_round(
        document.get("memory_snapshots"),
        {round_head.test_index for round_head, _, _ in rounds.heads},
        ("memory_snapshots",),
        findings,
    )
    head.extras["memory_snapshots"] = unknown_snapshots
    total = head.summary.total_tests
    if total is not None and total != len(document["test_results"]):
        findings.warn(
            "rounds_missing",
            f"total_tests says {total} rounds, the file has"
            f" {len(document['test_results'])}.",
            ("test_summary", "total_tests"),
        )
    tables: Rows = {
        "memory_runs": _run_row(head),
        "memory_tests": _test_columns(rounds.heads, snapshots),
        "memory_answers": columns_of(ANSWER_COLUMNS, rounds.answers),
        "memory_invalid_questions": columns_of_rows(
            [
                {"position": place, **question.model_dump(include=_INVALID)}
                for place, question in enumerate(head.invalid_questions)
            ]
        ),
        "memory_timings": columns_of(TIMING_COLUMNS, timings),
    }
    return {
        table: {
            **columns,
            "run_id": [head.run_id] * height(columns),
            "task_id": [head.task_id] * height(columns),
        }
        for table, columns in tables.items()
        if height(columns)
    }


def _run_row(head: MemoryHead) -> Columns:
    statistics, summary = head.statistics, head.summary
    extras = {name: rest for name, rest in head.extras.items() if rest}
    row = {
        "dataset": head.dataset,
        "run_timestamp": head.run.stamp,
        "memory_system": head.run.memory_system,
        "started_at": head.run.started_at,
        "created_at": head.run.started_at,
        "total_sessions": statistics.total_sessions,
        "total_dialogs": statistics.total_dialogs,
        "total_messages": statistics.total_messages,
        "total_questions": statistics.total_questions,
        "valid_questions": statistics.valid_questions,
        "total_tests": summary.total_tests,
        "test_segments": summary.test_segments,
        "test_threshold": summary.test_threshold,
        "extras": json_text(extras),
    }
    return {name: [value] for name, value in row.items()}


def _test_columns(
    heads: Sequence[tuple[RoundHead, int, Any]], snapshots: dict[int, dict[str, Any]]
) -> Columns:
    rows = []
    for head, answers, rest in heads:
        question_range = head.question_range
        snapshot = snapshots.get(head.test_index)
        rows.append(
            {
                "test_index": head.test_index,
                "range_start": question_range.start if question_range else None,
                "range_end": question_range.end if question_range else None,
                "dialogs_inserted_count": head.dialogs_inserted_count,
                "questions": answers,
                "memory_snapshot": None if snapshot is None else json_text(snapshot),
                "extras": json_text(rest),
            }
        )
    return columns_of_rows(rows)
