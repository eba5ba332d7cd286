"""One reader per kind of file: the registry that an input format is added to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath

from ingest.reading import Reading
from promptlab.contracts.pipeline import Pipeline


@dataclass(frozen=True, slots=True)
class Source:
    """A file's bytes, and what its place says of it."""

    data: bytes
    name: str
    """Path below the ingested folder without suffix; a file named itself: its stem."""
    path: Path
    uri: str
    """Absolute path, as it is kept in the warehouse."""
    modified_at: datetime
    """Of the file; UTC."""
    pipelines: Sequence[Pipeline] = ()
    """Known when the file is read; testsets are checked against their steps."""


def read(kind: str, source: Source) -> Reading:
    """Read one file of a known kind; writes nothing.

    Args:
        kind: one of ``KINDS``.
        source: the file.
    """
    return _READERS[kind](source)


# Imports are lazy: a command that reads nothing pays for none.


def _pipeline(source: Source) -> Reading:
    from ingest.pipelines import read_pipeline

    return read_pipeline(source.data, source.name)


def _testset(source: Source) -> Reading:
    from ingest.testsets import read_testset

    return read_testset(source.data, source.name, pipelines=source.pipelines)


def _analysis(source: Source) -> Reading:
    from ingest.analysis import read_analysis

    return read_analysis(source.data)


def _results(source: Source) -> Reading:
    from ingest.results import read_results

    return read_results(source.data, source.name, modified_at=source.modified_at)


def _scores(source: Source) -> Reading:
    from ingest.scores import read_scores

    return read_scores(source.data, source.uri)


def _memory(source: Source) -> Reading:
    from ingest.memory import read_memory

    return read_memory(source.data, PurePath(source.uri))


_READERS: dict[str, Callable[[Source], Reading]] = {
    "pipeline": _pipeline,
    "testset": _testset,
    "analysis": _analysis,
    "results": _results,
    "scores": _scores,
    "memory": _memory,
}

KINDS = tuple(_READERS)
"""In the order they are read: testsets are checked against pipelines' steps."""
