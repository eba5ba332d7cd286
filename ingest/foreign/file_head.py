"""The beginning of a file, by which its kind is recognised."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Set
from functools import cached_property
from itertools import islice

from promptlab.json_text.places import BOM, members

_ZIP = b"PK\x03\x04"
_OPENS_AN_OBJECT = re.compile(rb"\s*\{")
_MOST_KEYS = 200
_DOCUMENTS = ({"task", "cases"}, {"experiment_info"})
_OURS = (
    *_DOCUMENTS,
    {"sample_id", "entity_id", "variant"},
    {"id", "expected_outputs"},
    {"id", "intermediate_expectations"},
    {"task_id", "case_id", "dimension_id"},
)
"""Key combinations of promptlab's own formats, which no tool's files have: so that the
modules of the tools need not be loaded."""
_LONGEST_HEADER = 1 << 16

Buffer = bytes | memoryview


class Head:
    """The beginning of a file."""

    def __init__(self, data: bytes) -> None:
        """Take the first bytes of a file, or all of a smaller one, without comments."""
        self.data = data.removeprefix(BOM)
        self._below: dict[str, frozenset[str]] = {}

    @property
    def is_zip(self) -> bool:
        """True if it is an archive."""
        return self.data.startswith(_ZIP)

    @cached_property
    def is_json(self) -> bool:
        """True if it starts an object or a list."""
        return self.data.lstrip()[:1] in (b"{", b"[")

    @property
    def may_be_foreign(self) -> bool:
        """True if it may be a file of a tool in `registry.TOOLS`."""
        if self.is_zip:
            return True
        if self.is_json or self.data.lstrip()[:1] == b"<":
            return not any(ours <= self.keys for ours in _OURS)
        return bool(self.columns) or self.data.startswith((b"evalId:", b"| dataset |"))

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys of the first object: of the document, or of the first line.

        A table, an archive or a program has none, whatever is in it.
        """
        return self.keys_below()

    @cached_property
    def columns(self) -> frozenset[str]:
        """Names of the columns, if it is a CSV file."""
        if self.is_json:
            return frozenset()
        line, _, _ = self.data.partition(b"\n")
        if b"," not in line or len(line) > _LONGEST_HEADER:
            return frozenset()
        try:
            return frozenset(next(csv.reader([line.decode().rstrip("\r")])))
        except (csv.Error, UnicodeDecodeError):
            return frozenset()

    def keys_below(self, key: str | None = None) -> frozenset[str]:
        """Return the keys of the object under *key* of the first object."""
        if key is None:
            return frozenset(self.first_object)
        if key not in self._below:
            value = self.first_object.get(key, b"")
            is_object = _OPENS_AN_OBJECT.match(value) is not None
            self._below[key] = frozenset(_members(value) if is_object else ())
        return self._below[key]

    def has(self, *marks: bytes) -> bool:
        """Return true if the head contains all of these byte strings."""
        return all(mark in self.data for mark in marks)

    @cached_property
    def first_object(self) -> Mapping[str, Buffer]:
        """Each key of the first object, in its order, and the bytes from its value on.

        Empty if it is not JSON. Of a large document of promptlab's own, the keys that
        tell it are enough.
        """
        return _members(self.data, until=_is_document) if self.is_json else {}


def _members(
    data: Buffer, *, until: Callable[[Set[str]], bool] = lambda _keys: False
) -> Mapping[str, Buffer]:
    """Return each key of the first object, with the bytes from its value on.

    A complete document is decoded, which is 100 times as fast; otherwise the tokens of
    the head are scanned, until the keys so far are enough.
    """
    import msgspec  # lazy: `--help` lists the tools and reads no file

    from promptlab.ingest.foreign.documents import decode

    try:
        whole = decode(data, dict[str, msgspec.Raw])
        return {key: memoryview(value) for key, value in whole.items()}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found: dict[str, Buffer] = {}
        for key, at in islice(members(data), _MOST_KEYS):
            found[key.decode("utf-8", "replace")] = memoryview(data)[at:]
            if until(found.keys()):
                break
        return found


def _is_document(keys: Set[str]) -> bool:
    return any(ours <= keys for ours in _DOCUMENTS)
