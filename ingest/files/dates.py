"""Dates and numbers in file names: `results_2026-10-12.csv` is a night of `results`.

A date is neither a title nor a version. By itself it never dates a run: models and data
sets have dates in their names, too.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePosixPath

_NUMBER = re.compile(r"\d+")
_EXTENSION = re.compile(r"(?<!\d)\.|\.(?!\d)")
_SEPARATORS = r"[\W_]*"
_DATE = r"(?:19|20)\d\d([-_.]?)(?:0[1-9]|1[0-2])\2(?:0[1-9]|[12]\d|3[01])"
_TIME = (
    r"[T_ .-]?(?:[01]\d|2[0-3])[-_.:]?[0-5]\d"
    r"(?:[-_.:]?[0-5]\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d[-_:]?\d\d)?"
)
_DATED = re.compile(
    rf"({_SEPARATORS})(?<![\dvV]){_DATE}(?:{_TIME})?(?!\d){_SEPARATORS}"
)


def without_date(name: str) -> str:
    """Return a file's name without dates and times.

    ``results_2026-10-12`` and ``results_2026-10-13`` are two nights of one prompt:
    ``results``. A name that is only a date becomes empty; ``v20261012`` is a version
    and stays.
    """
    rest = _DATED.sub(r"\1", name)
    return name if rest == name else re.sub(r"^[\W_]+|[\W_]+$", "", rest)


def base_of(name: str) -> str:
    """Return a file's name without its endings; empty for one that is hidden.

    A dot between two digits does not start an ending: ``gpt-4.1.jsonl`` is ``gpt-4.1``.
    """
    return _EXTENSION.split(name, maxsplit=1)[0]


def source_pattern(name: str) -> str | None:
    """Return a file's name with ``{date}`` for its date, as in ``[[sources]]``."""
    from promptlab.contracts.sources import DATE  # pydantic: not for `--help`

    match = re.search(rf"(?<![\dvV]){DATE}(?!\d)", name)
    return None if match is None else f"{name[: match.start()]}{{date}}*"


def numbers_of(path: str) -> str:
    """Return the numbers in the name of a file and of its folder."""
    return _parts(path)[1]


def differ_in_numbers(path: str, other: str) -> bool:
    """Return true if the names of two files differ in their numbers only.

    ``qa_2026-10-12.csv`` and ``qa_2026-10-13.csv``, ``night1/qa.csv`` and
    ``night2/qa.csv`` are two nights; ``latest.csv`` may be a copy of each.
    """
    (name, numbers), (other_name, other_numbers) = _parts(path), _parts(other)
    return name == other_name and numbers != other_numbers


@lru_cache(maxsize=100_000)
def _parts(path: str) -> tuple[str, str]:
    """Return the name of a file and its folder without numbers, and the numbers."""
    file = PurePosixPath(path)
    name = f"{file.parent.name}/{file.stem}"
    return _NUMBER.sub("#", name), " ".join(_NUMBER.findall(name))
