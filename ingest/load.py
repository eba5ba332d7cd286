"""Load files into the raw tables: whole files only, each change in one transaction.

Reading (Python) and writing (DuckDB) overlap: the next batch of files is read while one
is written. A batch is one transaction, so a killed process leaves whole files only. A
JSONL file larger than a block is read in its own batches, all in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.ingest.across_files import (
    References,
    add_problems,
    same_ids,
    testsets_by_cases,
)
from promptlab.ingest.file_reader import FileReader, OnProgress
from promptlab.ingest.files.finding import FoundFile
from promptlab.ingest.files.redaction import Mode
from promptlab.ingest.raw import judged
from promptlab.ingest.raw.live import LiveModel, ensure_live, refresh
from promptlab.ingest.raw.load_log import Known, known_files, known_pipelines
from promptlab.ingest.raw.replaced import replacements
from promptlab.ingest.raw.requests import newest_moment
from promptlab.ingest.raw.rows import FileLoad, ReadBatch, Reading, problem_columns
from promptlab.ingest.raw.tables import append
from promptlab.ingest.raw.write import Writer
from promptlab.ingest.reading.source import DEFAULT, Limits
from promptlab.relations import transaction

if TYPE_CHECKING:
    from concurrent.futures import Future

    import duckdb


BATCH_BYTES = 16 << 20
BATCH_FILES = 1000

_CHECKPOINT = "256MB"
"""Size of the write-ahead log that DuckDB moves into the file. Each time it also writes
the last row group of every table again; a load up to this size writes each once."""


def read_files(
    planned: Iterable[tuple[FoundFile, str | None]],
    *,
    limits: Limits = DEFAULT,
    redact: Mode = "off",
) -> Iterator[tuple[Path, Reading]]:
    """Read every planned file of a known kind; nothing is written.

    Yields:
        The readings of each file, in batches; at the end the problems that need all
        files.
    """
    reader = FileReader(Known(), [], None, limits, redact)
    wanted = [(file, kind) for file, kind in planned if kind or file.fault]
    for one in reader.read_all(wanted):
        yield one.load.path, one.reading
    for path, problem in same_ids(reader.loads):
        yield path, Reading(rows={}, problems=[problem])


def ingest(
    con: duckdb.DuckDBPyConnection,
    planned: Sequence[tuple[FoundFile, str | None]],
    live_models: Sequence[LiveModel],
    *,
    ingest_version: str,
    testset: str | None = None,
    purged_too: bool = False,
    limits: Limits = DEFAULT,
    redact: Mode = "off",
    on_progress: OnProgress = lambda _path, _size: None,
) -> list[FileLoad]:
    """Load the planned files into the raw tables.

    Args:
        con: a connection that may write; the raw tables exist.
        planned: the files from ``plan``.
        live_models: compiled models of the schema `live`.
        ingest_version: version of promptlab, stored with every load.
        testset: testset of every task loaded here, whatever the files say.
        purged_too: load files again that were purged.
        limits: limits of an input.
        redact: values to replace before anything is stored.
        on_progress: called after each file.

    Returns:
        One ``FileLoad`` per file, in the order they were read.
    """
    from concurrent.futures import ThreadPoolExecutor

    con.execute(f"set checkpoint_threshold = '{_CHECKPOINT}'")
    ensure_live(con, live_models)
    known = known_files(con, planned, purged_too=purged_too)
    newest = newest_moment(con)
    reader = FileReader(known, known_pipelines(con), testset, limits, redact)
    references = References(testset)
    writer = Writer(con, ingest_version)
    with ThreadPoolExecutor(max_workers=1) as thread:
        writing: Future[None] | None = None
        try:
            for batch in _batches(reader.read_all(planned, newest, on_progress)):
                for one in batch:
                    references.see(one)
                if writing is not None:
                    writing.result()
                writing = thread.submit(writer.write, batch)
            if writing is not None:
                writing.result()
        except BaseException:
            thread.submit(writer.give_up)
            raise
    if any(load.load_id for load in reader.loads):
        refresh(con, live_models)
        _conclude(con, writer.first_load_id, reader.loads, references)
    return reader.loads


def _conclude(
    con: duckdb.DuckDBPyConnection,
    first_load_id: int,
    loads: Sequence[FileLoad],
    references: References,
) -> None:
    """Store the judged answers, and the problems that need all files of a call."""
    paths = {load.load_id: load.path for load in loads}
    with transaction(con):
        references.know(con)
        told = [
            *replacements(con, first_load_id, [load.uri for load in loads]),
            *judged.note(con, first_load_id),
        ]
        problems = add_problems(
            loads,
            [
                *((paths[load_id], problem) for load_id, problem in told),
                *testsets_by_cases(con, loads),
                *same_ids(loads),
                *references.unmet(),
            ],
        )
        append(con, "rejects", [problem_columns(problems)])


def _batches(pending: Iterator[ReadBatch]) -> Iterator[list[ReadBatch]]:
    """Yield batches of bounded size; a file with its own batches is not grouped."""
    batch: list[ReadBatch] = []
    size = 0
    is_open, stays_alone = False, False
    for one in pending:
        if batch and (
            one.more
            or stays_alone
            or size + one.load.size > BATCH_BYTES
            or len(batch) >= BATCH_FILES
        ):
            yield batch
            batch, size = [], 0
        batch.append(one)
        stays_alone = one.more or one.withdrawn or is_open
        is_open = one.more
        size += one.load.size
    if batch:
        yield batch
