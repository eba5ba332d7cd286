"""Input formats: the kind of a file from its content, and the reader of each kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.registry import TOOLS
from promptlab.ingest.raw.rows import Reading
from promptlab.ingest.reading.source import Source

HEAD_BYTES = 1 << 20
"""Number of bytes that are examined."""

_PIPELINE = re.compile(rb"^steps[ \t]*:", re.MULTILINE)
# Each determines the kind, so the rest need not be read.
_TELLING = {"case_results", "cases", "test_results", "experiment_info"}
_OF_TESTS = re.compile(
    "(?:inputs|step_inputs|batch_items|intermediate_expectations|expected(?:_.*)?)$"
)
"""Keys of inputs and expectations: an ``id`` alone is in files of many kinds."""


def recognise(head: Head) -> str | None:
    """Return the kind of a file of ours from its beginning; ``None`` if unknown."""
    if b"\0" in head.data[:4096]:
        return None
    if head.is_json:
        return _kind_of_keys(head) or _kind_of_lines(head.data)
    if _PIPELINE.search(head.data):
        return "pipeline"
    return _kind_of_lines(head.data)


def _kind_of_lines(data: bytes) -> str | None:
    """Decide by the first line that looks like a record."""
    for line in data.split(b"\n")[:1000]:
        if line.lstrip()[:1] == b"{":
            kind = _kind_of_keys(Head(line))
            if kind in {"testset", "results", "scores"}:
                return kind
    return None


def _kind_of_keys(head: Head) -> str | None:
    """Decide by the top keys of the first object, up to one that determines it."""
    keys: set[str] = set()
    for key in head.first_object:
        keys.add(key)
        if key in _TELLING:
            break
    if "case_results" in keys:  # an AnalysisResult is output, not input
        return None
    if "cases" in keys or {"task", "dimensions"} <= keys:
        return "analysis"
    if "test_results" in keys or "experiment_info" in keys:
        return "memory"
    if {"task_id", "case_id", "dimension_id"} <= keys:
        return "scores"
    if "sample_id" in keys:
        return "results"
    if {"id", "entity_id", "variant"} <= keys:  # a result with sample_id written as id
        return "results"
    if "id" in keys and any(map(_OF_TESTS.match, keys)):
        return "testset"
    return None


_MODULES = {
    "pipeline": "pipelines",
    "testset": "testsets",
    "analysis": "analysis.reader",
    "results": "results",
    **dict.fromkeys(TOOLS, "foreign.reading"),
    "scores": "scores",
    "labels": "labels",
    "memory": "memory.reader",
}
"""Kind → the module whose function ``read`` turns a source into readings."""

KINDS = tuple(_MODULES)
"""Kinds in reading order: testsets are checked against the steps of pipelines."""


def read_batches(kind: str, source: Source) -> Iterator[Reading]:
    """Read one file of a known kind, in batches.

    Yields:
        At least one reading; a key is in the first reading with its rows.
    """
    # imported here, so that commands that read nothing start faster
    reader: Any = import_module(f"promptlab.ingest.{_MODULES[kind]}")
    return iter(reader.read(kind, source) if kind in TOOLS else reader.read(source))


LINE_KINDS = frozenset({"testset", "results", "scores"})
"""Kinds whose files may be JSONL, which is read in blocks."""
