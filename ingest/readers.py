"""One reader per kind of file: the registry that an input format is added to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath

from ingest.blocks import Block
from ingest.limits import DEFAULT, Limits
from ingest.reading import Reading, joined
from promptlab.contracts.pipeline import Pipeline


@dataclass(frozen=True, slots=True)
class Source:
    """A file's bytes, and what its place says of it."""

    data: bytes
    """The whole file; empty where it is given in blocks."""
    name: str
    """Path below the ingested folder without suffix; a file named itself: its stem."""
    path: Path
    uri: str
    """Absolute path, as it is kept in the warehouse."""
    modified_at: datetime
    """Of the file; UTC."""
    pipelines: Sequence[Pipeline] = ()
    """Known when the file is read; testsets are checked against their steps."""
    blocks: Iterable[Block] | None = None
    """The file in blocks of whole lines, to be read once; `None`: it is one block."""
    size: int = 0
    """Bytes of the file."""
    limits: Limits = DEFAULT
    """How large what is in it may be."""

    @property
    def in_blocks(self) -> Iterable[Block]:
        """The file in blocks of whole lines."""
        return [self.data] if self.blocks is None else self.blocks


def read(kind: str, source: Source) -> Reading:
    """Read one file of a known kind at once; writes nothing.

    Args:
        kind: one of ``KINDS``.
        source: the file.
    """
    return joined(read_batches(kind, source))


def read_batches(kind: str, source: Source) -> Iterator[Reading]:
    """Read one file of a known kind, in as many batches as it is large.

    Args:
        kind: one of ``KINDS``.
        source: the file.

    Yields:
        At least one reading; keys are in the first that has rows of theirs.
    """
    return iter(_READERS[kind](source))


# Imports are lazy: a command that reads nothing pays for none.


def _pipeline(source: Source) -> Iterable[Reading]:
    from ingest.pipelines import read_pipeline

    return [read_pipeline(source.data, source.name)]


def _testset(source: Source) -> Iterable[Reading]:
    from ingest.testsets import testset_batches

    return testset_batches(
        source.in_blocks,
        source.name,
        size=source.size,
        pipelines=source.pipelines,
        limits=source.limits,
    )


def _analysis(source: Source) -> Iterable[Reading]:
    from ingest.analysis import read_analysis

    return [read_analysis(source.data, limits=source.limits)]


def _results(source: Source) -> Iterable[Reading]:
    from ingest.results import result_batches

    return result_batches(
        source.in_blocks, source.name, source.modified_at, limits=source.limits
    )


def _scores(source: Source) -> Iterable[Reading]:
    from ingest.scores import score_batches

    return score_batches(source.in_blocks, source.uri, limits=source.limits)


def _memory(source: Source) -> Iterable[Reading]:
    from ingest.memory import read_memory

    return [read_memory(source.data, PurePath(source.uri), limits=source.limits)]


_READERS: dict[str, Callable[[Source], Iterable[Reading]]] = {
    "pipeline": _pipeline,
    "testset": _testset,
    "analysis": _analysis,
    "results": _results,
    "scores": _scores,
    "memory": _memory,
}

KINDS = tuple(_READERS)
"""In the order they are read: testsets are checked against pipelines' steps."""

LINE_KINDS = frozenset({"testset", "results", "scores"})
"""Their files may be JSONL, which is read in blocks."""
