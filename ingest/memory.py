"""The memory benchmark: one JSON file, the run of one conversation, into raw rows.

A fault in one answer rejects that answer, a fault in a round's frame that round; a file
that is no result at all is rejected whole. Whatever the format does not know, or has
another type than it should, is kept in `extras` and named in a warning.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from pathlib import PurePath
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from ingest.faults import faults, shown
from ingest.json_reader import JsonReader
from ingest.locomo_form import answer_parts, reference_parts
from ingest.memory_findings import Findings, Keys, json_text
from ingest.memory_paths import RunName, run_name
from ingest.memory_rows import MemoryRows, TaskKey
from ingest.memory_timings import add_timings
from ingest.reading import Reading
from promptlab.contracts.memory import (
    DatasetStatistics,
    ExperimentInfo,
    InvalidQuestion,
    Question,
    RoundHead,
    TestSummary,
)

Model = TypeVar("Model", bound=BaseModel)

FAILED_ANSWER = "[ERROR]"
_KNOWN_TOP_KEYS = {
    "experiment_info",
    "dataset_statistics",
    "test_summary",
    "test_results",
    "timing_summary",
    "memory_snapshots",
}


def read_memory(data: bytes, path: PurePath) -> Reading:
    """Read one file of the memory benchmark.

    Args:
        data: The file.
        path: Where it lies, as long as it is known: names the run (`memory_paths`).

    Returns:
        Rows of ``memory_runs``, ``memory_tests``, ``memory_answers``,
        ``memory_invalid_questions`` and ``memory_timings``. Records are answers.
    """
    findings = Findings(data)
    document = _decode(data, findings)
    if document is not None and _is_result(document, findings):
        return _File(document, path, findings).read()
    return Reading(rows={}, problems=findings.close(), rejected=True)


def _decode(data: bytes, findings: Findings) -> Any:
    """Return the JSON value; ``None``, with problems, where there is none."""
    try:
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    reader = JsonReader()
    for line in data.decode("utf-8-sig", "surrogateescape").split("\n"):
        if not reader.complete and not reader.broken:
            reader.feed(line)
    reader.finish()
    # A key twice is a fault of testsets; here, as in the good case, one of them counts.
    faulty = [each for each in reader.problems if each.code != "duplicate_key"]
    findings.problems.extend(faulty)
    if not faulty:
        findings.problems.append(_not_json())
    return None


def _not_json() -> Any:
    from ingest.problems import Problem

    return Problem(
        "not_json", "not one JSON value; expected one result object.", line=1, column=1
    )


def _is_result(document: Any, findings: Findings) -> bool:
    if not isinstance(document, dict):
        findings.reject(
            "not_a_memory_result",
            f"expected an object with test_results, found {shown(document)}.",
        )
        return False
    if not isinstance(document.get("test_results"), list):
        found = shown(document.get("test_results"))
        findings.reject(
            "not_a_memory_result",
            "expected test_results, the list of rounds, found"
            f" {found if 'test_results' in document else 'no such key'}."
            " Write [] for a run without rounds.",
            ("test_results",),
        )
        return False
    return True
