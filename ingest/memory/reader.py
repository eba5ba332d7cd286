"""Read the memory benchmark: one JSON file is the run of one conversation.

An error in an answer rejects that answer, an error in the identity of a round that
round; a file that is not a result is rejected whole. Unknown fields and values of
the wrong type are stored in `extras` and named in a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from promptlab.contracts.memory_run import MOST, OperationTimings
from promptlab.ingest.memory.head import MemoryHead, read_head
from promptlab.ingest.memory.rounds import ANSWER_COLUMNS, Rounds
from promptlab.ingest.memory.tolerant import FileProblems, add_extra
from promptlab.ingest.raw.rows import (
    Reading,
    Rows,
    columns_of,
    columns_of_rows,
    height,
)
from promptlab.ingest.reading.problems import Problem, problem_at
from promptlab.ingest.reading.source import Limits, Source, no_garbage_collection
from promptlab.json_text.places import BOM, decode
from promptlab.json_text.reading import depth, errors_of
from promptlab.json_text.writing import compact, shown

_STAGE = re.compile(r"(?P<stage>.+?)(_insert|_retrieval)?_ms")
"""pre_insert_ms, memory_retrieval_ms, … repeat their operation and unit."""

_TIMING_COLUMNS = (
    *("operation", "grain", "position", "test_index", "stage"),
    *("duration_ms", "min_ms", "max_ms", "count"),
)


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
    problems = FileProblems(data)
    document = _decode(data, problems)
    # Counting levels of the value is faster than scanning the text.
    if len(data) > limits.max_string or depth(document, limits.max_depth) is None:
        text = decode(data)
        fault = limits.fault(text)
        if fault is not None:
            problem = Problem(
                fault.code, fault.message, line=fault.line, column=fault.column
            )
            return Reading(rows={}, problems=[problem], rejected=True)
    if problems.problems or not _is_result(document, problems):
        return Reading(rows={}, problems=problems.close(), rejected=True)
    head = read_head(document, path, problems)
    if head is None:
        return Reading(rows={}, problems=problems.close(), rejected=True)
    rounds = Rounds(head.task_id, problems)
    rounds.read(document["test_results"])
    n_rounds = len(document["test_results"])
    n_named = head.file.test_summary.total_tests
    if n_named is not None and n_named != n_rounds:
        problems.warn(
            "rounds_missing",
            f"total_tests says {n_named} rounds, the file has {n_rounds}.",
            ("test_summary", "total_tests"),
        )
    return Reading(
        rows=_rows(head, rounds, problems),
        problems=problems.close(),
        records_loaded=len(rounds.answers),
        records_rejected=rounds.rejected,
        keys=[("memory", head.run_id, head.task_id)],
    )


def _decode(data: bytes, problems: FileProblems) -> Any:
    """Return the JSON value; ``None`` and the errors if the text is not JSON."""
    try:
        return msgspec.json.decode(data.removeprefix(BOM))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    # The last value of a repeated key is used, like in good files.
    for fault in errors_of(decode(data), allow=["duplicate_key"]):
        problems.problems.append(problem_at(lambda _: (1, 1), fault))
    problems.problems += [] if problems.problems else [_NOT_JSON]
    return None


_NOT_JSON = Problem("not_json", "not a JSON value.")


def _is_result(document: Any, problems: FileProblems) -> bool:
    if not isinstance(document, dict):
        problems.reject(
            "not_a_memory_result",
            f"expected an object with test_results, found {shown(document)}.",
        )
        return False
    if isinstance(document.get("test_results"), list):
        return True
    actual = (
        shown(document["test_results"]) if "test_results" in document else "no such key"
    )
    problems.reject(
        "not_a_memory_result",
        f"expected test_results, the list of rounds, found {actual}."
        " Write [] for a run without rounds.",
        ("test_results",),
    )
    return False


def _rows(head: MemoryHead, rounds: Rounds, problems: FileProblems) -> Rows:
    snapshots = _snapshots_by_round(head, rounds, problems)
    tables: Rows = {
        "memory_runs": columns_of_rows([_run_row(head)]),
        "memory_tests": columns_of_rows(list(_test_rows(rounds, snapshots))),
        "memory_answers": columns_of(ANSWER_COLUMNS, rounds.rows()),
        "memory_invalid_questions": columns_of_rows(
            [
                {
                    "position": place,
                    **{name: getattr(question, name) for name in _INVALID},
                }
                for place, question in enumerate(
                    head.file.dataset_statistics.invalid_questions
                )
            ]
        ),
        "memory_timings": columns_of(_TIMING_COLUMNS, list(_timing_rows(head))),
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


_INVALID = ("question_index", "question", "reason")


def _run_row(head: MemoryHead) -> dict[str, Any]:
    statistics, summary = head.file.dataset_statistics, head.file.test_summary
    return {
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
        "extras": compact(head.extras),
    }


def _test_rows(
    rounds: Rounds, snapshots: Mapping[int, dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    for head, answers, extras in rounds.heads:
        question_range = head.question_range
        snapshot = snapshots.get(head.test_index)
        yield {
            "test_index": head.test_index,
            "range_start": question_range.start if question_range else None,
            "range_end": question_range.end if question_range else None,
            "dialogs_inserted_count": head.dialogs_inserted_count,
            "questions": answers,
            "memory_snapshot": None if snapshot is None else compact(snapshot),
            "extras": compact(extras),
        }


def _snapshots_by_round(
    head: MemoryHead, rounds: Rounds, problems: FileProblems
) -> dict[int, dict[str, Any]]:
    """Return the state of the memory in each round; any other becomes an extra."""
    indexes = {round_head.test_index for round_head, _, _ in rounds.heads}
    snapshots: dict[int, dict[str, Any]] = {}
    for place, snapshot in enumerate(head.file.memory_snapshots):
        index = snapshot.get("test_index")
        is_number = type(index) is int and abs(index) <= MOST
        if is_number and index in indexes and index not in snapshots:
            snapshots[index] = {k: v for k, v in snapshot.items() if k != "test_index"}
        elif snapshot:
            keys = ("memory_snapshots", place)
            problems.unreadable("belongs to no round, or to one that has its own", keys)
            add_extra(head.extras, keys, snapshot)
    return snapshots


def _timing_rows(head: MemoryHead) -> Iterator[tuple[Any, ...]]:
    timings = head.file.timing_summary
    if timings is None:
        return
    for operation, times in (
        ("insert", timings.insert_timings),
        ("retrieval", timings.retrieval_timings),
    ):
        for row in _rows_of_operation(times) if times else ():
            yield operation, *row


def _rows_of_operation(times: OperationTimings) -> Iterator[tuple[Any, ...]]:
    for position, (name, stage) in enumerate(times.summary.items()):
        measured = (stage.avg_ms, stage.min_ms, stage.max_ms, stage.count)
        yield "summary", position, None, _stage(name), *measured
    for position, call in enumerate(times.details):
        for name, duration in call.stages.items():
            measured = (duration, None, None, None)
            yield "detail", position, call.test_index, _stage(name), *measured


def _stage(name: str) -> str:
    match = _STAGE.fullmatch(name)
    return match["stage"] if match else name
