"""Reads one run of another tool, without a warehouse."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from promptlab.contracts.sources import TableMapping
from promptlab.ingest.files.finding import FoundFile
from promptlab.ingest.formats import read_batches
from promptlab.ingest.plan import plan
from promptlab.ingest.raw.rows import Reading
from promptlab.ingest.reading.source import Source
from tests.ingest.at_once import joined

DATA = Path(__file__).resolve().parents[1] / "data" / "foreign"


def reading_of(path: Path, tables: Mapping[str, TableMapping] | None = None) -> Reading:
    """Return the reading of a file, or of the folder of one run."""
    ((found, kind),) = (
        (one, k) for one, k in plan([path], tables=tables) if k is not None
    )
    assert kind is not None
    return reading_from(found, kind)


def reading_from(found: FoundFile, kind: str) -> Reading:
    """Return the reading of a run that was found."""
    return joined(read_batches(kind, Source.from_file(found, size=found.size)))


def table(reading: Reading, name: str) -> pl.DataFrame:
    """The rows of one raw table."""
    return pl.DataFrame(reading.rows.get(name, {}), infer_schema_length=None)


def one_task(reading: Reading, model: str | None = None) -> str:
    """The id of the task; of several, the one of a model."""
    tasks = table(reading, "tasks")
    if model is not None:
        tasks = tasks.filter(pl.col("model") == model)
    assert tasks.height == 1
    return str(tasks["task_id"][0])
