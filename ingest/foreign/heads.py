"""The first bytes of a file, and the questions that recognisers ask of them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from functools import cached_property

_ZIP = b"PK\x03\x04"
_KEY = re.compile(rb'\s*"((?:[^"\\]|\\.)*)"\s*:')
_STRUCTURE = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],]')
_MOST_KEYS = 200


class Head:
    """What a file begins with.

    Args:
        data: Its first bytes, or all of them.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data.removeprefix(b"\xef\xbb\xbf")

    @property
    def is_zip(self) -> bool:
        """It is an archive."""
        return self.data.startswith(_ZIP)

    @property
    def may_be_foreign(self) -> bool:
        """It begins as one of these tools' files could."""
        is_json = self.data.lstrip()[:1] in (b"{", b"[")
        return self.is_zip or is_json or bool(self.columns)

    @cached_property
    def columns(self) -> frozenset[str]:
        """Names of a CSV's columns: the cells of its first line, if several."""
        line = self.data.partition(b"\n")[0]
        if line.lstrip()[:1] in (b"{", b"[") or b"\0" in line:
            return frozenset()
        try:
            cells = next(csv.reader([line.decode()]), [])
        except (UnicodeDecodeError, csv.Error):
            return frozenset()
        return frozenset(cells) if len(cells) > 1 else frozenset()

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys of the first object: of the document, or of the first line."""
        return self.keys_below()

    def keys_below(self, key: str | None = None) -> frozenset[str]:
        """Keys of the object that stands under *key* of the first object.

        Args:
            key: A key whose value is an object; ``None``: the first object itself.
        """
        at = self.data.find(b"{")
        if key is not None:
            at = self._object_under(at, key)
        return frozenset() if at < 0 else self._keys_at(at)

    def has(self, *marks: bytes) -> bool:
        """All these bytes stand somewhere in the head."""
        return all(mark in self.data for mark in marks)

    def _object_under(self, start: int, key: str) -> int:
        for name, at in _members(self.data, start):
            if name == key:
                found = re.compile(rb"\s*\{").match(self.data, at)
                return found.end() - 1 if found else -1
        return -1

    def _keys_at(self, start: int) -> frozenset[str]:
        return frozenset(name for name, _ in _members(self.data, start))


def _members(data: bytes, start: int) -> Iterator[tuple[str, int]]:
    """Each key of the object that opens at *start*, and where its value begins."""
    if start < 0:
        return
    depth, position, found = 1, start + 1, 0
    expects_key = True
    while depth and found < _MOST_KEYS:
        if depth == 1 and expects_key:
            key = _KEY.match(data, position)
            if key is not None:
                yield key[1].decode("utf-8", "replace"), key.end()
                found += 1
                position = key.end()
            expects_key = False
        token = _STRUCTURE.search(data, position)
        if token is None:
            return
        position = token.end()
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
        elif token[0] == b"," and depth == 1:
            expects_key = True
