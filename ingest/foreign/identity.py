"""Ids of runs, cases and rows that do not depend on the place of a row in its file.

The second half reports repeated runs and rows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from promptlab.ingest.foreign.documents import Refused
from promptlab.ingest.reading.problems import Problem

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
    """Distinguish true duplicates: the second of two equal ids becomes ``id~2``."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, ...], int] = {}

    def next(self, *key: str) -> int:
        """Return how often *key* was seen, including this time."""
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
    version says of the run is hashed next to it (`reading`).
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


_BOM = "\ufeff"
_FEW = 3


def copy_problem(uri: str, other: str) -> Problem:
    """Say that a file holds a run that another file brought."""
    return Problem(
        "copy_of_run",
        f"{uri} holds the same run as {other}, which is loaded: it is loaded once",
        severity="warning",
    )


def older_problem(uri: str, other: str) -> Problem:
    """Say that another file of the call holds a newer version of the run."""
    return Problem(
        "older_version",
        f"{uri} holds an older version of the run that {other} holds, by the time that"
        " the tool wrote into both: the newer one counts",
        severity="warning",
    )


def replaced_problems(uri: str, replaced: Mapping[str, str]) -> list[Problem]:
    """Say of each task that another file had brought it with other content.

    Args:
        uri: The file that brings it now.
        replaced: Task → the file that brought it before.
    """
    return [
        Problem(
            "run_replaced",
            f"{uri} holds another version of the run that {other} brought (other"
            " scores, verdicts or rows): this one, which was read later, counts from"
            " now on",
            severity="warning",
            record_id=task_id,
        )
        for task_id, other in replaced.items()
    ]


class OwnIds:
    """Ids that a tool gives to rows, no two of them the same.

    A row whose id was seen is the same row once more: two exports of a run were joined.
    Rows that say the same and have their own ids, or none, are true duplicates.

    Args:
        what: What the tool calls the id.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._seen: set[int] = set()
        self._again = 0
        self._first: str | None = None

    def again(self, own_id: str | None, *within: Any) -> bool:
        """Return whether a row with this id was seen; a row without an id was not.

        Args:
            own_id: The id.
            within: What one row has only one of, for a tool that is not strict.
        """
        if not own_id:
            return False
        key = hash((own_id, within))  # texts would keep a part of every row in memory
        if key not in self._seen:
            self._seen.add(key)
            return False
        self._again += 1
        self._first = self._first or own_id
        return True

    def problems(self) -> Iterator[Problem]:
        """One warning for all rows that were left out."""
        if self._again:
            yield Problem(
                "repeated_row",
                f"{_rows(self._again)} {self._what} that a row before has, the first"
                f" {self._first}: each is loaded once, as it stands first. Were two"
                " exports joined?",
                severity="warning",
                record_id=self._first,
            )


class Unjudged:
    """Rows whose verdict is missing: they are not evaluated, and did not fail.

    Args:
        name: What the tool calls the verdict.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._n = 0
        self._first: str | None = None

    def see(self, case_id: str) -> None:
        """Take note of one."""
        self._n += 1
        self._first = self._first or case_id

    def problems(self) -> Iterator[Problem]:
        """One warning for all of them."""
        if self._n:
            rows = "1 row has" if self._n == 1 else f"{self._n} rows have"
            yield Problem(
                "verdict_missing",
                f"{rows} no `{self._name}` of true or false, the first of case"
                f" {self._first}: they are not evaluated, which is neither a pass nor"
                " a fail",
                severity="warning",
                record_id=self._first,
            )


def _rows(n: int) -> str:
    return "1 row has the" if n == 1 else f"{n} rows have the"


def repeated_header(
    cells: Sequence[Any], names: Sequence[str], place: str, line: int | None = None
) -> Problem | None:
    """Say that a row of a table is its header once more.

    Args:
        cells: The row.
        names: The header as written.
        place: The place of the row, in words.
        line: Its line, in a file that has lines.

    Raises:
        Refused: It is the header of another table, so what follows are other columns.
    """
    first = cells[0] if cells else None
    if not isinstance(first, str) or first.removeprefix(_BOM) not in names:
        return None
    cells = [first.removeprefix(_BOM), *cells[1:]]
    if cells == list(names):
        return Problem(
            "repeated_header",
            f"{place} is the header once more: two exports were joined here. It is no"
            " row, and is left out",
            severity="warning",
            line=line,
        )
    known = sum(each in names for each in cells)
    if known >= _FEW and 2 * known > len(cells):
        raise Refused(
            Problem(
                "two_headers",
                f"{place} is a header with other columns than the first line: two"
                " exports were joined that cannot be read as one table. Give each as"
                " a file of its own",
                line=line,
            )
        )
    return None
