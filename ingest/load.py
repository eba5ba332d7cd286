"""Files into the raw tables: whole files only, each change in one transaction.

Reading (Python) and writing (DuckDB) overlap: while one batch of files is written, the
next is read. A batch is one transaction, so a killed process leaves whole files only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.files import Found
from ingest.known import (
    Known,
    Outcome,
    known_files,
    known_pipelines,
    versions_of,
)
from ingest.problems import Problem
from ingest.readers import Source, read
from ingest.reading import Key, Reading
from ingest.write import ReadFile, write_batch
from promptlab.contracts.pipeline import Pipeline
from promptlab.errors import InputError

if TYPE_CHECKING:
    import duckdb

BATCH_BYTES = 64 << 20
BATCH_FILES = 1000

OnProgress = Callable[[Path, int], None]
"""Called after each file with its path and size."""


@dataclass
class FileLoad:
    """What became of one file."""

    path: Path
    kind: str
    status: str
    """loaded, unchanged, rejected, skipped, purged"""
    problems: list[Problem] = field(default_factory=list)
    records_loaded: int = 0
    records_rejected: int = 0
    keys: list[Key] = field(default_factory=list)
    message: str | None = None


def read_files(
    planned: Iterable[tuple[Found, str | None]],
) -> Iterator[tuple[Source, Reading]]:
    """Read every planned file of a known kind; nothing is written."""
    pipelines: list[Pipeline] = []
    for found, kind in planned:
        if kind is not None:
            source = _source(found, pipelines)
            reading = read(kind, source)
            pipelines += _pipelines_in(reading)
            yield source, reading


def ingest(
    con: duckdb.DuckDBPyConnection,
    planned: Sequence[tuple[Found, str | None]],
    *,
    ingest_version: str,
    testset: str | None = None,
    purged_too: bool = False,
    on_progress: OnProgress = lambda _path, _size: None,
) -> list[FileLoad]:
    """Load the planned files into the raw tables.

    Args:
        con: a connection that may write; the raw tables are there.
        planned: what ``plan`` found.
        ingest_version: of promptlab, kept with every load.
        testset: testset of every task loaded here, whatever the files say.
        purged_too: load files again that were purged.
        on_progress: called after each file.

    Returns:
        One ``FileLoad`` per file, in the order they were read.
    """
    known = known_files(con, purged_too=purged_too)
    pipelines = known_pipelines(con)
    loads: list[FileLoad] = []
    with ThreadPoolExecutor(max_workers=1) as writer:
        writing: Future[None] | None = None
        for batch in _batches(
            _pending(planned, known, pipelines, testset, loads, on_progress)
        ):
            if writing is not None:
                writing.result()
            writing = writer.submit(
                write_batch, con, batch, ingest_version=ingest_version
            )
        if writing is not None:
            writing.result()
    return loads


def _source(
    found: Found, pipelines: Sequence[Pipeline], *, with_data: bool = True
) -> Source:
    try:
        data = found.path.read_bytes() if with_data else b""
        modified = datetime.fromtimestamp(found.path.stat().st_mtime, UTC)
    except OSError as error:
        raise _unreadable(found, error) from None
    return Source(
        data=data,
        name=found.name,
        path=found.path,
        uri=found.path.resolve().as_posix(),
        modified_at=modified,
        pipelines=pipelines,
    )


def _sha256(found: Found, source: Source) -> str:
    if source.data:
        return hashlib.sha256(source.data).hexdigest()
    try:
        with found.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(found, error) from None


def _unreadable(found: Found, error: OSError) -> InputError:
    return InputError(f"{found.path}: cannot be read: {error.strerror or error}")


def _pending(
    planned: Iterable[tuple[Found, str | None]],
    known: Known,
    pipelines: list[Pipeline],
    testset: str | None,
    loads: list[FileLoad],
    on_progress: OnProgress,
) -> Iterator[ReadFile]:
    for found, kind in planned:
        started_at = datetime.now(UTC)
        source = _source(found, pipelines, with_data=kind is not None)
        sha256 = _sha256(found, source)
        versions = versions_of(kind or "unknown", source, sha256, testset)
        load = FileLoad(found.path, kind or "unknown", "loaded")
        loads.append(load)
        before = known.find(*versions)
        if before is not None:
            told_again = before.status in {"rejected", "skipped", "purged"}
            load.status = before.status if told_again else "unchanged"
            load.problems = before.problems
            load.records_loaded = before.records_loaded
            load.records_rejected = before.records_rejected
        else:
            reading = Reading(rows={}) if kind is None else read(kind, source)
            pipelines += _pipelines_in(reading)
            _describe(load, reading, kind)
            outcome = Outcome(
                load.status, load.problems, load.records_loaded, load.records_rejected
            )
            known.add(versions, outcome)
            yield ReadFile(
                kind=load.kind,
                status=load.status,
                message=load.message,
                source=source,
                reading=reading,
                sha256=sha256,
                testset=versions[0].testset,
                started_at=started_at,
                finished_at=datetime.now(UTC),
            )
        on_progress(found.path, found.path.stat().st_size)


def _pipelines_in(reading: Reading) -> list[Pipeline]:
    written = reading.rows.get("pipelines", {}).get("raw_data", ())
    return [Pipeline.model_validate_json(raw_data) for raw_data in written]


def _describe(load: FileLoad, reading: Reading, kind: str | None) -> None:
    load.problems = reading.problems
    load.records_loaded = reading.records_loaded
    load.records_rejected = reading.records_rejected
    load.keys = reading.keys
    if kind is None:
        load.status = "skipped"
        load.message = "of no known kind"
    elif reading.rejected:
        load.status = "rejected"
        first = next((p for p in reading.problems if p.severity == "reject"), None)
        load.message = first.message if first else "nothing could be read"


def _batches(pending: Iterator[ReadFile]) -> Iterator[list[ReadFile]]:
    """Batches of bounded size in which no object appears twice."""
    batch: list[ReadFile] = []
    size, keys = 0, set[Key]()
    for one in pending:
        if batch and (
            size + len(one.source.data) > BATCH_BYTES
            or len(batch) >= BATCH_FILES
            or not keys.isdisjoint(one.reading.keys)
        ):
            yield batch
            batch, size, keys = [], 0, set()
        batch.append(one)
        size += len(one.source.data)
        keys.update(one.reading.keys)
    if batch:
        yield batch
