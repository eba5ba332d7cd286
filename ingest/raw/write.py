"""Write batches of readings to the raw tables, each in one transaction.

A run of results in several files is merged by case and round. Each file owns its rows.
Loading it again replaces its earlier rows; a round that is also in another file belongs
to the newer file, like the fields of a case and of the task. So the order of the calls
does not matter, only that of the files. The rows of the older file are kept in
``replaced_rounds`` and ``replaced_cases``: it is not read again, so they come back when
the newer file no longer has them.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptlab.ingest import raw
from promptlab.ingest.raw.catalogue import owning_tables
from promptlab.ingest.raw.replaced import (
    Replacement,
    StoredTask,
    labels_outdated,
    replacements,
    scores_outdated,
    stored_tasks,
)
from promptlab.ingest.raw.rows import (
    Columns,
    Key,
    ReadBatch,
    load_columns,
    problem_columns,
    redaction_columns,
    reject_columns,
    with_load,
)
from promptlab.ingest.reading.problems import Problem, warning

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb
    import polars as pl


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
    return warning(
        "results_merged",
        f"{runs} {were} in {named} too: the rounds of {uri} are put to those by case"
        f" and round. Of those that were there, {kept} stay and {replaced} are"
        f" replaced{back}. Give the file a run_id of its own if it is another run",
        record_id=merges[0].task_id,
    )


@dataclass
class Merging:
    """Replaces the rows of one file of results, batch by batch, in a transaction."""

    con: duckdb.DuckDBPyConnection
    load_id: int
    uri: str
    sha256: str
    merges: list[Merge] = field(default_factory=list)
    """The outcome of the whole file, after its last batch."""
    later: set[str] = field(default_factory=set)
    """Tasks that keep rounds of other files, and of which this file has later ones."""
    _merges: dict[str, Merge] = field(default_factory=dict)
    _settled: list[str] = field(default_factory=list)
    """All tasks of the file, after its last batch."""
    _before: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """Task → its start and its testset before this file."""

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
                began, testset = self._before.get(each.task_id, (None, None))
                if self.con.execute(
                    "select 1 from raw.tasks where task_id = ? and created_at > ?",
                    [each.task_id, began],
                ).fetchone():
                    self.later.add(each.task_id)
                self.con.execute(
                    "update raw.tasks set"
                    " created_at = least(created_at, cast(? as timestamptz)),"
                    " testset_ref = coalesce(testset_ref, ?)"
                    " where task_id = ?",
                    [began, testset, each.task_id],
                )

    def _drop_own(self, tasks: Sequence[str]) -> set[str]:
        """Delete the earlier rows of the file; return the existing tasks."""
        if not tasks:
            return set()
        with self._given({"task_id": tasks}, "task_id"):
            for table in ("rounds", "cases", "replaced_rounds", "replaced_cases"):
                self.con.execute(
                    f"delete from raw.{table} where task_id in (from given)"
                    " and load_id in (select load_id from raw.loads"
                    " where kind = ? and file_uri = ?)",
                    [KIND, self.uri],
                )
            found = self.con.execute(
                "select task_id from raw.tasks where task_id in (from given)"
            ).fetchall()
        return {task_id for (task_id,) in found}

    def _drop_again(self) -> None:
        """Set the rounds of other files aside that these rounds replace."""
        condition = "(task_id, case_id, round_id) in (from given)"
        found = self.con.execute(
            "select task_id, count(*),"
            " list(distinct loads.file_uri) filter (where loads.sha256 <> ?)"
            " from raw.rounds inner join raw.loads using (load_id)"
            f" where load_id <> ? and {condition} group by all order by all",
            [self.sha256, self.load_id],
        ).fetchall()
        if not found:
            return
        for task_id, n, files in found:
            merge = self._merge(task_id)
            merge.n_replaced += n
            merge.files = sorted({*merge.files, *(files or ())})
        self._count_rows(
            "raw.rounds",
            f"load_id <> {self.load_id} and {condition}",
            "rows_loaded - n",
        )
        self._set_aside("rounds", condition)

    def _set_aside(self, table: str, condition: str) -> None:
        """Move rows of other files to the table of replaced rows."""
        condition = f"load_id <> {self.load_id} and {condition}"
        self.con.execute(
            f"insert into raw.replaced_{table} from raw.{table} where {condition}"
        )
        self.con.execute(f"delete from raw.{table} where {condition}")

    def _restore(self) -> None:
        """Restore the newest replaced row of each key that has none any more."""
        is_any = self.con.execute(
            "select 1 from raw.replaced_cases where task_id in (from given) limit 1"
        ).fetchone()  # where a round is replaced, its case is
        if is_any is None:
            return
        for table, key in (
            ("rounds", "task_id, case_id, round_id"),
            ("cases", "task_id, case_id"),
        ):
            self.con.execute(
                "create or replace temp table restored as"
                f" select * from raw.replaced_{table} where task_id in (from given)"
                f" and ({key}) not in (select ({key}) from raw.{table}"
                " where task_id in (from given))"
                f" qualify row_number() over (partition by {key}"
                " order by load_id desc) = 1"
            )
            if table == "rounds":
                self._count_restored()
            self.con.execute(f"insert into raw.{table} from restored")
            self.con.execute(
                f"delete from raw.replaced_{table} where (load_id, {key})"
                f" in (select (load_id, {key}) from restored)"
            )
            self.con.execute("drop table restored")

    def _count_restored(self) -> None:
        for task_id, n in self.con.execute(
            "select task_id, count(*) from restored group by all order by all"
        ).fetchall():
            self._merge(task_id).n_restored = n
        self._count_rows("restored", "true", "rows_loaded + n, status = 'loaded'")

    def _count_rows(self, table: str, condition: str, change: str) -> None:
        """Change the number of rows of the loads of some rounds, *n* of each."""
        self.con.execute(
            f"update raw.loads set rows_loaded = {change}"
            f" from (select load_id, count(*) as n from {table} where {condition}"
            " group by all) as counted where loads.load_id = counted.load_id"
        )

    def _drop_tasks(self) -> None:
        """Delete the tasks, which then belong to this file; keep what they were."""
        with self._given({"task_id": self._settled}, "task_id"):
            self._before = {
                task_id: (began, testset)
                for task_id, began, testset in self.con.execute(
                    "select task_id, created_at::varchar, testset_ref from raw.tasks"
                    " where task_id in (from given)"
                ).fetchall()
            }
            self.con.execute("delete from raw.tasks where task_id in (from given)")

    def _sum_up(self) -> None:
        """Count the rounds of other files that are left."""
        for task_id, n, files in self.con.execute(
            "select task_id, count(*), list(distinct loads.file_uri order by file_uri)"
            " from raw.rounds inner join raw.loads using (load_id)"
            " where task_id in (from given) and load_id <> ? group by all order by all",
            [self.load_id],
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
        self.con.execute(f"create or replace temp table given ({typed})")
        as_relation(self.con, frame).insert_into("given")
        try:
            yield
        finally:
            self.con.execute("drop table given")


class Writer:
    """Writes batches of files; a batch is one transaction.

    A file that is read in its own batches keeps its transaction open until the last,
    so that it is written whole or not at all.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, ingest_version: str) -> None:
        self._con = con
        self._ingest_version = ingest_version
        self._first_load_id = 0
        self._ingest_id: int | None = None
        self._is_open = False  # a file of which more batches follow
        self._replaced: set[Key] = set()
        self._expected: dict[Key, str] = {}  # by testset and case, before its file
        self._tasks: dict[str, StoredTask] = {}  # before their file
        self._written: dict[Path, tuple[int, str]] = {}
        self._merging: Merging | None = None  # of an open file
        self._mergings: list[tuple[ReadBatch, Merging]] = []  # of a batch
        self.found: list[tuple[Path, Problem]] = []
        """Problems that are found in the tables, such as merged runs."""
        self.replacements: list[tuple[Path, Replacement]] = []
        """Tasks of other files that a file replaces, with its path."""

    def write(self, batch: Sequence[ReadBatch]) -> None:
        """Write all files of a batch, or none.

        Rows of an existing object are replaced, which the load log records.
        """
        if batch[-1].abandoned:
            self.give_up()
            return
        if not self._is_open:
            self._con.begin()
        try:
            self._write(batch)
        except BaseException:
            self._roll_back()
            raise

    def give_up(self) -> None:
        """Roll back a file without its last batch."""
        if self._is_open:
            self._roll_back()

    def _roll_back(self) -> None:
        raw.roll_back(self._con)
        self._is_open = False
        self._merging = None

    def _write(self, batch: Sequence[ReadBatch]) -> None:
        if not self._is_open:
            row = self._con.execute("select max(load_id) from raw.loads").fetchone()
            self._first_load_id = (row[0] if row and row[0] else 0) + 1
            self._replaced = set()
            self._expected = {}
            self._tasks = {}
        numbered = list(zip(itertools.count(self._first_load_id), batch, strict=False))
        keys = [key for _, one in numbered for key in one.reading.keys]
        testsets = [key[1] for key in keys if key[0] == "testset"]
        self._expected |= _content_hashes(self._con, testsets)
        tasks = [key[1] for key in keys if key[0] == "task"]
        stored = stored_tasks(self._con, tasks)
        _keep_answers(self._con, list(stored), is_first=not self._tasks)
        self._tasks = stored | self._tasks
        self._replaced |= _replace(self._con, numbered)
        self._replaced |= self._make_room(numbered)
        _write_rows(self._con, numbered)
        self._close_merging()
        self._is_open = batch[-1].more
        if self._is_open:
            return
        if self._ingest_id is None:
            self._ingest_id = self._first_load_id
        now = _content_hashes(self._con, list({key[1] for key in self._expected}))
        changed = {k for k, each in self._expected.items() if now.get(k) != each}
        self._replaced |= changed
        replaced, lost = _settle_scores(self._con, numbered, self._ingest_id)
        self._replaced |= replaced
        self.found += lost
        self.found += _settle_labels(self._con, numbered)
        self._see_replacements(numbered)
        loads = load_columns(
            numbered, self._replaced, self._ingest_version, self._ingest_id
        )
        if self._replaced:
            _mark_replaced(self._con)
        raw.append(self._con, "loads", [loads])
        raw.append(self._con, "redactions", [redaction_columns(numbered)])
        self.found += _replaced_scores(self._con, numbered)
        self._con.commit()
        for load_id, one in numbered:
            self._written[one.source.path] = load_id, one.source.uri

    def _see_replacements(self, numbered: Sequence[tuple[int, ReadBatch]]) -> None:
        """Record the tasks that were there before: other runs, and other files."""
        paths = {one.source.uri: one.source.path for _, one in numbered}
        files = {
            load_id: (one.source.uri, one.load.sha256 or "")
            for load_id, one in numbered
        }
        answered_anew = _change_answers(self._con) if self._tasks else set()
        later = {task_id for _, each in self._mergings for task_id in each.later}
        for each in replacements(self._con, self._tasks, files):
            if each.is_another_run or each.task_id in later & answered_anew:
                self._replaced.add(each.key)
            if each.now.sha256 != each.before.sha256:
                path = paths[each.now.uri]
                if n := _delete_scores(self._con, each, self._ingest_id):
                    self.found.append((path, scores_outdated(each.task_id, n)))
                if n := _outdate_labels(self._con, each, self._ingest_id):
                    self.found.append((path, labels_outdated(each.task_id, n)))
            if each.is_reported:
                self.replacements.append((paths[each.now.uri], each))

    def _make_room(self, numbered: Sequence[tuple[int, ReadBatch]]) -> set[Key]:
        """Delete rows that files of results replace; return the keys with live rows."""
        self._mergings = []
        replaced: set[Key] = set()
        for load_id, one in numbered:
            if one.load.kind != KIND:
                continue
            if self._merging is None:
                self._merging = Merging(
                    self._con, load_id, one.source.uri, one.load.sha256
                )
            replaced |= {("task", each) for each in self._merging.make_room(one)}
            self._mergings.append((one, self._merging))
            if not one.more:
                self._merging = None
        return replaced

    def _close_merging(self) -> None:
        """Report merged runs, after the rows of files of results."""
        for one, each in self._mergings:
            each.close()
            if each.merges and not one.more:
                problem = merged_problem(one.source.uri, each.merges)
                self.found.append((one.source.path, problem))

    def add_problems(self, found: Iterable[tuple[Path, Problem]]) -> None:
        """Write problems that need all files."""
        rows = [(*self._written[path], problem) for path, problem in found]
        raw.append(self._con, "rejects", [problem_columns(rows)])


