"""Tasks that a file replaces: the versions before and after, and what is gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from promptlab.ingest.reading.problems import Problem, warning
from promptlab.json_text.writing import shown

if TYPE_CHECKING:
    from datetime import datetime

    import duckdb

    from promptlab.ingest.raw.rows import Key


TASK_REPLACED = "task_replaced"

OF_OUR_OWN = frozenset({"analysis", "results"})
"""Kinds of files with tasks; the readers of other tools report what they replace."""


@dataclass(frozen=True, slots=True)
class StoredTask:
    """A version of a task in the raw tables."""

    uri: str
    """Its file."""
    sha256: str
    """The hash of the file."""
    kind: str
    """The kind of this file."""
    created_at: datetime
    n_cases: int


@dataclass(frozen=True, slots=True)
class Replacement:
    """A task before and after a file was loaded."""

    task_id: str
    before: StoredTask
    now: StoredTask

    @property
    def is_of_another_file(self) -> bool:
        """Whether a file replaces the content of another one, not its own."""
        return self.before.uri != self.now.uri

    @property
    def is_another_run(self) -> bool:
        """Whether this is a later run, or lost cases to another file."""
        before, now = self.before, self.now
        has_lost_cases = self.is_of_another_file and now.n_cases < before.n_cases
        return self.is_later or has_lost_cases

    @property
    def is_later(self) -> bool:
        """Whether this is a later run, and not the same bytes with another time."""
        before, now = self.before, self.now
        return now.created_at > before.created_at and now.sha256 != before.sha256

    @property
    def has_other_answers(self) -> bool:
        """Whether no answer of the earlier run is left: results are merged."""
        return self.is_later and self.now.kind != "results"

    @property
    def is_reported(self) -> bool:
        """Whether nothing else reports that the content of another file is gone."""
        kinds = {self.before.kind, self.now.kind}
        is_merged = kinds == {"results"}
        return self.is_of_another_file and kinds <= OF_OUR_OWN and not is_merged

    @property
    def key(self) -> Key:
        """The entry of the load log for another run: the time of the earlier one."""
        return ("task", self.task_id, self.before.created_at.isoformat())

    def problem(self) -> Problem:
        """Return a warning that names both files, and the number of their cases."""
        before, now = self.before, self.now
        again = ""
        if now.n_cases < before.n_cases:
            again = f"; to have all cases back, load {before.uri} again"
        return warning(
            TASK_REPLACED,
            f"task {shown(self.task_id)} was loaded from {before.uri} with"
            f" {_cases(before.n_cases)}: {now.uri} replaces it, and leaves"
            f" {_cases(now.n_cases)}. Give another run a `task_id` of its own{again}",
            record_id=self.task_id,
        )


def scores_outdated(task_id: str, n: int) -> Problem:
    """Return a warning that outside scores of answers that are gone do not count."""
    task = shown(task_id)
    scores = "1 score" if n == 1 else f"{n} scores"
    return warning(
        "scores_outdated",
        f"task {task} has other answers than those that were loaded: {scores} from"
        " outside judged the answers of that run, and no longer count. Load the scores"
        " of these answers, or give another run a `task_id` of its own",
        record_id=task_id,
    )


def labels_outdated(task_id: str, n: int) -> Problem:
    """Return a warning that labels of answers that are gone do not count."""
    task = shown(task_id)
    labels = "1 label names a round" if n == 1 else f"{n} labels name rounds"
    return warning(
        "labels_outdated",
        f"task {task} has other answers than those that were loaded: {labels} of that"
        " run, and no longer count. Label the new answers, or give another run a"
        " `task_id` of its own",
        record_id=task_id,
    )


def _cases(n: int) -> str:
    return "1 case" if n == 1 else f"{n} cases"


def stored_tasks(
    con: duckdb.DuckDBPyConnection,
    task_ids: Sequence[str],
    files: Mapping[int, tuple[str, str]] = MappingProxyType({}),
) -> dict[str, StoredTask]:
    """Return these tasks as the raw tables have them.

    Args:
        con: A connection to the raw tables.
        task_ids: The tasks; unknown ones are left out.
        files: The files, and their hashes, of loads that are not in the load log yet.
            Tasks of other such loads, which are the earlier batches of a file, are left
            out.
    """
    if not task_ids:
        return {}
    wanted = "list_contains(cast(? as varchar[]), task_id)"
    tasks = con.execute(
        "select task_id, load_id, loads.file_uri, loads.sha256, source_kind, created_at"
        f" from raw.tasks left join raw.loads using (load_id) where {wanted}",
        [task_ids],
    ).fetchall()
    if not tasks:
        return {}
    counts = dict(
        con.execute(
            f"select task_id, count(*) from raw.cases where {wanted} group by task_id",
            [[task_id for task_id, *_ in tasks]],
        ).fetchall()
    )
    return {
        task_id: StoredTask(file[0], file[1], kind, created_at, counts.get(task_id, 0))
        for task_id, load_id, uri, sha256, kind, created_at in tasks
        if (file := (uri, sha256) if uri else files.get(load_id))
    }


def replacements(
    con: duckdb.DuckDBPyConnection,
    before: Mapping[str, StoredTask],
    files: Mapping[int, tuple[str, str]],
) -> Iterator[Replacement]:
    """Yield each task that was there before, with what it is now.

    The other arguments are those of `stored_tasks`.
    """
    for task_id, now in stored_tasks(con, list(before), files).items():
        yield Replacement(task_id, before[task_id], now)
