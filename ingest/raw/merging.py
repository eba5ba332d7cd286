"""Merge a run of results in several files, by case and round.

Each file owns its rows. Loading it again replaces its earlier rows; a round that is
also in another file belongs to the newer file, like the fields of a case and of the
task. So the order of the calls does not matter, only that of the files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb
    import polars as pl

    from promptlab.ingest.raw.batch import ReadBatch
    from promptlab.ingest.raw.rows import Columns

KIND = "results"
"""Kind of files that may contain parts of one task."""

_FILES_NAMED = 3


@dataclass
class Merge:
    """The outcome of merging more rounds into one task."""

    task_id: str
    n_replaced: int = 0
    """Rounds of other files that are also in this file."""
    n_kept: int = 0
    """Rounds of other files that stay."""
    files: list[str] = field(default_factory=list)
    """The other files."""


def merged_problem(uri: str, merges: Sequence[Merge]) -> Problem:
    """Return a warning about the merged files and replaced rounds."""
    files = sorted({file for each in merges for file in each.files})
    named = ", ".join(files[:_FILES_NAMED])
    named += f" and {len(files) - _FILES_NAMED} more" if files[_FILES_NAMED:] else ""
    runs, were = f"run {merges[0].task_id}", "was"
    if len(merges) > 1:
        runs, were = f"{runs} and {len(merges) - 1} more", "were"
    kept = sum(each.n_kept for each in merges)
    replaced = sum(each.n_replaced for each in merges)
    return Problem(
        "results_merged",
        f"{runs} {were} in {named} too: the rounds of {uri} are put to those by case"
        f" and round. Of those that were there, {kept} stay and {replaced} are"
        " replaced. Give the file a run_id of its own if it is another run",
        severity="warning",
        record_id=merges[0].task_id,
    )


class Merging:
    """Replace the rows of one file of results, batch by batch.

    Args:
        con: a connection in a transaction.
        load_id: load of the file.
        uri: URI of the file.
        sha256: hash of its bytes.
    """

    def __init__(
        self, con: duckdb.DuckDBPyConnection, load_id: int, uri: str, sha256: str
    ) -> None:
        self._sha256 = sha256
        self._con = con
        self._load_id = load_id
        self._uri = uri
        self._merges: dict[str, Merge] = {}
        self.merges: list[Merge] = []
        """Return the outcome of the whole file, after its last batch."""

    def make_room(self, one: ReadBatch) -> set[str]:
        """Delete what a batch replaces; return which of its tasks had live rows."""
        rows = one.reading.rows
        had = self._drop_own([task_id for _, task_id in one.reading.keys])
        if "rounds" in rows:
            with self._given(rows["rounds"], "task_id", "case_id", "round_id"):
                self._drop_again()
        if "tasks" in rows:
            with self._given(rows["cases"], "task_id", "case_id"):
                self._con.execute(
                    "delete from raw.cases where (task_id, case_id) in (from given)"
                )
            with self._given(rows["tasks"], "task_id"):
                self._settle_tasks()
        return had

    def close(self) -> None:
        """Set the start of runs to that of their first file, after writing all rows."""
        if self.merges:
            self._con.execute(
                "update raw.tasks set created_at = least(tasks.created_at,"
                " began.created_at) from began where tasks.task_id = began.task_id"
                " and list_contains(cast(? as varchar[]), tasks.task_id)",
                [[each.task_id for each in self.merges if each.n_kept]],
            )
        self._con.execute("drop table if exists began")

    def _drop_own(self, tasks: Sequence[str]) -> set[str]:
        """Delete the earlier rounds of the file; return the existing tasks."""
        if not tasks:
            return set()
        with self._given({"task_id": tasks}, "task_id"):
            self._con.execute(
                "delete from raw.rounds where task_id in (from given)"
                " and load_id in (select load_id from raw.loads"
                " where kind = ? and file_uri = ?)",
                [KIND, self._uri],
            )
            found = self._con.execute(
                "select task_id from raw.tasks where task_id in (from given)"
            ).fetchall()
        return {task_id for (task_id,) in found}

    def _drop_again(self) -> None:
        """Delete the rounds of other files that these rounds replace."""
        self._con.execute(
            "create or replace temp table again as"
            " select load_id, task_id, count(*) as n from raw.rounds"
            " where load_id <> ? and (task_id, case_id, round_id) in (from given)"
            " group by all",
            [self._load_id],
        )
        replaced = self._con.execute(
            "select task_id, sum(n)::bigint from again group by all order by all"
        ).fetchall()
        if replaced:
            self._con.execute(
                "delete from raw.rounds where load_id <> ?"
                " and (task_id, case_id, round_id) in (from given)",
                [self._load_id],
            )
            self._con.execute(
                "update raw.loads set rows_loaded = rows_loaded - gone.n"
                " from (select load_id, sum(n)::bigint as n from again group by all)"
                " as gone where loads.load_id = gone.load_id"
            )
        for task_id, n in replaced:
            self._merge(task_id).n_replaced += n
        self._con.execute("drop table again")

    def _settle_tasks(self) -> None:
        """Assign cases to the files with their rounds, and tasks to this file."""
        con = self._con
        con.execute(
            "delete from raw.cases where task_id in (from given) and not exists ("
            " from raw.rounds where rounds.task_id = cases.task_id"
            " and rounds.case_id = cases.case_id)"
        )
        con.execute(
            "update raw.cases set load_id = holders.load_id from ("
            " select task_id, case_id, max(load_id) as load_id,"
            " list(distinct load_id) as load_ids"
            " from raw.rounds where task_id in (from given) group by all) as holders"
            " where cases.task_id = holders.task_id and cases.case_id = holders.case_id"
            " and not list_contains(holders.load_ids, cases.load_id)"
        )
        for task_id, n, files in con.execute(
            "select task_id, count(*), list(distinct loads.file_uri order by file_uri)"
            " from raw.rounds inner join raw.loads using (load_id)"
            " where task_id in (from given) and load_id <> ? group by all order by all",
            [self._load_id],
        ).fetchall():
            merge = self._merge(task_id)
            merge.n_kept, merge.files = n, files
        self.merges = [
            each for each in self._merges.values() if each.n_kept
        ] + self._all_replaced()
        con.execute(
            "create or replace temp table began as"
            " select task_id, created_at from raw.tasks where task_id in (from given)"
        )
        con.execute("delete from raw.tasks where task_id in (from given)")

    def _all_replaced(self) -> list[Merge]:
        """Return tasks with rows of another file of which no row is left."""
        gone = [each for each in self._merges.values() if not each.n_kept]
        for each in gone:
            found = self._con.execute(
                "select file_uri from raw.tasks inner join raw.loads using (load_id)"
                " where task_id = ? and sha256 <> ?",
                [each.task_id, self._sha256],
            ).fetchall()
            each.files = [uri for (uri,) in found]
        return [each for each in gone if each.files]  # a copy causes no warning

    def _merge(self, task_id: str) -> Merge:
        return self._merges.setdefault(task_id, Merge(task_id))

    @contextmanager
    def _given(
        self, columns: Columns | Mapping[str, Any], *names: str
    ) -> Iterator[None]:
        """Create a temporary table ``given`` of ids for a ``with`` block."""
        import polars as pl

        from promptlab.ingest.raw.tables import as_relation

        frame: pl.DataFrame = pl.DataFrame(
            {name: columns[name] for name in names},
            schema=dict.fromkeys(names, pl.String),
        ).unique()
        typed = ", ".join(f"{name} varchar" for name in names)
        self._con.execute(f"create or replace temp table given ({typed})")
        as_relation(self._con, frame).insert_into("given")
        try:
            yield
        finally:
            self._con.execute("drop table given")
