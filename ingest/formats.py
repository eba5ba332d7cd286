"""Registry of input formats: one reader per kind of file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import PurePath

from promptlab.ingest.foreign.registry import TOOLS
from promptlab.ingest.raw.rows import Reading
from promptlab.ingest.reading.source import Source


def read_batches(kind: str, source: Source) -> Iterator[Reading]:
    """Read one file of a known kind, in batches.

    Args:
        kind: one of ``KINDS``.
        source: the file.

    Yields:
        At least one reading; a key is in the first reading with its rows.
    """
    return iter(_READERS[kind](source))


# Imports are lazy, so commands that read nothing start faster.


def _pipeline(source: Source) -> Iterable[Reading]:
    from promptlab.ingest.pipelines import read_pipeline

    return [read_pipeline(source.data, source.name)]


def _testset(source: Source) -> Iterable[Reading]:
    from promptlab.ingest.testsets.reader import testset_batches

    return testset_batches(
        source.in_blocks,
        source.name,
        size=source.size,
        pipelines=source.pipelines,
        limits=source.limits,
    )


def _analysis(source: Source) -> Iterable[Reading]:
    from promptlab.ingest.analysis.reader import read_analysis

    return [read_analysis(source.data, limits=source.limits)]


def _results(source: Source) -> Iterable[Reading]:
    from promptlab.ingest.results.reader import result_batches

    return result_batches(source.in_blocks, source.name, limits=source.limits)


def _scores(source: Source) -> Iterable[Reading]:
    from promptlab.ingest.scores import score_batches

    return score_batches(source.in_blocks, source.uri, limits=source.limits)


def _labels(source: Source) -> Iterable[Reading]:
    from promptlab.contracts.sources import LabelOptions
    from promptlab.ingest.labels import read_labels

    return [read_labels(source, source.labels or LabelOptions())]


def _memory(source: Source) -> Iterable[Reading]:
    from promptlab.ingest.memory.reader import read_memory

    return [read_memory(source.data, PurePath(source.uri), limits=source.limits)]


def _foreign(tool: str, source: Source) -> Iterable[Reading]:
    from promptlab.ingest.foreign.reading import foreign_batches

    return foreign_batches(tool, source)


_READERS: dict[str, Callable[[Source], Iterable[Reading]]] = {
    "pipeline": _pipeline,
    "testset": _testset,
    "analysis": _analysis,
    "results": _results,
    **{tool: partial(_foreign, tool) for tool in TOOLS},
    "scores": _scores,
    "labels": _labels,
    "memory": _memory,
}

KINDS = tuple(_READERS)
"""Kinds in reading order: testsets are checked against the steps of pipelines."""

LINE_KINDS = frozenset({"testset", "results", "scores"})
"""Kinds whose files may be JSONL, which is read in blocks."""
