"""Input formats: the kind of a file from its content, and the reader of each kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from promptlab.ingest.foreign.registry import TOOLS
from promptlab.ingest.raw.rows import Reading
from promptlab.ingest.reading.source import Source
from promptlab.json_text.places import BOM, members

HEAD_BYTES = 1 << 20
"""Number of bytes that are examined."""

_PIPELINE = re.compile(rb"^steps[ \t]*:", re.MULTILINE)
# Each determines the kind, so the rest need not be read.
_TELLING = {b"case_results", b"cases", b"test_results", b"experiment_info"}
_OF_TESTS = re.compile(
    "(?:inputs|step_inputs|batch_items|intermediate_expectations|expected(?:_.*)?)$"
)
"""Keys of inputs and expectations: an ``id`` alone is in files of many kinds."""


def recognise(head: bytes) -> str | None:
    """Return the kind of a file from its first bytes; ``None`` if unknown.

    Args:
        head: the first ``HEAD_BYTES`` bytes, or the whole of a smaller file, without
            comments.
    """
    head = head.removeprefix(BOM)
    if b"\0" in head[:4096]:
        return None
    start = len(head) - len(head.lstrip())
    if head[start : start + 1] in (b"{", b"["):
        return _kind_of_keys(_keys_of_first_object(head, start)) or _kind_of_lines(head)
    if _PIPELINE.search(head):
        return "pipeline"
    return _kind_of_lines(head)


def _kind_of_lines(head: bytes) -> str | None:
    """Decide by the first line that looks like a record."""
    for line in head.split(b"\n")[:1000]:
        if line.lstrip()[:1] == b"{":
            kind = _kind_of_keys(_keys_of_first_object(line, line.index(b"{")))
            if kind in {"testset", "results", "scores"}:
                return kind
    return None


def _keys_of_first_object(head: bytes, start: int) -> set[str]:
    """Return the top keys of the first object, up to one that determines the kind."""
    keys: set[str] = set()
    for key, _ in members(head, start):
        keys.add(key.decode("utf-8", "replace"))
        if key in _TELLING:
            break
    return keys


def _kind_of_keys(keys: set[str]) -> str | None:
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
