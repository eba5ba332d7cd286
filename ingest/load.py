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
from ingest.problems import Problem
from ingest.readers import Source, read
from ingest.reading import Reading
from ingest.write import ReadFile, write_batch
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
    """loaded, unchanged, rejected, skipped"""
    problems: list[Problem] = field(default_factory=list)
    records_loaded: int = 0
    records_rejected: int = 0
    keys: list[tuple[str, str]] = field(default_factory=list)
    message: str | None = None


@dataclass(frozen=True)
class _Identity:
    """What makes two readings of a file the same load."""

    kind: str
    source_name: str
    sha256: str
    testset: str | None


def read_files(
    planned: Iterable[tuple[Found, str | None]],
    *,
    known_pipelines: dict[str, list[str]] | None = None,
) -> Iterator[tuple[Source, str, Reading]]:
    """Read every planned file of a known kind; nothing is written."""
    pipelines = dict(known_pipelines or {})
    for found, kind in planned:
        if kind is None:
            continue
        source = _source(found)
        yield source, kind, read(kind, source, pipelines)


def ingest(
    con: duckdb.DuckDBPyConnection,
    planned: Sequence[tuple[Found, str | None]],
    *,
    ingest_version: str,
    testset: str | None = None,
    on_progress: OnProgress = lambda path, size: None,
) -> list[FileLoad]:
    """Load the planned files into the raw tables.

    Args:
        con: a connection that may write; the raw tables are there.
        planned: what ``plan`` found.
        ingest_version: of promptlab, kept with every load.
        testset: testset of every task loaded here, whatever the files say.
        on_progress: called after each file.

    Returns:
        One ``FileLoad`` per file, in the order they were read.
    """
    known = _known_loads(con)
    pipelines = _known_pipelines(con)
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


def _source(found: Found) -> Source:
    try:
        data = found.path.read_bytes()
        modified = datetime.fromtimestamp(found.path.stat().st_mtime, UTC)
    except OSError as error:
        raise InputError(
            f"{found.path}: cannot be read: {error.strerror or error}"
        ) from None
    return Source(
        data=data,
        name=found.name,
        path=found.path,
        uri=found.path.resolve().as_posix(),
        modified_at=modified,
    )


def _pending(
    planned: Iterable[tuple[Found, str | None]],
    known: dict[_Identity, tuple[str, list[Problem]]],
    pipelines: dict[str, list[str]],
    testset: str | None,
    loads: list[FileLoad],
    on_progress: OnProgress,
) -> Iterator[ReadFile]:
    for found, kind in planned:
        started_at = datetime.now(UTC)
        source = _source(found)
        sha256 = hashlib.sha256(source.data).hexdigest()
        identity = _identity(kind or "unknown", source, sha256, testset)
        load = FileLoad(found.path, kind or "unknown", "loaded")
        loads.append(load)
        if identity in known:
            status, problems = known[identity]
            load.status = "unchanged" if status == "loaded" else status
            load.problems = problems
        else:
            reading = (
                Reading(rows={}) if kind is None else read(kind, source, pipelines)
            )
            _describe(load, reading, kind)
            known[identity] = (load.status, load.problems)
            yield ReadFile(
                kind=load.kind,
                status=load.status,
                message=load.message,
                source=source,
                reading=reading,
                sha256=sha256,
                testset=identity.testset,
                started_at=started_at,
                finished_at=datetime.now(UTC),
            )
        on_progress(found.path, len(source.data))


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


def _identity(kind: str, source: Source, sha256: str, testset: str | None) -> _Identity:
    # what these say does not depend on where they lie
    anywhere = kind in {"analysis", "scores", "pipeline"}
    takes_testset = kind in {"analysis", "results"}
    return _Identity(
        kind,
        "" if anywhere else source.name if kind != "unknown" else source.uri,
        sha256,
        testset if takes_testset else None,
    )


def _batches(pending: Iterator[ReadFile]) -> Iterator[list[ReadFile]]:
    """Batches of bounded size in which no object appears twice."""
    batch: list[ReadFile] = []
    size, keys = 0, set[tuple[str, str]]()
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


def _known_loads(
    con: duckdb.DuckDBPyConnection,
) -> dict[_Identity, tuple[str, list[Problem]]]:
    problems: dict[int, list[Problem]] = {}
    for load_id, *fields in con.execute(
        'select load_id, code, message, severity, "line", "column", record_id, pointer'
        " from raw.rejects order by load_id, rowid"
    ).fetchall():
        problems.setdefault(load_id, []).append(Problem(*fields))
    rows = con.execute(
        "select load_id, kind, source_name, sha256, testset_override, status, file_uri"
        " from raw.loads where status <> 'replaced' order by load_id"
    ).fetchall()
    known = {}
    for load_id, kind, name, sha256, testset, status, uri in rows:
        anywhere = kind in {"analysis", "scores", "pipeline"}
        place = "" if anywhere else uri if kind == "unknown" else name
        known[_Identity(kind, place, sha256, testset)] = (
            status,
            problems.get(load_id, []),
        )
    return known


def _known_pipelines(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    rows = con.execute(
        "select coalesce(default_testset, ''), step_id from raw.pipelines"
        " join raw.pipeline_steps using (pipeline_id) order by pipeline_id, position"
    ).fetchall()
    steps: dict[str, list[str]] = {}
    for testset, step_id in rows:
        steps.setdefault(testset, []).append(step_id)
    return steps
