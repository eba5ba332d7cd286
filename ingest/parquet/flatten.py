"""Convert files to Parquet parts: a pure function of a shard.

The same shard produces the same files at the same paths, so a task that is lost or run
twice changes nothing; its files are ignored until the layer's manifest names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from promptlab.contracts.testset import Pipeline
from promptlab.ingest.closing import References
from promptlab.ingest.file_reader import FileReader
from promptlab.ingest.files.finding import FoundFile
from promptlab.ingest.files.redaction_rules import Mode
from promptlab.ingest.ingested import FileLoad
from promptlab.ingest.parquet.layer import ParquetLayer, frame_of
from promptlab.ingest.raw.batch import (
    ReadBatch,
    added,
    redaction_columns,
    reject_columns,
    with_load,
)
from promptlab.ingest.raw.load_log import Known
from promptlab.ingest.raw.rows import Reading, height
from promptlab.ingest.reading.limits import Limits

SHARD_BYTES = 64 << 20
SHARD_FILES = 1000


@dataclass(frozen=True)
class ShardFile:
    """A file of a shard and the load that it becomes."""

    load_id: int
    found: FoundFile
    kind: str | None


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


@dataclass(frozen=True)
class Flattened:
    """A shard after it was read: its loads and the written files."""

    loads: list[FileLoad]
    """One load per file."""
    written: list[tuple[int, ReadBatch]]
    """Load id and file, without its rows and problems, of each that was written."""
    pipelines: list[Pipeline]
    """Pipelines known before the shard, then those read in it."""
    references: References
    """Names that its files use and define."""


def shards_of(
    files: Sequence[ShardFile], *, most_bytes: int = SHARD_BYTES
) -> Iterator[list[ShardFile]]:
    """Yield shards of bounded size, in order; pipelines first, in separate shards.

    Testsets are checked against pipelines, which must be read before.
    """
    shard: list[ShardFile] = []
    size = 0
    for file in files:
        if shard and (
            size + file.found.size > most_bytes
            or len(shard) >= SHARD_FILES
            or (shard[-1].kind == "pipeline") != (file.kind == "pipeline")
        ):
            yield shard
            shard, size = [], 0
        shard.append(file)
        size += file.found.size
    if shard:
        yield shard


def flatten(shard: Shard) -> Flattened:
    """Read every unknown file of a shard and write its rows."""
    reader = FileReader(
        shard.known, list(shard.pipelines), shard.testset, shard.limits, shard.redact
    )
    references = References(shard.testset)
    written: list[tuple[int, ReadBatch]] = []
    for file in shard.files:
        reader.loads.append(FileLoad(file.found.path, file.kind or "unknown"))
        start = shard.began + timedelta(microseconds=file.load_id)
        reader.next_start = partial(_same, start)
        before: Reading | None = None
        part = 0
        for one in reader.read(file.found, file.kind):
            references.see(one)
            if one.abandoned:
                shard.layer.discard(file.load_id)
                before, part = None, 0
                continue
            _write(shard.layer, file.load_id, part, one)
            before, part = added(before, one.reading), part + 1
            if not one.more:
                source = replace(one.source, data=b"", blocks=None, pipelines=())
                whole = replace(one, reading=before, source=source)
                written.append((file.load_id, whole))
    return Flattened(reader.loads, written, reader.pipelines, references)


def _same(start: datetime) -> datetime:
    return start


def _write(layer: ParquetLayer, load_id: int, part: int, one: ReadBatch) -> None:
    tables = {
        table: with_load(table, columns, load_id, one.source.uri)
        for table, columns in one.reading.rows.items()
    }
    tables["rejects"] = reject_columns([(load_id, one)])
    if not one.more:
        tables["redactions"] = redaction_columns([(load_id, one)])
    for table, columns in tables.items():
        if height(columns):
            layer.write(table, load_id, part, frame_of(table, columns))
