"""One batch of a file, and its rows in the raw layer.

The same rows are written to DuckDB tables and to Parquet files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from promptlab.ingest.raw.catalogue import BY_NAME
from promptlab.ingest.raw.rows import Reading, columns_of

if TYPE_CHECKING:
    from promptlab.ingest.raw.rows import Columns, Key
    from promptlab.ingest.reading.problems import Problem
    from promptlab.ingest.reading.source import Source


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """Rows and problems of a file, or of a part of a large file, to be written."""

    kind: str
    status: str
    """loaded, rejected or skipped."""
    message: str | None
    source: Source
    reading: Reading
    sha256: str
    testset: str | None
    """The testset named on the command line, if the kind supports it."""
    read_with: str
    """The settings that affect the reading of the file."""
    redacted: Mapping[str, int]
    """Rule → redacted values in the whole file; only its last batch has it."""
    started_at: datetime
    finished_at: datetime
    more: bool = False
    """More batches of this file follow."""
    abandoned: bool = False
    """The file was abandoned: its earlier batches must be deleted."""


def added(before: Reading | None, reading: Reading) -> Reading:
    """Add up the keys and counts of a file's batches, without rows and problems."""
    before = before or Reading(rows={})
    return Reading(
        rows={},
        records_loaded=before.records_loaded + reading.records_loaded,
        records_rejected=before.records_rejected + reading.records_rejected,
        keys=before.keys + reading.keys,
    )


def with_load(table: str, columns: Columns, load_id: int, uri: str) -> Columns:
    """Return rows of a raw table with ``load_id``, and ``file_uri`` if it has one."""
    n = len(next(iter(columns.values())))
    file_uri = {"file_uri": [uri] * n} if BY_NAME[table].has_file else {}
    return {"load_id": [load_id] * n, **file_uri, **columns}


def reject_columns(numbered: Sequence[tuple[int, ReadBatch]]) -> Columns:
    """Return rows of ``raw.rejects``: every problem of these files, by load."""
    return problem_columns(
        [
            (load_id, one.source.uri, problem)
            for load_id, one in numbered
            for problem in one.reading.problems
        ]
    )


def problem_columns(rows: Sequence[tuple[int, str, Problem]]) -> Columns:
    """Return rows of ``raw.rejects`` from load ids, file URIs and problems."""
    return {
        "load_id": [load_id for load_id, _, _ in rows],
        "file_uri": [uri for _, uri, _ in rows],
        **{
            name: [getattr(p, name) for _, _, p in rows]
            for name in (
                "line",
                "column",
                "record_id",
                "pointer",
                "severity",
                "code",
                "message",
                "raw_text",
            )
        },
    }


def redaction_columns(numbered: Sequence[tuple[int, ReadBatch]]) -> Columns:
    """Return rows of ``raw.redactions``: replaced values per rule and load."""
    rows = [
        (load_id, rule, count)
        for load_id, one in numbered
        for rule, count in sorted(one.redacted.items())
    ]
    return columns_of(("load_id", "rule", "n_values"), rows)


def _replaced_by(reading: Reading, replaced: set[Key]) -> list[Key]:
    """Return the objects that a file replaced, and what it changed of them."""
    own = [key for key in reading.keys if key in replaced]
    keys = set(own)
    changed = [key for key in replaced if key[:2] in keys and key not in keys]
    return own + sorted(changed)


def load_columns(
    numbered: Sequence[tuple[int, ReadBatch]],
    readings: Sequence[Reading],
    replaced: set[Key],
    ingest_version: str,
    ingest_id: int,
) -> Columns:
    """Return rows of ``raw.loads``, one per file.

    Args:
        numbered: load id and file.
        readings: keys and counts of each whole file.
        replaced: objects with earlier live rows.
        ingest_version: version of promptlab.
        ingest_id: first load of this call.
    """

    def ids(keys: Iterable[Key]) -> str:
        return json.dumps(["|".join(key[1:]) for key in keys], ensure_ascii=False)

    files = [one for _, one in numbered]
    return {
        "load_id": [load_id for load_id, _ in numbered],
        "file_uri": [one.source.uri for one in files],
        "kind": [one.kind for one in files],
        "source_name": [one.source.name for one in files],
        "sha256": [one.sha256 for one in files],
        "bytes": [one.source.size for one in files],
        "status": [one.status for one in files],
        "rows_loaded": [reading.records_loaded for reading in readings],
        "rows_rejected": [reading.records_rejected for reading in readings],
        "replaced": [ids(_replaced_by(r, replaced)) for r in readings],
        "testset_override": [one.testset for one in files],
        "message": [one.message for one in files],
        "started_at": [one.started_at for one in files],
        "finished_at": [one.finished_at for one in files],
        "ingest_version": [ingest_version] * len(files),
        "read_with": [one.read_with for one in files],
        "objects": [ids(reading.keys) for reading in readings],
        "runs": [
            json.dumps(one.reading.runs, ensure_ascii=False)
            if one.reading.runs
            else None
            for one in files
        ],
        "ingest_id": [ingest_id] * len(files),
    }
