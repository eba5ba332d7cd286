"""Read zip archives member by member, with deflate and Zstandard.

Python's own zipfile reads Zstandard (method 93) from 3.14 on; `backports.zstd` has the
same zipfile for the versions before.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from promptlab.ingest.foreign.documents import Refused, refused
from promptlab.ingest.reading.problems import Problem

if sys.version_info >= (3, 14):
    import zipfile

    from compression import zstd
else:
    from backports import zstd
    from backports.zstd import zipfile


class Archive:
    """An archive that is open for reading; a context manager.

    Args:
        path: Its path.
        largest: Maximum unpacked bytes of a member: a small file may expand hugely.

    Raises:
        Refused: It is not an archive, or incomplete.
    """

    def __init__(self, path: Path, largest: int) -> None:
        self._largest = largest
        try:
            self._file = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise Refused(_broken(str(error))) from None
        self._members = {member.filename: member for member in self._file.infolist()}

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def names(self, folder: str = "") -> Iterator[str]:
        """Return the names of its members below *folder*, in file order."""
        return (name for name in self._members if name.startswith(folder))

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        """Return one member, unpacked.

        Raises:
            Refused: It is damaged, or larger than the limit.
        """
        member = self._members[name]
        if member.file_size > self._largest:
            raise refused(
                "file_too_large",
                f"{name} unpacks to more than {self._largest} bytes, the most that"
                " max_file_mb allows",
            )
        try:
            # reads no more than the size in the archive, and checks the sum
            return self._file.read(member)
        except (
            zipfile.BadZipFile,
            zlib.error,
            zstd.ZstdError,
            EOFError,
            NotImplementedError,  # another method
            RuntimeError,  # encrypted
        ) as error:
            raise Refused(_broken(f"{name}: {error}")) from None


def _broken(why: str) -> Problem:
    return Problem(
        "broken_archive",
        f"the archive cannot be read: {why}. It was perhaps copied before it was"
        " complete: copy it again",
    )