def _write_rows(
    con: duckdb.DuckDBPyConnection, numbered: Sequence[tuple[int, ReadBatch]]
) -> None:
    tables: dict[str, list[Columns]] = {}
    for load_id, one in numbered:
        for table, columns in one.reading.rows.items():
            rows = with_load(table, columns, load_id, one.source.uri)
            tables.setdefault(table, []).append(rows)
    for table, parts in tables.items():
        raw.append(con, table, parts)
    raw.append(con, "rejects", [reject_columns(numbered)])


def _replace(
    con: duckdb.DuckDBPyConnection, numbered: Sequence[tuple[int, ReadBatch]]
) -> set[Key]:
    """Delete the rows that the batch replaces; return the keys with live rows."""
    ids: dict[str, list[Key]] = {}
    theirs: list[Key] = []  # tasks of results, which may have rounds in several files
    replaced: set[Key] = set()
    for _, one in numbered:
        replaced |= _replace_labels(con, one)
        for kind, *parts in one.reading.keys:
            if kind in _LIVE_BY_FILE:
                continue
            if one.load.kind == KIND:
                theirs += [tuple(parts)]
            else:
                ids.setdefault(kind, []).append(tuple(parts))
    if theirs:
        ids["task"] = [*ids.get("task", ()), *_of_other_kinds(con, theirs)]
    return replaced | {
        (kind, *found)
        for kind, wanted in ids.items()
        for found in raw.delete_owned(con, kind, wanted)
    }


