"""One input file: read whole or in blocks of lines, and whether it stayed the same."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from promptlab.paths import check_regular

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


State = tuple[int, int, int]


class ChangedWhileRead(Exception):
    """The file was written while it was read; what was read may be half of it."""


class InputFile:
    """A file as it was when it was first looked at.

    Raises:
        OSError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        status = check_regular(path)
        self.size = status.st_size
        self._state = _state(status)

    def whole(self) -> bytes:
        """All its bytes.

        Raises:
            ChangedWhileRead: they may be of two versions.
        """
        with self.path.open("rb") as file:
            data = file.read()
            self._check_unchanged(file.fileno())
        return data

    def blocks(self, longest: int) -> Iterator[Block]:
        """Its lines, block by block.

        Args:
            longest: bytes that a line may have.

        Raises:
            ChangedWhileRead: at the end; then nothing of it may be kept.
        """
        with self.path.open("rb") as file:
            yield from blocks(file, longest)
            self._check_unchanged(file.fileno())

    def sha256(self) -> str:
        """The hash of its bytes, without holding them."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def head(self) -> bytes:
        """Its first bytes, as many as a block has."""
        with self.path.open("rb") as file:
            return file.read(BLOCK_BYTES)

    def check_unchanged(self) -> None:
        """Check that the file is still as it was.

        Raises:
            ChangedWhileRead: it is not.
        """
        if _state(self.path.stat()) != self._state:
            raise ChangedWhileRead(self.path)

    def _check_unchanged(self, descriptor: int) -> None:
        # The name may stand for another file by now, so both are asked.
        states = {_state(os.fstat(descriptor)), _state(self.path.stat())}
        if states != {self._state}:
            raise ChangedWhileRead(self.path)


def _state(status: os.stat_result) -> State:
    return status.st_ino, status.st_size, status.st_mtime_ns
