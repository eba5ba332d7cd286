"""A file read at once, where the code reads it in batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from promptlab.contracts.testset import Pipeline
from promptlab.ingest.formats import read_batches
from promptlab.ingest.raw.rows import Reading
from promptlab.ingest.reading.limits import DEFAULT, Limits
from promptlab.ingest.reading.source import Source
from promptlab.ingest.results.reader import result_batches
from promptlab.ingest.scores import score_batches
from promptlab.ingest.testsets.reader import testset_batches


def read(kind: str, source: Source) -> Reading:
    """Read one file of a known kind at once; writes nothing.

    Args:
        kind: one of ``KINDS``.
        source: the file.
    """
    return joined(read_batches(kind, source))


def read_testset(
    data: bytes,
    name: str,
    *,
    pipelines: Sequence[Pipeline] = (),
    limits: Limits = DEFAULT,
) -> Reading:
    """Read one testset file at once, as `testset_batches` does."""
    return joined(
        testset_batches(
            [data], name, size=len(data), pipelines=pipelines, limits=limits
        )
    )


def read_results(data: bytes, name: str, *, limits: Limits = DEFAULT) -> Reading:
    """Read a file of evaluation results at once, as `result_batches` does."""
    return joined(result_batches([data], name, limits=limits))


def read_scores(data: bytes, name: str, *, limits: Limits = DEFAULT) -> Reading:
    """Read a file of scores at once, as `score_batches` does."""
    return joined(score_batches([data], name, limits=limits))


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
