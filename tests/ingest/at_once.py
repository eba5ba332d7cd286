"""A file read at once, where the code reads it in batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path, PurePath
from typing import Any

from promptlab.contracts.testset import Pipeline
from promptlab.ingest.files.input_file import Block
from promptlab.ingest.formats import read_batches
from promptlab.ingest.raw.rows import Reading
from promptlab.ingest.reading.source import DEFAULT, Limits, Source


def read(kind: str, source: Source) -> Reading:
    """Read one file of a known kind at once; writes nothing."""
    return joined(read_batches(kind, source))


def source_of(
    data: bytes,
    name: str = "name",
    *,
    path: PurePath | None = None,
    blocks: Iterable[Block] | None = None,
    pipelines: Sequence[Pipeline] = (),
    limits: Limits = DEFAULT,
) -> Source:
    """Return the source of a file; by default its path is its name."""
    return Source(
        Path(path or name),
        name,
        str(path or name),
        data=b"" if blocks is not None else data,
        pipelines=pipelines,
        blocks=blocks,
        size=len(data),
        limits=limits,
    )


def read_analysis(data: bytes, **about: Any) -> Reading:
    return read("analysis", source_of(data, **about))


def read_memory(data: bytes, path: PurePath, **about: Any) -> Reading:
    return read("memory", source_of(data, path=path, **about))


def read_pipeline(data: bytes, name: str) -> Reading:
    return read("pipeline", source_of(data, name))


def read_testset(data: bytes, name: str, **about: Any) -> Reading:
    return read("testset", source_of(data, name, **about))


def read_results(data: bytes, name: str, **about: Any) -> Reading:
    return read("results", source_of(data, name, **about))


def read_scores(data: bytes, name: str, **about: Any) -> Reading:
    return read("scores", source_of(data, name, **about))


def joined(batches: Iterable[Reading]) -> Reading:
    """Join all batches of one file."""
    first, *others = batches
    for each in others:
        for table, columns in each.rows.items():
            before = first.rows.setdefault(table, dict.fromkeys(columns, ()))
            first.rows[table] = {
                name: _longer(before[name], columns[name]) for name in columns
            }
        first.problems += each.problems
        first.references += each.references
        first.records_loaded += each.records_loaded
        first.records_rejected += each.records_rejected
        first.rejected = first.rejected or each.rejected
        first.keys += each.keys
        first.runs |= each.runs
    return first


def _longer(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    return list(chain(one, other))
