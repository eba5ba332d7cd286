"""Merge a run of results in several files, by case and round.

Each file owns its rows. Loading it again replaces its earlier rows; a round that is
also in another file belongs to the newer file, like the fields of a case and of the
task. So the order of the calls does not matter, only that of the files.

The rows of the older file are kept in ``replaced_rounds`` and ``replaced_cases``: it is
not read again, so they come back when the newer file no longer has them.
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
    n_restored: int = 0
    """Rounds of other files that come back."""
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
    restored = sum(each.n_restored for each in merges)
    back = f"; {restored} that it no longer has come back from there" * bool(restored)
    return Problem(
        "results_merged",
        f"{runs} {were} in {named} too: the rounds of {uri} are put to those by case"
        f" and round. Of those that were there, {kept} stay and {replaced} are"
        f" replaced{back}. Give the file a run_id of its own if it is another run",
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
        self._settled: list[str] = []  # all tasks of the file, after its last batch
        self._began: dict[str, str] = {}  # task → its start before this file
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
                self._set_aside("cases", "(task_id, case_id) in (from given)")
            self._settled = list(rows["tasks"]["task_id"])
            self._drop_tasks()
        return had

    def close(self) -> None:
        """After the last batch of the file is written: restore rows, sum up."""
        if not self._settled:
            return
        with self._given({"task_id": self._settled}, "task_id"):
            self._restore()
            self._sum_up()
        for each in self.merges:
            if each.n_kept or each.n_restored:  # a run starts with its first file
                self._con.execute(
                    "update raw.tasks set"
                    " created_at = least(created_at, cast(? as timestamptz))"
                    " where task_id = ?",
                    [self._began.get(each.task_id), each.task_id],
                )

    def _drop_own(self, tasks: Sequence[str]) -> set[str]:
        """Delete the earlier rows of the file; return the existing tasks."""
        if not tasks:
            return set()
        with self._given({"task_id": tasks}, "task_id"):
            for table in ("rounds", "cases", "replaced_rounds", "replaced_cases"):
                self._con.execute(
                    f"delete from raw.{table} where task_id in (from given)"
                    " and load_id in (select load_id from raw.loads"
                    " where kind = ? and file_uri = ?)",
                    [KIND, self._uri],
                )
            found = self._con.execute(
                "select task_id from raw.tasks where task_id in (from given)"
            ).fetchall()
        return {task_id for (task_id,) in found}

    def _drop_again(self) -> None:
        """Set the rounds of other files aside that these rounds replace."""
        condition = "(task_id, case_id, round_id) in (from given)"
        for task_id, n, files in self._con.execute(
            "select task_id, count(*),"
            " list(distinct loads.file_uri) filter (where loads.sha256 <> ?)"
            " from raw.rounds inner join raw.loads using (load_id)"
            f" where load_id <> ? and {condition} group by all order by all",
            [self._sha256, self._load_id],
        ).fetchall():
            merge = self._merge(task_id)
            merge.n_replaced += n
            merge.files = sorted({*merge.files, *(files or ())})
        self._count_rows(
            "raw.rounds",
            f"load_id <> {self._load_id} and {condition}",
            "rows_loaded - n",
        )
        self._set_aside("rounds", condition)

    def _set_aside(self, table: str, condition: str) -> None:
        """Move rows of other files to the table of replaced rows."""
        condition = f"load_id <> {self._load_id} and {condition}"
        self._con.execute(
            f"insert into raw.replaced_{table} from raw.{table} where {condition}"
        )
        self._con.execute(f"delete from raw.{table} where {condition}")

    def _restore(self) -> None:
        """Restore the newest replaced row of each key that has none any more."""
        for table, key in (
            ("rounds", "task_id, case_id, round_id"),
            ("cases", "task_id, case_id"),
        ):
            self._con.execute(
                "create or replace temp table restored as"
                f" select * from raw.replaced_{table} where task_id in (from given)"
                f" and ({key}) not in (select ({key}) from raw.{table}"
                " where task_id in (from given))"
                f" qualify row_number() over (partition by {key}"
                " order by load_id desc) = 1"
            )
            if table == "rounds":
                self._count_restored()
            self._con.execute(f"insert into raw.{table} from restored")
            self._con.execute(
                f"delete from raw.replaced_{table} where (load_id, {key})"
                f" in (select (load_id, {key}) from restored)"
            )
            self._con.execute("drop table restored")

    def _count_restored(self) -> None:
        for task_id, n in self._con.execute(
            "select task_id, count(*) from restored group by all order by all"
        ).fetchall():
            self._merge(task_id).n_restored = n
        self._count_rows("restored", "true", "rows_loaded + n, status = 'loaded'")

    def _count_rows(self, table: str, condition: str, change: str) -> None:
        """Change the number of rows of the loads of some rounds, *n* of each."""
        self._con.execute(
            f"update raw.loads set rows_loaded = {change}"
            f" from (select load_id, count(*) as n from {table} where {condition}"
            " group by all) as counted where loads.load_id = counted.load_id"
        )

    def _drop_tasks(self) -> None:
        """Delete the tasks, which then belong to this file; keep when they began."""
        with self._given({"task_id": self._settled}, "task_id"):
            self._began = dict(
                self._con.execute(
                    "select task_id, created_at::varchar from raw.tasks"
                    " where task_id in (from given)"
                ).fetchall()
            )
            self._con.execute("delete from raw.tasks where task_id in (from given)")

    def _sum_up(self) -> None:
        """Count the rounds of other files that are left."""
        for task_id, n, files in self._con.execute(
            "select task_id, count(*), list(distinct loads.file_uri order by file_uri)"
            " from raw.rounds inner join raw.loads using (load_id)"
            " where task_id in (from given) and load_id <> ? group by all order by all",
            [self._load_id],
        ).fetchall():
            merge = self._merge(task_id)
            merge.n_kept, merge.files = n - merge.n_restored, files
        # a copy of another file causes no warning
        self.merges = [each for each in self._merges.values() if each.files]

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
