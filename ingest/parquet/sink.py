"""Load files into the Parquet layer; known files are skipped.

A shard of files is flattened to Parquet parts by a pure function: the same shard
produces the same files at the same paths, so a task that is lost or run twice changes
nothing; its files are ignored until the layer's manifest names them. The caller's
``map`` decides where: here, in a pool of processes, or as tasks of Spark. Commits are
made here, in the order of the files.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from multiprocessing import parent_process
from typing import TYPE_CHECKING, Any

from promptlab.contracts.testset import Pipeline
from promptlab.errors import UsageError, WarehouseError
from promptlab.ingest.across_files import References, add_problems, same_ids
from promptlab.ingest.file_reader import FileReader, OnProgress
from promptlab.ingest.files.finding import FoundFile
from promptlab.ingest.files.redaction import Mode
from promptlab.ingest.parquet.layer import ParquetLayer, frame_of
from promptlab.ingest.raw.live import LiveModel
from promptlab.ingest.raw.load_log import Known, known_files, known_pipelines
from promptlab.ingest.raw.rows import (
    EPOCH,
    FileLoad,
    ReadBatch,
    height,
    load_columns,
    object_columns,
    problem_columns,
    redaction_columns,
    with_load,
)
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import DEFAULT, Limits
from promptlab.ingest.times_of_runs import load_starts

if TYPE_CHECKING:
    import duckdb


SHARD_BYTES = 64 << 20
SHARD_FILES = 1000


ShardFile = tuple[int, FoundFile, "str | None"]
"""A load id, the file that becomes this load, and its kind."""


@dataclass(frozen=True)
class Shard:
    """Files for one worker, and all options of reading."""

    layer: ParquetLayer
    files: Sequence[ShardFile]
    known: Known
    pipelines: Sequence[Pipeline]
    testset: str | None
    limits: Limits
    redact: Mode
    began: datetime
    """Start of the ingest. Each load begins its id in microseconds later, because
    workers have separate clocks."""


Flattened = tuple[list[FileLoad], list[Pipeline], References]
"""A shard after it was read: one load per file, with the id of each that was written;
the known pipelines, with those read in it; the names that its files use and define."""


def shards_of(
    files: Sequence[ShardFile], *, most_bytes: int = SHARD_BYTES
) -> Iterator[list[ShardFile]]:
    """Yield shards of bounded size, in order; pipelines first, in separate shards.

    Testsets are checked against pipelines, which must be read before.
    """
    shard: list[ShardFile] = []
    size = 0
    for file in files:
        _, input_file, kind = file
        if shard and (
            size + input_file.size > most_bytes
            or len(shard) >= SHARD_FILES
            or (shard[-1][2] == "pipeline") != (kind == "pipeline")
        ):
            yield shard
            shard, size = [], 0
        shard.append(file)
        size += input_file.size
    if shard:
        yield shard


def flatten(shard: Shard) -> Flattened:
    """Read every unknown file of a shard and write its rows."""
    reader = FileReader(
        shard.known, list(shard.pipelines), shard.testset, shard.limits, shard.redact
    )
    references = References(shard.testset)
    for load_id, file, kind in shard.files:
        start = shard.began + timedelta(microseconds=load_id)
        part = 0
        for one in reader.read(file, kind, start):
            references.see(one)
            if one.withdrawn:
                shard.layer.discard(load_id)
                part = 0
                continue
            one.load.load_id = load_id
            _write(shard.layer, part, one)
            part += 1
    return reader.loads, reader.pipelines, references


def _write(layer: ParquetLayer, part: int, one: ReadBatch) -> None:
    load = one.load
    tables = {
        table: with_load(table, columns, load)
        for table, columns in one.reading.rows.items()
    }
    problems = [(load, problem) for problem in one.reading.problems]
    tables["rejects"] = problem_columns(problems)
    if not one.more:
        tables["redactions"] = redaction_columns([load])
    for table, columns in tables.items():
        if height(columns):
            layer.write(table, load.load_id, part, frame_of(table, columns))


Map = Callable[..., Any]
"""Like ``map``: a function and a sequence of items; results in order."""


@contextmanager
def mapping(workers: str) -> Iterator[Map]:
    """Provide a ``map`` for the length of a ``with`` block.

    Args:
        workers: the number of processes, ``1`` for only this one; or ``spark``.

    Raises:
        UsageError: it is neither.
        SettingsError: Spark is not installed.
        WarehouseError: a process was killed.
    """
    if workers == "spark":
        from promptlab.spark import map_on_spark

        yield map_on_spark
    elif workers == "1":
        yield map
    elif workers.isdecimal() and int(workers) > 0:
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import get_context

        # not forked: this process may have threads already
        context = get_context("spawn")
        with ProcessPoolExecutor(int(workers), context, _end_with_parent) as pool:
            try:
                yield pool.map
            except BrokenProcessPool:
                raise WarehouseError(
                    f"--workers {workers}: a worker was killed, perhaps for want of"
                    " memory; the same call with fewer completes what is missing"
                ) from None
    else:
        raise UsageError(
            f"--workers {workers}: expected a number of processes, or spark"
        )


def _end_with_parent() -> None:
    """End this worker when its parent ends, even if killed."""

    def watch() -> None:
        parent = parent_process()
        assert parent is not None  # workers have one
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


COMMIT_EVERY_S = 60
"""Every commit rewrites the load log; after a kill, files since the last
commit are read again. Spark returns all results at the end."""

MapShards = Callable[
    [Callable[[Shard], Flattened], Sequence[Shard]], Iterable[Flattened]
]
"""Calls a function for each shard and returns the results in order, like ``map``."""


def ingest_parquet(
    layer: ParquetLayer,
    planned: Sequence[tuple[FoundFile, str | None]],
    live_models: Sequence[LiveModel],
    *,
    ingest_version: str,
    testset: str | None = None,
    purged_too: bool = False,
    limits: Limits = DEFAULT,
    redact: Mode = "off",
    map_shards: MapShards = map,
    on_progress: OnProgress = lambda _path, _size: None,
) -> list[FileLoad]:
    """Load the planned files into the Parquet layer, which is created if missing.

    *map_shards* runs the flattening of shards; the other arguments are those of
    `promptlab.ingest.load.ingest`.

    Returns:
        One ``FileLoad`` per file, in the order they were planned.

    Raises:
        DatabaseLocked: another process writes there.
    """
    done: list[FileLoad] = []
    references = References(testset)
    waiting: list[FileLoad] = []
    with layer.locked():
        with layer.connect("pipelines", live=live_models) as con:
            known = known_files(con, planned, purged_too=purged_too, variants_too=False)
            pipelines = known_pipelines(con)
            start = next(load_starts(_last_start(con)))
        first = layer.give_out(len(planned))
        files = [(n, *one) for n, one in enumerate(planned, first)]
        groups = list(shards_of(files))
        began = start - timedelta(microseconds=first)

        def shard(group: Sequence[ShardFile]) -> Shard:
            return Shard(layer, group, known, pipelines, testset, limits, redact, began)

        def keep(result: Flattened) -> None:
            loads, _, names = result
            references.join(names)
            for load in loads:
                done.append(load)
                if load.load_id:
                    waiting.append(load)
                on_progress(load.path, _size(load))

        def commit() -> float:
            # reset first: after a failed commit files are read again, not listed twice
            batch = waiting[:]
            waiting.clear()
            _commit(layer, batch, ingest_version)
            return time.monotonic()

        committed = time.monotonic()
        try:
            # pipelines are read here: shards of testsets need them
            while groups and groups[0][0][2] == "pipeline":
                result = flatten(shard(groups.pop(0)))
                pipelines = result[1]
                keep(result)
            for result in map_shards(flatten, [shard(group) for group in groups]):
                keep(result)
                if time.monotonic() - committed >= COMMIT_EVERY_S:
                    committed = commit()
            if any(references.unmet()):
                names = ("testsets", "tasks", "dimension_configs")
                with layer.connect(*names, live=live_models) as con:
                    references.know(con)
            problems = [*same_ids(done), *references.unmet()]
            _write_problems(layer, add_problems(done, problems))
        finally:
            # keep loads read before a failure
            commit()
    return done


def _size(load: FileLoad) -> int:
    try:
        return load.path.stat().st_size
    except OSError:
        return 0


def _last_start(con: duckdb.DuckDBPyConnection) -> datetime | None:
    query = "select epoch_us(max(started_at)) from raw.loads"
    [(moment,)] = con.execute(query).fetchall()
    return None if moment is None else EPOCH + timedelta(microseconds=moment)


def _commit(
    layer: ParquetLayer, written: Sequence[FileLoad], ingest_version: str
) -> None:
    import polars as pl

    if not written:
        return
    loads = load_columns(written, ingest_version, written[0].load_id)
    objects = object_columns(written, with_scores=True)
    layer.commit(
        pl.concat([layer.loads(), frame_of("loads", loads)]),
        pl.concat([layer.objects(), frame_of("objects", objects)]),
    )


def _write_problems(
    layer: ParquetLayer, problems: Sequence[tuple[FileLoad, Problem]]
) -> None:
    """Write problems that need all files, next to the parts of their load."""
    of_loads: dict[int, list[tuple[FileLoad, Problem]]] = {}
    for one in problems:
        of_loads.setdefault(one[0].load_id, []).append(one)
    for load_id, rows in of_loads.items():
        frame = frame_of("rejects", problem_columns(rows))
        layer.write("rejects", load_id, "closing", frame)
