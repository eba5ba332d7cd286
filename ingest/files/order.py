"""The order of files: by name, with digits as numbers, so ``run9`` before ``run10``.

Runs without a time are dated in this order.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

_NUMBER = re.compile(r"(\d+)")
_NOT_WORDS = re.compile(r"[\W_]+")

Key = tuple[tuple[tuple[int, str], ...], str]


def natural_key(name: str) -> Key:
    """Return a key by which ``sample.2`` is before ``sample.10``."""
    parts = (
        (len(part.lstrip("0")) if is_number else 0, part.lstrip("0") or part[:1])
        if (is_number := index % 2 == 1)
        else (0, part)
        for index, part in enumerate(_NUMBER.split(name))
    )
    return tuple(parts), name


def file_key(name: str) -> tuple[Key, str]:
    """Return a key that sorts files by their names: ``run`` before ``run-scored``."""
    suffix = Path(name).suffix
    return natural_key(name.removesuffix(suffix)), suffix


def in_reading_order(paths: Sequence[Path]) -> list[Path]:
    """Return the paths as they were named, or by their numbers.

    A shell replaces ``run*.csv`` by ``run10.csv run9.csv``. Paths in the order of a
    shell are therefore sorted like the files of a folder.
    """
    names = [str(path) for path in paths]
    if _is_sorted(names) or _is_sorted([_letters(name) for name in names]):
        return sorted(paths, key=lambda path: file_key(str(path)))
    return list(paths)


def _is_sorted(names: Sequence[str]) -> bool:
    return all(name <= next_name for name, next_name in itertools.pairwise(names))


def _letters(name: str) -> str:
    """Return what most locales sort by: letters and digits, in lower case."""
    return _NOT_WORDS.sub("", name).lower()
