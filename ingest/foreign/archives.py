"""Zip archives, member by member; deflate and Zstandard alike.

Python's own zipfile reads Zstandard (method 93) from 3.14 on; `backports.zstd` has the
same zipfile for the versions before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.foreign.documents import Refused
from ingest.reading.problems import Problem

if TYPE_CHECKING or sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile

MOST_MEMBERS = 2_000_000


class Archive:
    """An archive that is open for reading; a context manager.

    Args:
        path: Where it lies.
        largest: Bytes that a member may unpack to: a small file may hold a huge one.

    Raises:
        Refused: It is no archive, or not all of it is there.
    """

    def __init__(self, path: Path, largest: int) -> None:
        self._largest = largest
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, ValueError) as error:
            raise Refused(_broken(str(error))) from None
        self._members = {each.filename: each for each in self._zip.infolist()}

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def names(self, folder: str = "") -> Iterator[str]:
        """Names of its members below *folder*, in the order they were written."""
        return (name for name in self._members if name.startswith(folder))

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        """One member, unpacked.

        Raises:
            Refused: It is damaged, or larger than a member may be.
        """
        member = self._members[name]
        try:
            with self._zip.open(member) as file:
                data = file.read(self._largest + 1)
        except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
            raise Refused(_broken(f"{name}: {error}")) from None
        except Exception as error:  # each method of compression has errors of its own
            if isinstance(error, OSError | MemoryError):
                raise
            raise Refused(_broken(f"{name}: {error}")) from None
        if len(data) > self._largest:
            raise Refused(
                Problem(
                    "file_too_large",
                    f"{name} unpacks to more than {self._largest} bytes, the most that"
                    " max_file_mb allows",
                )
            )
        return data


def _broken(why: str) -> Problem:
    return Problem(
        "broken_archive",
        f"the archive cannot be read: {why}. It was perhaps copied before it was"
        " complete: copy it again",
    )