def _content_hashes(
    con: duckdb.DuckDBPyConnection, testsets: list[str]
) -> dict[Key, str]:
    """Return the content of each case, to find those that a new version changes."""
    if not testsets:
        return {}
    found = con.execute(
        "select testset_id, case_id, content_hash from raw.test_cases"
        " where list_contains(cast(? as varchar[]), testset_id)",
        [testsets],
    ).fetchall()
    return {
        ("testset", testset_id, case_id): each for testset_id, case_id, each in found
    }


def _of_other_kinds(con: duckdb.DuckDBPyConnection, tasks: Sequence[Key]) -> list[Key]:
    """Return the tasks of other kinds of files, which are replaced completely."""
    found = con.execute(
        "select task_id from raw.tasks where source_kind <> ?"
        " and list_contains(cast(? as varchar[]), task_id)",
        [KIND, [task_id for (task_id,) in tasks]],
    ).fetchall()
    return [(task_id,) for (task_id,) in found]


REPLACED = "replaced"
"""Instead of the hash of an answer: the label named a round whose answer is gone."""

_LIVE_BY_FILE = ("scores", "labels")
"""Kinds whose rows belong to a file: other files add to them."""


def _replace_labels(con: duckdb.DuckDBPyConnection, one: ReadBatch) -> set[Key]:
    """Delete the live labels of earlier versions of a file; return what had some.

    Those of answers that were replaced stay until the new ones are written.
    """
    keys = {key for key in one.reading.keys if key[0] == "labels"}
    if not keys:
        return set()
    deleted = con.execute(
        "delete from raw.labels where load_id in"
        " (select load_id from raw.loads where kind = 'labels' and file_uri = ?)"
        f" and output_hash is distinct from '{REPLACED}' returning load_id",
        [one.source.uri],
    ).fetchall()
    return keys if deleted else set()


