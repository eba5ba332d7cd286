"""Names in one file that another has to bring: testsets, and dimensions of scores.

A file is right by itself although the testset that it names does not exist; so this is
told once all files are read, with the nearest name that does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.errors import nearest
from promptlab.ingest.raw.rows import Reading, Reference
from promptlab.ingest.reading.problems import Problem
from promptlab.json_text.writing import shown
from promptlab.seeds import default_dimensions

if TYPE_CHECKING:
    import duckdb

    from promptlab.ingest.raw.batch import ReadBatch

_MOST_LISTED = 5

CODES = frozenset({"unknown_testset", "unknown_dimension"})


class References:
    """What files name, and what is there.

    Args:
        testset: Testset of every task, whatever the files say.
    """

    def __init__(self, testset: str | None = None) -> None:
        self._override = testset
        self._testsets: set[str] = set()
        self._dimensions: dict[str, set[str]] = {}  # of each task
        self._used: list[tuple[Path, Reference]] = []

    def see(self, one: ReadBatch) -> None:
        """Note what a batch of a file brings, and what it names."""
        path, reading = one.source.path, one.reading
        if one.abandoned:
            self._used = [each for each in self._used if each[0] != path]
        else:
            self.see_reading(path, reading)

    def see_reading(self, path: Path, reading: Reading) -> None:
        """Note what was read of a file."""
        self._used += [(path, each) for each in self._named_by(reading)]
        for name in reading.rows.get("testsets", {}).get("testset_id", ()):
            self._testsets.add(name)
        configured = reading.rows.get("dimension_configs", {})
        self._have(configured.get("task_id", ()), configured.get("dimension_id", ()))
        tasks = reading.rows.get("tasks", {})
        self._have_tasks(tasks.get("task_id", ()), tasks.get("source_kind", ()))

    def join(self, others: References) -> None:
        """Note all that others noted, of other files."""
        self._used += others._used
        self._testsets |= others._testsets
        for task_id, dimensions in others._dimensions.items():
            self._dimensions.setdefault(task_id, set()).update(dimensions)

    def know(self, con: duckdb.DuckDBPyConnection) -> None:
        """Note what the raw tables of a warehouse hold."""
        self._testsets.update(
            row[0]
            for row in con.execute("select testset_id from raw.testsets").fetchall()
        )
        for table, column, have in (
            ("dimension_configs", "dimension_id", self._have),
            ("tasks", "source_kind", self._have_tasks),
        ):
            query = f"select task_id, {column} from raw.{table}"
            rows = con.execute(query).fetchall()
            have([task for task, _ in rows], [name for _, name in rows])

    def _named_by(self, reading: Reading) -> list[Reference]:
        """What a batch names; of the command line's testset each task is one."""
        if self._override is None:
            return reading.references
        place = Problem("unknown_testset", "", "warning")
        return [
            *(each for each in reading.references if each.kind != "testset"),
            *(
                Reference("testset", self._override, key[1], place)
                for key in reading.keys
                if key[0] == "task"
            ),
        ]

    def _have(self, tasks: Iterable[str], dimensions: Iterable[str]) -> None:
        for task_id, dimension_id in zip(tasks, dimensions, strict=True):
            self._dimensions.setdefault(task_id, set()).add(dimension_id)

    def _have_tasks(self, tasks: Iterable[str], kinds: Iterable[str]) -> None:
        for task_id, kind in zip(tasks, kinds, strict=True):
            known = default_dimensions() if kind == "results" else ()
            self._dimensions.setdefault(task_id, set()).update(known)

    def unmet(self) -> Iterator[tuple[Path, Problem]]:
        """Yield a warning for each name that nothing has, and the file that uses it."""
        for path, each in dict.fromkeys(self._used):
            if each.kind == "dimension":
                message = self._about_dimension(each)
            else:
                message = self._about_testset(each.name)
            if message:
                yield path, replace(each.place, message=message)

    def still_unmet(self, problems: list[Problem]) -> list[Problem]:
        """What an earlier call said, without the names that something has by now."""
        told = {each.code for each in problems}
        there: set[str] = set()
        if "unknown_testset" in told:
            names = {part for each in self._testsets for part in (each, _last(each))}
            there.update(map(_no_testset, names))
        if "unknown_dimension" in told:
            there.update(
                _no_dimension(task_id, each)
                for task_id, known in self._dimensions.items()
                for each in known
            )
        return [
            each
            for each in problems
            if each.code not in CODES or each.message.partition(", so ")[0] not in there
        ]

    def _about_testset(self, name: str) -> str:
        name = name.removesuffix(".jsonl")
        last_parts = {each: _last(each) for each in self._testsets}
        if name in last_parts or name in last_parts.values():
            return ""
        near = nearest(name, sorted({*last_parts, *last_parts.values()}))
        advice = near or "; ingest it, or correct the name" + _listed(self._testsets)
        return f"{_no_testset(name)}, so it checks nothing{advice}"

    def _about_dimension(self, each: Reference) -> str:
        known = self._dimensions.get(each.task_id)
        if known is None or each.name in known:
            return ""  # scores may come before their task
        advice = nearest(each.name, sorted(known)) or _listed(known)
        return (
            f"{_no_dimension(each.task_id, each.name)}, so its scores count nowhere"
            f"{advice}"
        )


def _last(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _no_testset(name: str) -> str:
    return f"there is no testset {shown(name)}"


def _no_dimension(task_id: str, name: str) -> str:
    return f"task {shown(task_id)} has no dimension {shown(name)}"


def _listed(names: set[str]) -> str:
    if not names:
        return ""
    some = ", ".join(map(shown, sorted(names)[:_MOST_LISTED]))
    return f"; there are {some}{', …' if len(names) > _MOST_LISTED else ''}"
