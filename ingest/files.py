"""Which files an ingest reads: folders walked, each file once."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from promptlab.errors import InputError

_NEVER_WALKED = {".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"}


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read."""

    path: Path
    name: str
    """Path below the ingested folder without suffix; a file named itself: its stem."""
    named: bool
    """Named on the command line, so that an unknown kind is an error, not a skip."""


def find_files(paths: Sequence[Path]) -> Iterator[Found]:
    """The files below these paths, folders walked in order of name, hidden ones too.

    Links to folders are not followed and only regular files are given, so a loop, a
    socket or a pipe among the inputs stops nothing. A file is given once.

    Raises:
        InputError: a path that does not exist or cannot be read.
    """
    seen: set[tuple[int, int]] = set()
    for path in paths:
        try:
            status = path.stat()
        except OSError as error:
            raise InputError(
                f"{path}: cannot be read: {error.strerror or error}"
            ) from None
        if stat.S_ISDIR(status.st_mode):
            found = _walk(path)
        elif stat.S_ISREG(status.st_mode):
            found = iter([Found(path, path.stem, named=True)])
        else:
            raise InputError(f"{path}: is neither a file nor a folder")
        for one in found:
            try:
                status = one.path.stat()
            except OSError:  # a dangling link; a directory entry that just went
                continue
            identity = (status.st_dev, status.st_ino)
            if stat.S_ISREG(status.st_mode) and identity not in seen:
                seen.add(identity)
                yield one


def _walk(folder: Path) -> Iterator[Found]:
    def fail(error: OSError) -> None:
        raise InputError(
            f"{error.filename}: cannot be read: {error.strerror}"
        ) from None

    for root, folders, files in os.walk(folder, onerror=fail):
        folders[:] = sorted(f for f in folders if f not in _NEVER_WALKED)
        for file in sorted(files):
            path = Path(root, file)
            yield Found(
                path, path.relative_to(folder).with_suffix("").as_posix(), named=False
            )