def _settle_labels(
    con: duckdb.DuckDBPyConnection, numbered: Sequence[tuple[int, ReadBatch]]
) -> list[tuple[Path, Problem]]:
    """Keep labels of replaced answers outdated that a file has again.

    In a version of their own file, a label that was changed, or has another time, is of
    the new answer. In another file all of a task are, where any is.

    Returns:
        Warnings of files with such labels.
    """
    found = []
    of_round = "case_id, dimension_id, labeler"
    content = "label, grade, labeled_at"
    for load_id, one in numbered:
        if one.load.kind != "labels":
            continue
        again = con.execute(
            f"""
            update raw.labels as labels
            set output_hash = '{REPLACED}', task_id = again.task_id
            from (
                select
                    labels.line,
                    outdated.task_id,
                    loads.file_uri = $2 as is_of_file,
                    ({_columns("labels", content)}) is not distinct from
                    ({_columns("outdated", content)}) as is_same,
                    bool_and(is_same) over (partition by outdated.task_id) as are_all
                from raw.labels as labels
                inner join raw.labels as outdated
                    on
                        labels.round_id = outdated.round_id
                        and ({_columns("labels", of_round)}) is not distinct from
                        ({_columns("outdated", of_round)})
                        and coalesce(labels.task_id = outdated.task_id, true)
                inner join raw.loads as loads on outdated.load_id = loads.load_id
                where
                    labels.load_id = $1
                    and labels.output_hash is null
                    and outdated.load_id < $1
                    and outdated.output_hash = '{REPLACED}'
            ) as again
            where
                labels.load_id = $1
                and labels.line = again.line
                and again.is_same
                and (again.is_of_file or again.are_all)
            returning labels.task_id
            """,
            [load_id, one.source.uri],
        ).fetchall()
        found += [
            (one.source.path, labels_outdated(task_id, n))
            for task_id, n in sorted(Counter(task_id for (task_id,) in again).items())
        ]
        con.execute(
            f"delete from raw.labels where output_hash = '{REPLACED}' and load_id < $1"
            " and load_id in (select load_id from raw.loads"
            " where kind = 'labels' and file_uri = $2)",
            [load_id, one.source.uri],
        )
    return found


