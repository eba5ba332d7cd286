"""The outcome of an ingest, file by file, and problems that need all files of a call.

Two files with one id: the later file replaces the earlier. In separate calls this
corrects a file; in one call it is probably a task in parts, or two testsets with one
name. Also names that another file must define: testsets, and
dimensions of scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.errors import nearest
from promptlab.ingest.foreign.registry import TOOLS
from promptlab.ingest.raw.rows import FileLoad, ReadBatch, Reading, Reference
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.json_text.writing import shown
from promptlab.paths import default_dimensions

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Ingested:
    """The outcome of an ingest, file by file."""

    files: list[FileLoad]

    @property
    def n_loaded(self) -> int:
        """Files with new content."""
        return self._count("loaded")

    @property
    def n_unchanged(self) -> int:
        """Files that were already loaded, byte for byte."""
        return self._count("unchanged")

    @property
    def n_rejected(self) -> int:
        """Files without any valid record."""
        return self._count("rejected")

    @property
    def n_skipped(self) -> int:
        """Files of no known kind."""
        return self._count("skipped")

    @property
    def n_purged(self) -> int:
        """Files that were purged before, and are not loaded again."""
        return self._count("purged")

    @property
    def n_rejected_records(self) -> int:
        """Number of records left out, over all files."""
        return sum(file.records_rejected for file in self.files)

    @property
    def redacted(self) -> dict[str, int]:
        """Rule → values that were redacted, the most frequent first."""
        counts: Counter[str] = Counter()
        for file in self.files:
            counts.update(file.redacted)
        return dict(counts.most_common())

    def _count(self, status: str) -> int:
        return sum(file.status == status for file in self.files)


TWO_FILES = "id_in_two_files"

_ADVICE = {
    "task": "give each file an id of its own, or put both into one file",
    "testset": "its name is its id: rename one, or ingest the folder above both",
    "pipeline": "give each pipeline an id of its own",
    "memory": "keep each run in a folder of its own, a file for each conversation",
}

_TOLD_ELSEWHERE = frozenset(TOOLS)

_MERGED = "results"

_Id = tuple[str, str]
"""Kind of an object, and its id."""


def same_ids(
    loads: Sequence[FileLoad], *, merges: bool = True
) -> Iterator[tuple[FileLoad, Problem]]:
    """Warn if a loaded file replaces another file of the call.

    Copies cause no warning, nor do runs of other tools, which their reader reports.

    Args:
        loads: all files of a call, in the order they were read.
        merges: results of one run are merged, and report what they replace.

    Yields:
        The later file, and one warning for each file that it replaces.
    """
    told: dict[tuple[str, Path, Path], tuple[FileLoad, list[str]]] = {}
    for one, those in _in_many_files(loads).items():
        holder = next((each for each in reversed(those) if _was_there(each)), None)
        for load in those:
            if _was_there(load):
                continue
            if (
                holder is not None
                and holder.sha256 != load.sha256
                and not {holder.kind, load.kind} <= _TOLD_ELSEWHERE
                and not (merges and {holder.kind, load.kind} == {_MERGED})
            ):
                kind, name = one
                pair = kind, holder.path, load.path
                told.setdefault(pair, (load, []))[1].append(name)
            holder = load
    for (kind, earlier, later), (load, names) in told.items():
        yield load, _warning(kind, names, earlier, later)


def forget_what_is_over(loads: Sequence[FileLoad]) -> None:
    """Remove such warnings of earlier calls if they no longer apply.

    The other file is no longer in the call, or one of them was just loaded again.
    """
    told = [
        load
        for load in loads
        if _was_there(load) and any(each.code == TWO_FILES for each in load.problems)
    ]
    many = _in_many_files(loads) if told else {}
    true_still = {one for one, those in many.items() if all(map(_was_there, those))}
    for load in told:
        load.problems = [
            each
            for each in load.problems
            if each.code != TWO_FILES
            or (load.keys and (load.keys[0][0], each.record_id) in true_still)
        ]


def _in_many_files(loads: Sequence[FileLoad]) -> dict[_Id, list[FileLoad]]:
    first: dict[_Id, FileLoad] = {}
    files: dict[_Id, list[FileLoad]] = {}
    for load in loads:
        if load.status not in {"loaded", "unchanged"}:
            continue
        for kind, *parts in load.keys:
            one = (kind, "|".join(parts))
            before = first.setdefault(one, load)
            if before is not load:
                files.setdefault(one, [before]).append(load)
    return files


def _was_there(load: FileLoad) -> bool:
    return load.status == "unchanged"


def _warning(kind: str, names: Sequence[str], earlier: Path, later: Path) -> Problem:
    what = f"{'memory run' if kind == 'memory' else kind} {shown(names[0])}"
    were, them = "was", "it"
    if len(names) > 1:
        what, were, them = f"{what} and {len(names) - 1} more", "were", "them"
    return warning(
        TWO_FILES,
        f"{what} {were} in {earlier} too, in this call: the rows of {later} replace"
        f" {them}; {_ADVICE[kind]}",
        record_id=names[0],
    )


_MOST_LISTED = 5

REFERENCE_CODES = frozenset({"unknown_testset", "unknown_dimension"})


class References:
    """The names that files use, and the names that exist."""

    def __init__(self, testset: str | None = None) -> None:
        self._override = testset
        self._testsets: set[str] = set()
        self._dimensions: dict[str, set[str]] = {}  # of each task
        self._used: list[tuple[Path, Reference]] = []

    def see(self, one: ReadBatch) -> None:
        """Record the names that a batch defines, and those that it uses."""
        path, reading = one.source.path, one.reading
        if one.abandoned:
            self._used = [each for each in self._used if each[0] != path]
        else:
            self.see_reading(path, reading)

    def see_reading(self, path: Path, reading: Reading) -> None:
        """Record the names of a file."""
        self._used += [(path, each) for each in self._named_by(reading)]
        for name in reading.rows.get("testsets", {}).get("testset_id", ()):
            self._testsets.add(name)
        configured = reading.rows.get("dimension_configs", {})
        self._have(configured.get("task_id", ()), configured.get("dimension_id", ()))
        tasks = reading.rows.get("tasks", {})
        self._have_tasks(tasks.get("task_id", ()), tasks.get("source_kind", ()))

    def join(self, others: References) -> None:
        """Add the names recorded by others, of other files."""
        self._used += others._used
        self._testsets |= others._testsets
        for task_id, dimensions in others._dimensions.items():
            self._dimensions.setdefault(task_id, set()).update(dimensions)

    def know(self, con: duckdb.DuckDBPyConnection) -> None:
        """Add the names in the raw tables of a warehouse."""
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
        """Return the names that a batch uses, with the testset of the call."""
        if self._override is None:
            return reading.references
        place = Problem("unknown_testset", "", "warning")
        return [
            *(each for each in reading.references if each[2].code != place.code),
            *(
                (self._override, key[1], place)
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
        """Yield a warning for each undefined name, and the file that uses it."""
        for path, (name, task_id, place) in dict.fromkeys(self._used):
            if place.code == "unknown_dimension":
                message = self._about_dimension(name, task_id)
            else:
                message = self._about_testset(name)
            if message:
                yield path, replace(place, message=message)

    def still_unmet(self, problems: list[Problem]) -> list[Problem]:
        """Return the warnings of an earlier call whose names still do not exist."""
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
        met = tuple(f"{message}, so " for message in there)
        return [
            each
            for each in problems
            if each.code not in REFERENCE_CODES or not each.message.startswith(met)
        ]

    def _about_testset(self, name: str) -> str:
        name = name.removesuffix(".jsonl")
        last_parts = {each: _last(each) for each in self._testsets}
        meant = sorted(each for each, last in last_parts.items() if last == name)
        if name in last_parts or len(meant) == 1:
            return ""
        if meant:
            return (
                f"several testsets are called {shown(name)}, so it checks nothing"
                f"{_listed(set(meant))}; name one of them by its id"
            )
        near = nearest(name, sorted({*last_parts, *last_parts.values()}))
        advice = near or "; ingest it, or correct the name" + _listed(self._testsets)
        if name == (self._override or "").removesuffix(".jsonl"):
            effect = "--testset has no effect, and a testset that the files name counts"
        else:
            effect = "it checks nothing"
        return f"{_no_testset(name)}, so {effect}{advice}"

    def _about_dimension(self, name: str, task_id: str) -> str:
        known = self._dimensions.get(task_id)
        if known is None or name in known:
            return ""  # scores may come before their task
        advice = nearest(name, sorted(known)) or _listed(known)
        return f"{_no_dimension(task_id, name)}, so its scores count nowhere{advice}"


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


def asks_for_names(loads: Sequence[FileLoad], references: References) -> bool:
    """Return whether the raw tables of earlier calls have to be read."""
    return any(references.unmet()) or any(
        problem.code in REFERENCE_CODES
        for load in loads
        if load.status == "unchanged"
        for problem in load.problems
    )


def told_at_the_end(
    loads: Sequence[FileLoad], references: References, *, merges: bool = True
) -> list[tuple[Path, Problem]]:
    """Add the problems that need all files of a call.

    Returns:
        Path and problem of loaded files, to be stored with their loads.
    """
    forget_what_is_over(loads)
    for load in loads:
        if load.status == "unchanged":
            load.problems = references.still_unmet(load.problems)
    found = [(load.path, problem) for load, problem in same_ids(loads, merges=merges)]
    found += references.unmet()
    of_files: dict[Path, list[Problem]] = {}
    for path, problem in found:
        of_files.setdefault(path, []).append(problem)
    for load in loads:
        load.problems = load.problems + of_files.get(load.path, [])
    return found
