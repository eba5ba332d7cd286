"""The bytes of a run's files, within the limits and of one version of each."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.ingest.files.blocks import TooLong, blocks
from promptlab.ingest.files.input_file import InputFile
from promptlab.ingest.foreign.documents import Refused
from promptlab.json_text.places import BOM

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source


def file_bytes(source: Source, path: Path | None = None) -> bytes:
    """All bytes of the leading file, or of a companion, as they are written.

    Raises:
        Refused: There are more than ``max_file_mb`` allows.
        ChangedWhileRead: They may be of two versions.
        OSError: It cannot be read.
    """
    file = None if _is_held(source, path) else InputFile(path or source.path)
    size = file.size if file else source.size
    if size > source.limits.max_file:
        raise Refused(source.limits.file_too_large(size))
    return file.whole() if file else source.data


def lines(source: Source, path: Path | None = None) -> Iterator[tuple[int, bytes]]:
    """Each line with something in it, redacted, and its number from 1.

    Raises:
        Refused: A line is longer than ``max_record_mb`` allows.
        ChangedWhileRead: At the end; then nothing of it may be kept.
        OSError: It cannot be read.
    """
    number = 0
    longest = source.limits.max_record
    if _is_held(source, path):
        found = blocks(io.BytesIO(source.data), longest)
    else:
        found = InputFile(path or source.path).blocks(longest)
    for block in found:
        if isinstance(block, TooLong):
            raise Refused(source.limits.record_too_large(block.size, number + 1))
        redacted = source.redact(block)
        if number == 0:
            redacted = redacted.removeprefix(BOM)
        for line in redacted.split(b"\n")[: None if redacted[-1:] != b"\n" else -1]:
            number += 1
            if line.strip():
                yield number, line


def _is_held(source: Source, path: Path | None) -> bool:
    """Whether the bytes of the leading file are in memory; a large one's are not."""
    return bool(source.data) and path in (None, source.path)
