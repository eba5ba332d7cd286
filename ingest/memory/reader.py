"""Read the memory benchmark: one JSON file is the run of one conversation.

An error in an answer rejects that answer, an error in the identity of a round that
round; a file that is not a result is rejected whole. Unknown fields and values of
the wrong type are stored in `extras` and named in a warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import msgspec

from promptlab.contracts.memory import RoundHead
from promptlab.ingest.memory.answers import AnswerRow
from promptlab.ingest.memory.findings import Findings, json_text
from promptlab.ingest.memory.head import MemoryHead, read_head
from promptlab.ingest.memory.rounds import Rounds
from promptlab.ingest.memory.timings import (
    TIMING_COLUMNS,
    snapshots_by_round,
    timing_rows,
)
from promptlab.ingest.raw.rows import Columns, Reading, Rows, columns_of, height
from promptlab.ingest.reading.garbage import no_garbage_collection
from promptlab.ingest.reading.limits import DEFAULT, Limits
from promptlab.ingest.reading.problems import Problem, problem_at
from promptlab.json_text.places import BOM, decode
from promptlab.json_text.reading import depth, errors_of
from promptlab.json_text.writing import shown


def read_memory(data: bytes, path: PurePath, *, limits: Limits = DEFAULT) -> Reading:
    """Read one file of the memory benchmark.

    Args:
        data: The file.
        path: Its path, if known: it names the run (``paths``).
        limits: Limits of its parts; a violation rejects the file.

    Returns:
        Rows of ``memory_runs``, ``memory_tests``, ``memory_answers``,
        ``memory_invalid_questions`` and ``memory_timings``. Its records are answers.
    """
    with no_garbage_collection():
        return _read(data, path, limits)


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
    found = (
        shown(document["test_results"]) if "test_results" in document else "no such key"
    )
    findings.reject(
        "not_a_memory_result",
        f"expected test_results, the list of rounds, found {found}."
        " Write [] for a run without rounds.",
        ("test_results",),
    )
    return False


def _rows(
    document: dict[str, Any], head: MemoryHead, rounds: Rounds, findings: Findings
) -> Rows:
    timings, left = timing_rows(
        document.get("timing_summary"), ("timing_summary",), findings
    )
    head.extras["timing_summary"] = left
    snapshots, left_over = snapshots_by_round(
        document.get("memory_snapshots"),
        {one.test_index for one, _, _ in rounds.heads},
        ("memory_snapshots",),
        findings,
    )
    head.extras["memory_snapshots"] = left_over
    total = head.summary.total_tests
    if total is not None and total != len(document["test_results"]):
        findings.warn(
            "rounds_missing",
            f"total_tests says {total} rounds, the file has"
            f" {len(document['test_results'])}.",
            ("test_summary", "total_tests"),
        )
    tables: Rows = {
        "memory_runs": _one_row(_run_row(head)),
        "memory_tests": _test_columns(rounds.heads, snapshots),
        "memory_answers": columns_of(AnswerRow._fields, rounds.answers),
        "memory_invalid_questions": columns_of(
            ("position", "question_index", "question", "reason"),
            [
                (place, one.question_index, one.question, one.reason)
                for place, one in enumerate(head.invalid_questions)
            ],
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
    }


def _run_row(head: MemoryHead) -> dict[str, Any]:
    statistics, summary = head.statistics, head.summary
    extras = {name: rest for name, rest in head.extras.items() if rest}
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
        "extras": json_text(extras),
    }


def _test_columns(
    heads: Sequence[tuple[RoundHead, int, Any]], snapshots: dict[int, dict[str, Any]]
) -> Columns:
    names = (
        "test_index",
        "range_start",
        "range_end",
        "dialogs_inserted_count",
        "questions",
        "memory_snapshot",
        "extras",
    )
    rows = []
    for head, answers, rest in heads:
        asked = head.question_range
        snapshot = snapshots.get(head.test_index)
        rows.append(
            (
                head.test_index,
                asked.start if asked else None,
                asked.end if asked else None,
                head.dialogs_inserted_count,
                answers,
                None if snapshot is None else json_text(snapshot),
                json_text(rest),
            )
        )
    return columns_of(names, rows)


def _one_row(row: dict[str, Any]) -> Columns:
    return {name: [value] for name, value in row.items()}
