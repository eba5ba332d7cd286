"""Read zip archives member by member, with deflate and Zstandard.

Python's own zipfile reads Zstandard (method 93) from 3.14 on; `backports.zstd` has the
same zipfile for the versions before. It reads the table of members; members are
read here in one call each, which is twice as fast as a file object.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from promptlab.ingest.foreign.documents import Refused, refused
from promptlab.ingest.reading.problems import Problem

if sys.version_info >= (3, 14):
    import zipfile

    from compression import zstd
else:
    from backports import zstd
    from backports.zstd import zipfile

_HEADER = 30
"""Bytes before a member's name; the last four are the lengths of what follows it."""
_ENCRYPTED = 1


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
        self._file = path.open("rb")
        try:
            members = zipfile.ZipFile(self._file).infolist()
        except (zipfile.BadZipFile, ValueError) as error:
            self._file.close()
            raise Refused(_broken(str(error))) from None
        self._members = {each.filename: each for each in members}

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
        unpack = _UNPACK.get(member.compress_type)
        if unpack is None or member.flag_bits & _ENCRYPTED:
            raise Refused(_broken(f"{name}: it is packed in a way that is not known"))
        try:
            # one byte more than the declared size is enough to detect an error
            data = unpack(self._packed(member), member.file_size + 1)
        except (zlib.error, zstd.ZstdError) as error:
            raise Refused(_broken(f"{name}: {error}")) from None
        if len(data) != member.file_size or zlib.crc32(data) != member.CRC:
            raise Refused(_broken(f"{name}: it is not what the archive says of it"))
        return data

    def _packed(self, member: zipfile.ZipInfo) -> bytes:
        self._file.seek(member.header_offset)
        header = self._file.read(_HEADER)
        name, extra = header[-4:-2], header[-2:]
        self._file.seek(
            int.from_bytes(name, "little") + int.from_bytes(extra, "little"), 1
        )
        return self._file.read(member.compress_size)


_UNPACK: dict[int, Callable[[bytes, int], bytes]] = {
    zipfile.ZIP_STORED: lambda packed, most: packed[:most],
    zipfile.ZIP_DEFLATED: lambda packed, most: zlib.decompressobj(-15).decompress(
        packed, most
    ),
    zipfile.ZIP_ZSTANDARD: lambda packed, most: zstd.ZstdDecompressor().decompress(
        packed, most
    ),
}
"""Method → function that unpacks at most the given bytes."""


def _broken(why: str) -> Problem:
    return Problem(
        "broken_archive",
        f"the archive cannot be read: {why}. It was perhaps copied before it was"
        " complete: copy it again",
    )