def _columns(table: str, names: str) -> str:
    return ", ".join(f"{table}.{name}" for name in names.split(", "))


def _settle_scores(
    con: duckdb.DuckDBPyConnection,
    numbered: Sequence[tuple[int, ReadBatch]],
    ingest_id: int,
) -> tuple[set[Key], list[tuple[Path, Problem]]]:
    """Let the new scores of a file replace its earlier ones of the same tasks.

    Those of a task that are the same stay as they were loaded: a file that grows by a
    run changes no other. Nor do those of answers that were replaced come back.

    Returns:
        What was replaced, and warnings of files with fewer scores of a task than
        before.
    """
    replaced: set[Key] = set()
    found = []
    of_scores = {
        one.source.uri: (load_id, one)
        for load_id, one in numbered
        if one.load.kind == "scores"
    }
    known = con.execute(
        "select distinct file_uri from raw.loads"
        " where kind = 'scores' and list_contains(cast($1 as varchar[]), file_uri)",
        [list(of_scores)],
    ).fetchall()
    known_uris = {uri for (uri,) in known}
    for uri, (load_id, one) in of_scores.items():
        is_known = uri in known_uris
        if is_known or _repeats_scores(con, load_id):
            of_file = uri if is_known else None
            stale = _drop_stale_scores(con, load_id, of_file, ingest_id)
            found += [(one.source.path, scores_outdated(*each)) for each in stale]
    for uri in known_uris:
        load_id, one = of_scores[uri]
        both = con.execute(
            """
            select
                task_id,
                count(*) filter (load_id <> $1) as n_before,
                count(*) filter (load_id = $1) as n_now,
                n_before = n_now
                and bit_xor(hash(
                    case_id, round_id, dimension_id, score, scale, summary, payload,
                    scorer, scorer_version
                )) = 0 as is_same
            from raw.scores
            where
                task_id in (select task_id from raw.scores where load_id = $1)
                and (
                    load_id = $1
                    or load_id in (
                        select load_id from raw.loads
                        where kind = 'scores' and file_uri = $2
                    )
                )
            group by task_id
            having n_before > 0
            order by task_id
            """,
            [load_id, uri],
        ).fetchall()
        same = [row[0] for row in both if row[3]]
        others = [row[0] for row in both if not row[3]]
        con.execute(
            "delete from raw.scores where load_id = ? and list_contains(?, task_id)",
            [load_id, same],
        )
        con.execute(
            "delete from raw.scores where load_id <> ? and list_contains(?, task_id)"
            " and load_id in (select load_id from raw.loads"
            " where kind = 'scores' and file_uri = ?)",
            [load_id, others, uri],
        )
        replaced |= {("scores", task_id, uri) for task_id in others}
        if lost := [row[:3] for row in both if row[2] < row[1]]:
            found.append((one.source.path, _scores_lost(lost)))
    return replaced, found


