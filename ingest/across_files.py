"""Problems that need all files of a call.

Two files with one id: the later file replaces the earlier. In separate calls this
corrects a file; in one call it is probably a task in parts, or two testsets with one
name. Also names that another file must define: testsets, and dimensions of scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.errors import nearest
from promptlab.ingest.foreign.registry import TOOLS
from promptlab.ingest.raw.rows import FileLoad, ReadBatch, Reading, Reference
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.json_text.writing import shown
from promptlab.messages import say
from promptlab.seeds import default_dimensions

if TYPE_CHECKING:
    import duckdb


_ADVICE = {
    "task": "give each file an id of its own, or put both into one file",
    "testset": "its name is its id: rename one, or ingest the folder above both",
    "pipeline": "give each pipeline an id of its own",
    "memory": "keep each run in a folder of its own, a file for each conversation",
}

_REPORTED_BY_READER = frozenset(TOOLS)

_IN_PARTS = frozenset({"results", "scores", "labels"})

_Id = tuple[str, str]
"""Kind of an object, and its id."""


def same_ids(loads: Sequence[FileLoad]) -> Iterator[tuple[Path, Problem]]:
    """Warn if a loaded file replaces another file of the call.

    Copies cause no warning, nor do runs of other tools, which their reader reports, and
    results, scores and labels, of which each file has a part.

    Args:
        loads: all files of a call, in the order they were read.

    Yields:
        The later file, and one warning for each file that it replaces.
    """
    replacements: dict[tuple[str, Path, Path], list[str]] = {}
    for (kind, name), files in _in_many_files(loads).items():
        holder = next((load for load in reversed(files) if _was_there(load)), None)
        for load in files:
            if _was_there(load):
                continue
            if (
                holder is not None
                and holder.sha256 != load.sha256
                and not {holder.kind, load.kind} <= _REPORTED_BY_READER
                and not {holder.kind, load.kind} <= _IN_PARTS
            ):
                pair = kind, holder.path, load.path
                replacements.setdefault(pair, []).append(name)
            holder = load
    for (kind, earlier, later), names in replacements.items():
        yield later, _warning(kind, names, earlier, later)


def _in_many_files(loads: Sequence[FileLoad]) -> dict[_Id, list[FileLoad]]:
    first: dict[_Id, FileLoad] = {}
    files: dict[_Id, list[FileLoad]] = {}
    for load in loads:
        if load.status not in {"loaded", "unchanged"}:
            continue
        for kind, *parts in load.keys:
            key = (kind, "|".join(parts))
            before = first.setdefault(key, load)
            if before is not load:
                files.setdefault(key, [before]).append(load)
    return files


def _was_there(load: FileLoad) -> bool:
    return load.status == "unchanged"


def _warning(kind: str, names: Sequence[str], earlier: Path, later: Path) -> Problem:
    objects = f"{'memory run' if kind == 'memory' else kind} {shown(names[0])}"
    were, them = "was", "it"
    if len(names) > 1:
        objects, were, them = f"{objects} and {len(names) - 1} more", "were", "them"
    return warning(
        "id_in_two_files",
        f"{objects} {were} in {earlier} too, in this call: the rows of {later} replace"
        f" {them}; {_ADVICE[kind]}",
        record_id=names[0],
    )


_MOST_LISTED = 5


_NAMES_OF_DIMENSIONS = {"dimension_configs": "dimension_id", "tasks": "source_kind"}
"""Raw table → its column that says which dimensions a task has; all evaluation results
have the same."""


class References:
    """The names that files use, and the names that exist."""

    def __init__(self, testset: str | None = None) -> None:
        self._override = testset
        self._testsets: set[str] = set()
        self._dimensions: dict[str, set[str]] = {}  # of each task
        self._used: list[tuple[Path, Reference]] = []

    def see(self, batch: ReadBatch) -> None:
        """Record the names that a batch defines, and those that it uses."""
        path, reading = batch.load.path, batch.reading
        if batch.withdrawn:
            self._used = [use for use in self._used if use[0] != path]
        else:
            self.see_reading(path, reading)

    def see_reading(self, path: Path, reading: Reading) -> None:
        """Record the names of a file."""
        self._used += [(path, reference) for reference in self._named_by(reading)]
        for name in reading.rows.get("testsets", {}).get("testset_id", ()):
            self._testsets.add(name)
        for table, column in _NAMES_OF_DIMENSIONS.items():
            rows = reading.rows.get(table, {})  # without rows: without columns
            names = zip(rows.get("task_id", ()), rows.get(column, ()), strict=True)
            self._have(table, names)

    def join(self, others: References) -> None:
        """Add the names recorded by others, of other files."""
        self._used += others._used
        self._testsets |= others._testsets
        for task_id, dimensions in others._dimensions.items():
            self._dimensions.setdefault(task_id, set()).update(dimensions)

    def know(self, con: duckdb.DuckDBPyConnection) -> None:
        """Add the names in the raw tables of a warehouse that the files may mean."""
        if not self._used:
            return
        self._testsets.update(
            row[0]
            for row in con.execute(
                "select object_id from live.objects where kind = 'testset'"
            ).fetchall()
        )
        used = [sorted({task_id for _, (_, task_id, _) in self._used})]
        for table, column in _NAMES_OF_DIMENSIONS.items():
            query = (
                f"select task_id, {column} from raw.{table}"
                " semi join (select load_id, object_id as task_id from live.objects)"
                " using (load_id, task_id) where task_id in (select unnest($1))"
            )
            self._have(table, con.execute(query, used).fetchall())

    def _named_by(self, reading: Reading) -> list[Reference]:
        """Return the names that a batch uses, with the testset of the call."""
        if self._override is None:
            return reading.references
        place = Problem("unknown_testset", "", "warning")
        return [
            *(name for name in reading.references if name[2].code != place.code),
            *(
                (self._override, key[1], place)
                for key in reading.keys
                if key[0] == "task"
            ),
        ]

    def _have(self, table: str, rows: Iterable[tuple[str, str]]) -> None:
        """Record the dimensions of tasks, from the two columns of a raw table."""
        for task_id, name in rows:
            dimensions = self._dimensions.setdefault(task_id, set())
            if table == "dimension_configs":
                dimensions.add(name)
            elif name == "results":
                dimensions.update(default_dimensions())

    def unmet(self) -> Iterator[tuple[Path, Problem]]:
        """Yield a warning for each undefined name, and the file that uses it."""
        for path, (name, task_id, place) in dict.fromkeys(self._used):
            if place.code == "unknown_dimension":
                message = self._about_dimension(name, task_id)
            else:
                message = self._about_testset(name)
            if message:
                yield path, replace(place, message=message)

    def _about_testset(self, name: str) -> str:
        name = name.removesuffix(".jsonl")
        last_parts = {testset: _last(testset) for testset in self._testsets}
        matches = sorted(t for t, last_part in last_parts.items() if last_part == name)
        if name in last_parts or len(matches) == 1:
            return ""
        if matches:
            return (
                f"several testsets are called {shown(name)}, so it checks nothing"
                f"{_listed(set(matches))}; name one of them by its id"
            )
        near = nearest(name, sorted({*last_parts, *last_parts.values()}))
        advice = near or "; ingest it, or correct the name" + _listed(self._testsets)
        if name == (self._override or "").removesuffix(".jsonl"):
            effect = "--testset has no effect, and a testset that the files name counts"
        else:
            effect = "it checks nothing"
        return f"there is no testset {shown(name)}, so {effect}{advice}"

    def _about_dimension(self, name: str, task_id: str) -> str:
        known = self._dimensions.get(task_id)
        if known is None or name in known:
            return ""  # scores may come before their task
        advice = nearest(name, sorted(known)) or _listed(known)
        return (
            f"task {shown(task_id)} has no dimension {shown(name)}, so its scores count"
            f" nowhere{advice}"
        )


# like int_tasks_resolved
_BY_CASES = """
    with unnamed as (
        select tasks.task_id
        from live.tasks as tasks
        inner join raw.loads using (load_id)
        left join (
            from raw.pipelines semi join live.objects using (load_id)
        ) as pipelines
            on tasks.pipeline_ref = pipelines.pipeline_id
        where
            source_kind = 'results'
            and coalesce(
                testset_override, testset_ref, tasks.extras ->> 'testset',
                tasks.env ->> 'testset', pipelines.default_testset
            ) is null
    ),

    unnamed_cases as (
        select task_id, case_id, count(*) over (partition by task_id) as n_cases
        from live.cases inner join unnamed using (task_id)
    )

    select task_id, n_cases, list(testset_id order by testset_id)
    from (
        select task_id, n_cases, testset_id
        from unnamed_cases
        inner join (
            from raw.test_cases semi join live.objects using (load_id)
        ) using (case_id)
        group by all
        having count(*) = n_cases
    )
    group by all
    order by all
