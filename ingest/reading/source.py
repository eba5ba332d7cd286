"""The input of a reader: the bytes of a file, its path and its options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.ingest.files.input_file import Block
from promptlab.ingest.reading.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from promptlab.contracts.sources import LabelOptions, TableMapping
    from promptlab.contracts.testset import Pipeline


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of a file, its path and its options."""

    data: bytes
    """The whole file; empty if it is passed in blocks, or opened by its reader."""
    name: str
    """Path below the ingested folder without suffix; a file named itself: its stem."""
    path: Path
    uri: str
    """Absolute path, as stored in the warehouse."""
    pipelines: Sequence[Pipeline] = ()
    """Pipelines read before this file, for checking the steps of testsets."""
    blocks: Iterable[Block] | None = None
    """The file in blocks of whole lines, to be iterated once; `None`: one block."""
    size: int = 0
    """Bytes of the file."""
    limits: Limits = DEFAULT
    """Size limits of its records and values."""
    form: str | None = None
    """The form of another tool's file."""
    companions: Sequence[Path] = ()
    """Other files of the same run of another tool."""
    mapping: tuple[str, TableMapping] | None = None
    """Name and content of the mapping of a table."""
    labels: LabelOptions | None = None
    """Options of the call for a file of labels."""
    prompt_vars: tuple[str, ...] = ()
    """Variables of promptfoo tests that are part of the prompt."""
    tag_keys: tuple[str, ...] | None = None
    """Keys of metadata whose values become tags; ``None``: those with few texts."""
    redact: Callable[[bytes], bytes] = bytes
    """Redacts a part of a file, for readers that open files themselves."""

    @property
    def in_blocks(self) -> Iterable[Block]:
        """Return the file in blocks of whole lines."""
        return [self.data] if self.blocks is None else self.blocks