_SCORE_OF = "task_id, case_id, round_id, dimension_id, scorer"
_SCORE = "hash({0}.score, {0}.scale, {0}.summary, {0}.payload, {0}.scorer_version)"


def _repeats_scores(con: duckdb.DuckDBPyConnection, load_id: int) -> bool:
    """Return true if a new file has scores of others, too: all that there are."""
    (repeats,) = con.execute(
        f"""
        select count(*) > 0
        from raw.scores
        inner join raw.scores as earlier using ({_SCORE_OF})
        where
            scores.load_id = $1
            and earlier.load_id < $1
            and {_SCORE.format("scores")} = {_SCORE.format("earlier")}
            and exists (from raw.replaced_scores)
        """,
        [load_id],
    ).fetchall()[0]
    return bool(repeats)


def _drop_stale_scores(
    con: duckdb.DuckDBPyConnection, load_id: int, uri: str | None, ingest_id: int
) -> list[tuple[str, int]]:
    """Delete scores that a file had of answers that an earlier call replaced.

    They are the same as before: where any was changed, the answers were scored again.
    Without *uri* it is any file.

    Returns:
        Task and number of scores.
    """
    con.execute(
        f"""
        create or replace temp table scored_again as
        select
            {_SCORE_OF},
            bool_and({_SCORE.format("scores")} = {_SCORE.format("stale")})
                over (partition by task_id) as is_stale
        from raw.scores
        inner join raw.replaced_scores as stale using ({_SCORE_OF})
        where
            scores.load_id = $1
            and task_id in (select task_id from raw.tasks where load_id < $3)
            and (
                cast($2 as varchar) is null
                or stale.load_id in (
                    select load_id from raw.loads
                    where kind = 'scores' and file_uri = $2
                )
            )
        """,
        [load_id, uri, ingest_id],
    )
    dropped = con.execute(
        f"delete from raw.scores where load_id = $1 and ({_SCORE_OF}) in"
        f" (select ({_SCORE_OF}) from scored_again where is_stale) returning task_id",
        [load_id],
    ).fetchall()
    con.execute(
        f"delete from raw.replaced_scores where ({_SCORE_OF}) in"
        f" (select ({_SCORE_OF}) from scored_again where not is_stale)"
    )
    return sorted(Counter(task_id for (task_id,) in dropped).items())


