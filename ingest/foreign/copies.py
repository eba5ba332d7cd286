"""One run in two files, one row twice, a row without a verdict: what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from promptlab.ingest.foreign.documents import Refused
from promptlab.ingest.reading.problems import Problem

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
    Rows that say the same and have ids of their own, or none, are true duplicates.

    Args:
        what: What the tool calls the id.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._seen: set[int] = set()
        self._again = 0
        self._first: str | None = None

    def again(self, own_id: str | None, *within: Any) -> bool:
        """Whether a row of this id was seen; where it has none, it was not.

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
        names: The header, as it is written.
        place: Where the row stands, in words.
        line: Where it stands, in a file that has lines.

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
