"""Ids that a file named before, so that a record that comes twice is found."""

from __future__ import annotations

import hashlib

Id = tuple[str, ...]


class SeenIds:
    """Ids that stood before, at some 80 bytes each."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def add(self, each: Id) -> None:
        """Remember an id."""
        self._digests.add(_digest(each))

    def __contains__(self, each: Id) -> bool:
        return bool(self._digests) and _digest(each) in self._digests


def _digest(each: Id) -> bytes:
    written = repr(each).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(written, digest_size=12).digest()