def _scores_lost(tasks: Sequence[tuple[str, int, int]]) -> Problem:
    [(task_id, before, now), *others] = tasks
    more = f", and fewer of {len(others)} more" if others else ""
    return warning(
        "scores_lost",
        f"this version of the file has {now} scores of {task_id}{more}; the one before"
        f" had {before}: the others are gone. Keep the scores of different judges in"
        " files of their own",
    )


# JSON without its blanks: an answer that is only written in another way is the same
_ANSWER = (
    "hash(raw_output, json(parsed_output), json(final_output), json(step_outputs))"
)


def _keep_answers(
    con: duckdb.DuckDBPyConnection, task_ids: Sequence[str], *, is_first: bool
) -> None:
    """Note the answers of these tasks before a file replaces any."""
    if not task_ids:
        return
    answers = (
        f"select task_id, case_id, round_id, {_ANSWER} as answer,"
        " error is null as is_answered"
        " from raw.rounds where list_contains($1, task_id)"
    )
    into = "create or replace temp table answers_before as"
    if not is_first:
        into = "insert into answers_before"
    con.execute(f"{into} {answers}", [task_ids])


def _change_answers(con: duckdb.DuckDBPyConnection) -> set[str]:
    """Note which answers are other ones now; return the tasks that had answered."""
    con.execute(
        "create or replace temp table answers_changed as"
        " select task_id, case_id, round_id, is_answered"
        " from answers_before inner join raw.rounds using (task_id, case_id, round_id)"
        f" where answer <> {_ANSWER}"
        " and task_id in (select task_id from answers_before)"
    )
    rows = con.execute(
        "select distinct task_id from answers_changed where is_answered"
    ).fetchall()
    return {task_id for (task_id,) in rows}


def _is_gone(each: Replacement, table: str) -> str:
    """Return SQL that is true for a row of which the answer was replaced."""
    if each.has_other_answers:
        return "true"
    return (
        "exists (from answers_changed as changed where changed.task_id = $1"
        f" and changed.round_id = {table}.round_id"
        f" and coalesce(changed.case_id = {table}.case_id, true))"
    )


def _delete_scores(
    con: duckdb.DuckDBPyConnection, each: Replacement, before: int | None
) -> int:
    """Delete the outside scores of answers that are gone, from calls before this load.

    These are all of an earlier run, unless the files of a run were merged. The file of
    these scores does not count for the later run, unless it changes.

    Returns:
        Their number.
    """
    outdated = (
        "from raw.scores where task_id = $1 and load_id < $2"
        f" and {_is_gone(each, 'scores')}"
    )
    con.execute(f"insert into raw.replaced_scores {outdated}", [each.task_id, before])
    deleted = con.execute(
        f"delete {outdated} returning load_id", [each.task_id, before]
    ).fetchall()
    con.execute(
        "update raw.loads set status = 'replaced' where list_contains(?, load_id)",
        [list({load_id for (load_id,) in deleted})],
    )
    return len(deleted)


def _outdate_labels(
    con: duckdb.DuckDBPyConnection, each: Replacement, before: int | None
) -> int:
    """Mark labels that name a round whose answer is gone; return their number.

    As for scores, but a label stays: a person made it.
    """
    marked = con.execute(
        f"update raw.labels set output_hash = '{REPLACED}' where task_id = $1"
        " and load_id < $2 and output_hash is null"
        f" and {_is_gone(each, 'labels')} returning load_id",
        [each.task_id, before],
    ).fetchall()
    return len(marked)


