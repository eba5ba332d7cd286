"""A file in blocks of whole lines, so that one of any size needs little memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

BLOCK_BYTES = 8 << 20
"""Bytes of a block, unless one line is longer."""


class TooLong(NamedTuple):
    """Stands for a line that is longer than a record may be."""

    size: int


Block = bytes | TooLong


def blocks(file: BinaryIO, longest: int, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Read a file to its end.

    Args:
        file: Open at its start.
        longest: Bytes that a line may have; of a longer one only its size is kept.
        size: Bytes of a block.

    Yields:
        Whole lines with their line feeds, as many as fit; the last line may have none.
    """
    rest = b""
    while data := file.read(size):
        data = rest + data
        end = data.rfind(b"\n") + 1
        if end:
            yield data[:end]
        rest = data[end:]
        if len(rest) > longest:
            yield _skip_line(file, len(rest), size)
            rest = b""
    if rest:
        yield rest


def _skip_line(file: BinaryIO, length: int, size: int) -> TooLong:
    while part := file.readline(size):
        length += len(part)
        if part.endswith(b"\n"):
            break
    return TooLong(length)
