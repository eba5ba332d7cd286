"""Load files into the Parquet layer; known files are skipped.

The caller's ``map`` decides where shards are flattened: here, in a pool of processes,
or as tasks of Spark. Commits are made here, in the order of the files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from promptlab.ingest.closing import References, asks_for_names, told_at_the_end
from promptlab.ingest.file_reader import OnProgress
from promptlab.ingest.files.finding import FoundFile
from promptlab.ingest.ingested import FileLoad
from promptlab.ingest.parquet.flatten import (
    Flattened,
    Shard,
    ShardFile,
    flatten,
    shards_of,
)
from promptlab.ingest.parquet.layer import ParquetLayer, frame_of
from promptlab.ingest.raw.batch import ReadBatch, load_columns, problem_columns
from promptlab.ingest.raw.load_log import known_files, known_pipelines
from promptlab.ingest.reading.limits import DEFAULT, Limits
from promptlab.ingest.undated import LoadOrder

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from promptlab.ingest.files.redaction_rules import Mode
    from promptlab.ingest.raw.rows import Key
    from promptlab.ingest.reading.problems import Problem

COMMIT_EVERY_S = 60
"""Every commit rewrites the list of live objects; after a kill, files since the last
commit are read again. Spark returns all results at the end."""

MapShards = Callable[
    [Callable[[Shard], Flattened], Sequence[Shard]], Iterable[Flattened]
]
"""Calls a function for each shard and returns the results in order, like ``map``."""


def ingest_parquet(
    layer: ParquetLayer,
    planned: Sequence[tuple[FoundFile, str | None]],
    *,
    ingest_version: str,
    testset: str | None = None,
    purged_too: bool = False,
    limits: Limits = DEFAULT,
    redact: Mode = "off",
    map_shards: MapShards = map,
    on_progress: OnProgress = lambda _path, _size: None,
) -> list[FileLoad]:
    """Load the planned files into the Parquet layer.

    Args:
        layer: the target; created if missing.
        planned: the files from ``promptlab.ingest.plan``.
        ingest_version: version of promptlab, stored with every load.
        testset: testset of every task loaded here, whatever the files say.
        purged_too: load files again that were purged.
        limits: limits of an input.
        redact: values to replace before anything is stored.
        map_shards: runs the flattening of shards.
        on_progress: called after each file.

    Returns:
        One ``FileLoad`` per file, in the order they were planned.

    Raises:
        DatabaseLocked: another process writes there.
    """
    done: list[FileLoad] = []
    load_ids: dict[Path, tuple[int, str]] = {}
    references = References(testset)
    waiting: list[tuple[int, ReadBatch]] = []
    with layer.locked():
        with layer.connect() as con:
            known = known_files(con, purged_too=purged_too)
            pipelines = known_pipelines(con)
        first = layer.give_out(len(planned))
        files = [ShardFile(n, *one) for n, one in enumerate(planned, first)]
        groups = list(shards_of(files))
        start = LoadOrder(known.last_start).next()
        began = start - timedelta(microseconds=first)

        def shard(group: Sequence[ShardFile]) -> Shard:
            return Shard(layer, group, known, pipelines, testset, limits, redact, began)

        def keep(result: Flattened) -> None:
            waiting.extend(result.written)
            references.join(result.references)
            for load_id, one in result.written:
                load_ids[one.source.path] = load_id, one.source.uri
            for load in result.loads:
                done.append(load)
                on_progress(load.path, _size(load))

        def commit() -> float:
            # reset first: after a failed commit files are read again, not listed twice
            taken = waiting[:]
            waiting.clear()
            _commit(layer, taken, ingest_version)
            return time.monotonic()

        committed = time.monotonic()
        try:
            # pipelines are read here: shards of testsets need them
            while groups and groups[0][0].kind == "pipeline":
                result = flatten(shard(groups.pop(0)))
                pipelines = result.pipelines
                keep(result)
            for result in map_shards(flatten, [shard(group) for group in groups]):
                keep(result)
                if time.monotonic() - committed >= COMMIT_EVERY_S:
                    committed = commit()
            if asks_for_names(done, references):
                with layer.connect_to_names() as con:
                    references.know(con)
            found = told_at_the_end(done, references, merges=False)
            _add_problems(layer, [(*load_ids[path], each) for path, each in found])
        finally:
            # keep loads read before a failure
            commit()
    return done


def _size(load: FileLoad) -> int:
    try:
        return load.path.stat().st_size
    except OSError:
        return 0


def _commit(
    layer: ParquetLayer, written: Sequence[tuple[int, ReadBatch]], ingest_version: str
) -> None:
    if not written:
        return
    live = layer.live()
    loads = [layer.loads()]
    for load_id, one in written:
        keys = one.reading.keys
        replaced = live.keys() & set(keys)
        columns = load_columns(
            [(load_id, one)], [one.reading], replaced, ingest_version, written[0][0]
        )
        loads.append(frame_of("loads", columns))
        live.update(dict.fromkeys(keys, load_id))
    layer.commit(_log(loads, live), live)


def _add_problems(
    layer: ParquetLayer, found: Sequence[tuple[int, str, Problem]]
) -> None:
    """Write problems that need all files, next to the parts of their load."""
    of_loads: dict[int, list[tuple[int, str, Problem]]] = {}
    for one in found:
        of_loads.setdefault(one[0], []).append(one)
    for load_id, rows in of_loads.items():
        frame = frame_of("rejects", problem_columns(rows))
        layer.write("rejects", load_id, "closing", frame)


def _log(loads: Sequence[pl.DataFrame], live: dict[Key, int]) -> pl.DataFrame:
    """Return the load log, with loads that own no object marked as replaced."""
    import polars as pl

    owns_nothing = ~pl.col("load_id").is_in(sorted(set(live.values())))
    return pl.concat(loads).with_columns(
        status=pl.when(
            (pl.col("status") == "loaded")
            & (pl.col("kind") != "unknown")
            & owns_nothing
        )
        .then(pl.lit("replaced"))
        .otherwise("status")
    )
