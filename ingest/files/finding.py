"""Find the files of an ingest: walk folders, each file once."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.errors import InputError
from promptlab.ingest.files.order import file_key, in_reading_order, natural_key
from promptlab.ingest.overrides import NO_OVERRIDES, Overrides
from promptlab.paths import kind_of_file

if TYPE_CHECKING:
    from promptlab.contracts.sources import LabelOptions, TableMapping

_NEVER_WALKED = {".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"}


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file found from a path of the command line."""

    path: Path
    name: str
    """Path below the ingested folder without suffix; a file named itself: its stem."""
    uri: str
    """Absolute path, links followed."""
    size: int = 0
    """Bytes of the file when it was found; 0 if unknown."""
    named: bool = False
    """Named on the command line, so that an unknown kind is an error, not a skip."""
    fault: str | None = None
    """The error if it cannot be read, as found while listing the folders."""

    form: str | None = None
    """The form of another tool's file, as named by the tool's reader."""
    companions: tuple[Path, ...] = ()
    """Other files of the same run, which are read with this one."""
    mapping: tuple[str, TableMapping] | None = None
    """Name and content of the mapping of a table."""
    labels: LabelOptions | None = None
    """Options of the call for a file of labels."""
    overrides: Overrides = NO_OVERRIDES
    """Title, variant and revision from the call."""


def find_files(paths: Sequence[Path]) -> Iterator[FoundFile]:
    """Yield the files below these paths, hidden ones too, in reading order.

    Links to folders are not followed, and only regular files are opened, so a loop, a
    socket or a pipe among the inputs does no harm. Each file is yielded once.

    Yields:
        Files; a file in a folder that cannot be read has a ``fault``.

    Raises:
        InputError: a path that does not exist or cannot be read.
    """
    identities: set[tuple[int, int]] = set()
    for path in in_reading_order(paths):
        try:
            status = path.stat()
        except OSError as error:
            raise InputError(
                f"{path}: cannot be read: {error.strerror or error}"
            ) from None
        if stat.S_ISDIR(status.st_mode):
            files = _walk(path)
        elif stat.S_ISREG(status.st_mode):
            uri = os.path.realpath(path)
            files = iter([FoundFile(path, path.stem, uri, named=True)])
        else:
            raise InputError(f"{path}: is neither a file nor a folder")
        for file in map(_with_a_name, files):
            if file.fault:
                yield file
                continue
            try:
                status = file.path.stat()
            except OSError as error:  # a dangling link; or its folder cannot be read
                if not isinstance(error, FileNotFoundError):
                    yield replace(file, fault=error.strerror or str(error))
                continue
            identity = (status.st_dev, status.st_ino)
            if identity in identities:
                continue
            identities.add(identity)
            if stat.S_ISREG(status.st_mode):
                yield replace(file, size=status.st_size)
            elif not stat.S_ISDIR(status.st_mode):
                kind = kind_of_file(status.st_mode)
                yield replace(file, fault=f"it is {kind}, not a file")


def _with_a_name(file: FoundFile) -> FoundFile:
    """Return the file; if its name is not UTF-8, with a fault and an escaped name.

    Tables and pages cannot contain such a name.
    """
    try:
        f"{file.uri}{file.name}{file.path}".encode()
    except UnicodeEncodeError:
        path = Path(_shown(str(file.path)))
        return replace(
            file,
            path=path,
            name=_shown(file.name),
            uri=_shown(file.uri),
            fault="its name, or that of a folder above it, is not UTF-8: rename it",
        )
    return file


def _shown(name: str) -> str:
    r"""Return a name with invalid bytes written as ``\xe9``."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _walk(folder: Path) -> Iterator[FoundFile]:
    unreadable: list[OSError] = []
    for root, folders, files in os.walk(folder, onerror=unreadable.append):
        folders[:] = sorted(
            (subfolder for subfolder in folders if subfolder not in _NEVER_WALKED),
            key=natural_key,
        )
        relative_folder = Path(root).relative_to(folder)
        real_root = os.path.realpath(root).rstrip("/")
        for file in sorted(files, key=file_key):
            path = Path(root, file)
            uri = os.path.realpath(path) if path.is_symlink() else f"{real_root}/{file}"
            yield FoundFile(
                path, (relative_folder / path.stem).as_posix(), uri, named=False
            )
    for error in unreadable:
        path = Path(error.filename)
        if path == folder:
            raise InputError(f"{path}: cannot be read: {error.strerror}")
        name = path.relative_to(folder).with_suffix("").as_posix()
        fault = error.strerror or str(error)
        yield FoundFile(path, name, os.path.realpath(path), named=False, fault=fault)
