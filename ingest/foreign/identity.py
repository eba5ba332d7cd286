"""Ids that do not depend on where a row stands in its file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

import msgspec

_sorted = msgspec.json.Encoder(order="deterministic").encode
_NUMBER = re.compile(r"(\d+)")
_NOT_WORDS = re.compile(r"[\W_]+")
_SLUG = 32
_HASH = 12


def content_id(content: Any, said: str | None = None) -> str:
    """An id for what has none: the same for equal content, whatever the order of keys.

    Args:
        content: What is asked, as the tool writes it; anything that JSON can hold.
        said: The part that a person would know it by, put in front of the hash.
    """
    digest = hashlib.blake2b(_sorted(content), digest_size=_HASH // 2).hexdigest()
    words = _NOT_WORDS.sub("-", (said or "")[: 4 * _SLUG].lower())
    words = words.strip("-")[:_SLUG].rstrip("-")
    return f"{words}-{digest}" if words else digest


def first_text(values: Iterable[Any]) -> str | None:
    """The first text among values: what a person would know them by."""
    return next((each for each in values if isinstance(each, str)), None)


class Occurrences:
    """Tells true duplicates apart: the second of two equal ids becomes ``id~2``."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, ...], int] = {}

    def next(self, *key: str) -> int:
        """How often *key* has been seen, this time included."""
        count = self._seen[key] = self._seen.get(key, 0) + 1
        return count

    @staticmethod
    def named(case_id: str, occurrence: int) -> str:
        """The id of one of several equal cases."""
        return case_id if occurrence == 1 else f"{case_id}~{occurrence}"


class SameRun:
    """A hash over the rows of a run that does not depend on their order.

    All versions of a run, in all formats, have the same; two runs do not, so what goes
    in is the tool's own ids of the run or its rows, else all that a row says. What a
    version says of the run is hashed beside it (`reading`).
    """

    def __init__(self, *run: str) -> None:
        self._run = run
        self._sum = 0
        self._rows = 0

    def add(self, *row: str | float | None) -> None:
        """Add a row to the hash."""
        text = "\x1f".join(map(str, row)).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(text, digest_size=16).digest()
        self._sum += int.from_bytes(digest, "big")
        self._rows += 1

    def hash(self) -> str:
        """The hash, as text."""
        total = f"{self._sum % (1 << 128):x}"
        text = "\x1f".join([*self._run, str(self._rows), total])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def joined_texts(parts: Iterable[str | None], between: str = " / ") -> str:
    """The parts that say something, in one text."""
    return between.join(part.strip() for part in parts if part and part.strip())


def natural_key(name: str) -> list[tuple[bool, int, str]]:
    """Sorts names by the numbers in them: ``sample.2`` before ``sample.10``."""
    return [
        (False, int(part), "") if part.isdecimal() else (True, len(part), part)
        for part in _NUMBER.split(name)
    ]


def some_of(names: Iterable[str], most: int = 3) -> str:
    """The first of some names, and how many more there are."""
    names = list(names)
    more = f" and {len(names) - most} more" if names[most:] else ""
    return ", ".join(names[:most]) + more
