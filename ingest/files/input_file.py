"""Read an input file whole or in blocks of lines, and detect changes while reading."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from promptlab.errors import InputError
from promptlab.paths import check_regular

BLOCK_BYTES = 8 << 20
"""Size of a block in bytes, unless one line is longer."""


class TooLong(NamedTuple):
    """Placeholder for a line that is longer than the limit of a record."""

    size: int


Block = bytes | TooLong


def blocks(file: BinaryIO, longest: int, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Read a file to its end.

    Args:
        file: Open at its start.
        longest: Maximum bytes of a line; only the size of a longer one is kept.
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


def read_whole(path: Path) -> bytes:
    """Return the bytes of a regular file.

    Raises:
        InputError: It cannot be read.
    """
    try:
        check_regular(path)
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{path}: cannot be read: {reason}") from None


_State = tuple[int, int, int]
"""Inode, size and modification time of a file."""


class ChangedWhileRead(Exception):
    """The file was written while it was read, so the data may be incomplete."""


class InputFile:
    """A file in the state in which it was first opened.

    Raises:
        OSError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        status = check_regular(path)
        self.size = status.st_size
        self._state = _state(status)

    def whole(self) -> bytes:
        """Return all its bytes.

        Raises:
            ChangedWhileRead: they may be of two versions.
        """
        with self.path.open("rb") as file:
            data = file.read()
            self._check_unchanged(file.fileno())
        return data

    def blocks(self, longest: int) -> Iterator[Block]:
        """Yield its lines, block by block.

        Args:
            longest: maximum bytes of a line.

        Raises:
            ChangedWhileRead: at the end; discard all data then.
        """
        with self.path.open("rb") as file:
            yield from blocks(file, longest)
            self._check_unchanged(file.fileno())

    def sha256(self) -> str:
        """Return the hash of its bytes without keeping them in memory."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def head(self) -> bytes:
        """Return its first block of bytes."""
        with self.path.open("rb") as file:
            return file.read(BLOCK_BYTES)

    def check_unchanged(self) -> None:
        """Check that the file has not changed.

        Raises:
            ChangedWhileRead: it has.
        """
        if _state(self.path.stat()) != self._state:
            raise ChangedWhileRead(self.path)

    def _check_unchanged(self, descriptor: int) -> None:
        # The name may refer to another file by now, so check both.
        states = {_state(os.fstat(descriptor)), _state(self.path.stat())}
        if states != {self._state}:
            raise ChangedWhileRead(self.path)


def _state(status: os.stat_result) -> _State:
    return status.st_ino, status.st_size, status.st_mtime_ns