def _replaced_scores(
    con: duckdb.DuckDBPyConnection, numbered: Sequence[tuple[int, ReadBatch]]
) -> list[tuple[Path, Problem]]:
    """Return warnings of files with scores that counted from another file before.

    Each file keeps its own scores; those of the newest load count.
    """
    paths = {
        load_id: one.source.path
        for load_id, one in numbered
        if one.load.kind == "scores"
    }
    if not paths:
        return []
    rows = con.execute(
        """
        with pairs as (
            select
                scores.load_id,
                earlier.load_id as earlier_load_id,
                scores.score / scores.scale is distinct from
                earlier.score / earlier.scale as differs
            from raw.scores
            inner join raw.scores as earlier
                using (task_id, case_id, round_id, dimension_id, scorer)
            where
                list_contains(cast(? as bigint[]), scores.load_id)
                and earlier.load_id < scores.load_id
            qualify row_number() over (
                partition by
                    scores.load_id, task_id, case_id, round_id, dimension_id, scorer
                order by earlier.load_id desc
            ) = 1
        )

        select
            pairs.load_id,
            loads.file_uri,
            count(*),
            count(*) filter (pairs.differs)
        from pairs
        inner join raw.loads on pairs.earlier_load_id = loads.load_id
        group by pairs.load_id, loads.load_id, loads.file_uri
        order by pairs.load_id, loads.load_id
        """,
        [list(paths)],
    ).fetchall()
    return [
        (paths[load_id], _scores_replaced(file, count, n_different))
        for load_id, file, count, n_different in rows
    ]


def _scores_replaced(file: str, count: int, n_different: int) -> Problem:
    """Return a warning that scores count instead of those of another file."""
    scores = "1 score replaces that" if count == 1 else f"{count} scores replace those"
    differ = f", {n_different} of them with another score" if n_different else ""
    return warning(
        "scores_replaced",
        f"{scores} of {file}{differ}: the same scorer scored the same rounds on the"
        " same dimension, and the file that is loaded last counts. Give another scorer"
        " a name of its own (`scorer`)",
    )


def _mark_replaced(con: duckdb.DuckDBPyConnection) -> None:
    """Mark loads that no longer own any object as replaced."""
    owners = " union all ".join(
        f"select load_id from raw.{table.name}" for table in owning_tables()
    )
    con.execute(
        "update raw.loads set status = 'replaced' where status = 'loaded'"
        " and kind <> 'unknown'"
        f" and load_id not in ({owners})"
    )


def assign_labels(con: duckdb.DuckDBPyConnection) -> None:
    """Give labels that name a round alone the task of their answer, once for all.

    Every run has rounds of these ids, so it is the newest run that is loaded now; later
    ones have other answers. A label stays without a task where the round is in several
    titles, or in several variants of that run.
    """
    con.execute(
        """
        update raw.labels set task_id = found.task_id
        from (
            with candidates as (
                select distinct
                    labels.load_id, labels.line, tasks.task_id, tasks.title,
                    coalesce(tasks.run_id, tasks.task_id) as run_id, tasks.created_at
                from raw.labels as labels
                inner join raw.rounds as rounds using (round_id)
                inner join raw.tasks as tasks on rounds.task_id = tasks.task_id
                where
                    labels.task_id is null
                    and labels.output_hash is null
                    and coalesce(labels.case_id = rounds.case_id, true)
                    and tasks.recheck_of is null
            ),

            placed as (
                select
                    *,
                    first_value(run_id) over newest_first as newest_run,
                    first_value(created_at) over newest_first as newest_time
                from candidates
                window newest_first as (
                    partition by load_id, line order by created_at desc, task_id
                )
            )

            select load_id, line, max_by(task_id, created_at) as task_id
            from placed
            group by load_id, line
            having
                count(distinct title) = 1
                and count(*) filter (
                    where run_id = newest_run or created_at = newest_time
                ) = 1
        ) as found
        where labels.load_id = found.load_id and labels.line = found.line
        """
    )