"""


def testsets_by_cases(
    con: duckdb.DuckDBPyConnection, loads: Sequence[FileLoad]
) -> Iterator[tuple[Path, Problem]]:
    """Report the testset of results that name none: the one that has all their cases.

    Yields:
        A file of this call and a warning, where several testsets have them all.
    """
    files = {
        (kind, "|".join(parts)): load.path
        for load in loads
        if load.status == "loaded"
        for kind, *parts in load.keys
    }
    if not {"task", "testset"} & {kind for kind, _ in files}:
        return
    for task_id, n_cases, testsets in con.execute(_BY_CASES).fetchall():
        keys = [("task", task_id), *(("testset", testset) for testset in testsets)]
        path = next((files[key] for key in keys if key in files), None)
        if path is None:
            continue
        task, names = shown(task_id), ", ".join(map(shown, testsets[:_MOST_LISTED]))
        if len(testsets) > 1:
            yield (
                path,
                warning(
                    "several_testsets",
                    f"the results of {task} name no testset, and {len(testsets)}"
                    f" testsets have all {n_cases} sample ids ({names}), so none of"
                    " them counts; name one with --testset",
                    record_id=task_id,
                ),
            )
        else:
            say(
                f"{path}: the results of {task} name no testset; {names} has"
                f" all {n_cases} sample ids, and counts (--testset names another)",
                "testset_by_cases",
                task_id=task_id,
                testset_id=testsets[0],
            )


def _last(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _listed(names: set[str]) -> str:
    if not names:
        return ""
    some = ", ".join(map(shown, sorted(names)[:_MOST_LISTED]))
    return f"; there are {some}{', …' if len(names) > _MOST_LISTED else ''}"


def add_problems(
    loads: Sequence[FileLoad], problems: Iterable[tuple[Path, Problem]]
) -> list[tuple[FileLoad, Problem]]:
    """Add problems that need all files of a call to their loads.

    Returns:
        The loads and their problems, to be written to ``raw.rejects``.
    """
    of_paths = {load.path: load for load in loads}
    added = [(of_paths[path], problem) for path, problem in problems]
    for load, problem in added:
        load.problems.append(problem)
    return added
