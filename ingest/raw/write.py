"""Write batches of readings to the raw tables, each in one transaction."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from promptlab.ingest import raw
from promptlab.ingest.raw import merging
from promptlab.ingest.raw.batch import (
    ReadBatch,
    added,
    load_columns,
    problem_columns,
    redaction_columns,
    reject_columns,
    with_load,
)
from promptlab.ingest.raw.catalogue import owning_tables

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    import duckdb

    from promptlab.ingest.raw.rows import Columns, Key, Reading
    from promptlab.ingest.reading.problems import Problem


class Writer:
    """Writes batches of files; a batch is one transaction.

    A file that is read in its own batches keeps its transaction open until the last,
    so that it is written whole or not at all.

    Args:
        con: a connection that may write; used by one thread at a time.
        ingest_version: version of promptlab, stored with every load.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, ingest_version: str) -> None:
        self._con = con
        self._ingest_version = ingest_version
        self._first_load_id = 0
        self._ingest_id: int | None = None
        self._before: Reading | None = None  # batches of an open file, without rows
        self._replaced: set[Key] = set()
        self._expected: dict[Key, str] = {}  # by testset and case, before its file
        self._times: dict[Key, datetime] = {}  # of tasks, before their file
        self._written: dict[Path, tuple[int, str]] = {}
        self._merging: merging.Merging | None = None  # of an open file
        self._mergings: list[tuple[ReadBatch, merging.Merging]] = []  # of a batch
        self.found: list[tuple[Path, Problem]] = []
        """Problems that are found in the tables, such as merged runs."""

    def write(self, batch: Sequence[ReadBatch]) -> None:
        """Write all files of a batch, or none.

        Rows of an existing object are replaced, which the load log records.
        """
        if batch[-1].abandoned:
            self.give_up()
            return
        if self._before is None:
            self._con.begin()
        try:
            self._write(batch)
        except BaseException:
            raw.roll_back(self._con)
            self._before = self._merging = None
            raise

    def give_up(self) -> None:
        """Roll back a file without its last batch."""
        if self._before is not None:
            raw.roll_back(self._con)
            self._before = self._merging = None

    def _write(self, batch: Sequence[ReadBatch]) -> None:
        if self._before is None:
            row = self._con.execute("select max(load_id) from raw.loads").fetchone()
            self._first_load_id = (row[0] if row and row[0] else 0) + 1
            self._replaced = set()
            self._expected = {}
            self._times = {}
        numbered = list(zip(itertools.count(self._first_load_id), batch, strict=False))
        self._expected |= _expected_before(self._con, numbered)
        self._times = _times_before(self._con, numbered) | self._times
        self._replaced |= _replace(self._con, numbered)
        self._replaced |= self._make_room(numbered)
        _write_rows(self._con, numbered)
        self._close_merging()
        if batch[-1].more:
            self._before = added(self._before, batch[-1].reading)
            return
        totals = [added(self._before, one.reading) for one in batch]
        if self._ingest_id is None:
            self._ingest_id = self._first_load_id
        self._replaced |= _changed_cases(self._con, self._expected)
        self._replaced |= _replaced_runs(self._con, self._times)
        loads = load_columns(
            numbered, totals, self._replaced, self._ingest_version, self._ingest_id
        )
        if self._replaced:
            _mark_replaced(self._con)
        raw.append(self._con, "loads", [loads])
        raw.append(self._con, "redactions", [redaction_columns(numbered)])
        self._con.commit()
        self._before = None
        for load_id, one in numbered:
            self._written[one.source.path] = load_id, one.source.uri

    def _make_room(self, numbered: Sequence[tuple[int, ReadBatch]]) -> set[Key]:
        """Delete rows that files of results replace; return the keys with live rows."""
        self._mergings = []
        replaced: set[Key] = set()
        for load_id, one in numbered:
            if one.kind != merging.KIND:
                continue
            if self._merging is None:
                self._merging = merging.Merging(
                    self._con, load_id, one.source.uri, one.sha256
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
                problem = merging.merged_problem(one.source.uri, each.merges)
                self.found.append((one.source.path, problem))

    def add_problems(self, found: Iterable[tuple[Path, Problem]]) -> None:
        """Write problems that need all files.

        Args:
            found: path of a file that was written, and its problem.
        """
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
        for kind, *parts in one.reading.keys:
            if kind in _LIVE_BY_FILE:
                if _replace_file(con, kind, one.source.uri):
                    replaced.add((kind, *parts))
            elif one.kind == merging.KIND:
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


def _expected_before(
    con: duckdb.DuckDBPyConnection, numbered: Sequence[tuple[int, ReadBatch]]
) -> dict[Key, str]:
    """Return the content hash of each case of the testsets that a batch replaces."""
    testsets = [
        parts[0]
        for _, one in numbered
        for kind, *parts in one.reading.keys
        if kind == "testset"
    ]
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


def _changed_cases(
    con: duckdb.DuckDBPyConnection, expected: dict[Key, str]
) -> set[Key]:
    """Return the cases of replaced testsets that were removed or changed."""
    if not expected:
        return set()
    found = con.execute(
        "select testset_id, case_id, content_hash from raw.test_cases"
        " where list_contains(cast(? as varchar[]), testset_id)",
        [list({key[1] for key in expected})],
    ).fetchall()
    now: dict[Key, str] = {
        ("testset", testset_id, case_id): each for testset_id, case_id, each in found
    }
    return {key for key, each in expected.items() if now.get(key) != each}


def _times_before(
    con: duckdb.DuckDBPyConnection, numbered: Sequence[tuple[int, ReadBatch]]
) -> dict[Key, datetime]:
    """Return the time of each task that a batch replaces."""
    return _times(con, [key for _, one in numbered for key in one.reading.keys])


def _replaced_runs(
    con: duckdb.DuckDBPyConnection, times: Mapping[Key, datetime]
) -> set[Key]:
    """Return the tasks that are a later run now, with the time of the earlier one."""
    now = _times(con, list(times))
    return {
        (*key, time.isoformat())
        for key, time in times.items()
        if key in now and now[key] > time
    }


def _times(con: duckdb.DuckDBPyConnection, keys: Sequence[Key]) -> dict[Key, datetime]:
    tasks = [key[1] for key in keys if key[0] == "task"]
    if not tasks:
        return {}
    found = con.execute(
        "select task_id, created_at from raw.tasks where created_at is not null"
        " and list_contains(cast(? as varchar[]), task_id)",
        [tasks],
    ).fetchall()
    return {("task", task_id): created_at for task_id, created_at in found}


def _of_other_kinds(con: duckdb.DuckDBPyConnection, tasks: Sequence[Key]) -> list[Key]:
    """Return the tasks of other kinds of files, which are replaced completely."""
    found = con.execute(
        "select task_id from raw.tasks where source_kind <> ?"
        " and list_contains(cast(? as varchar[]), task_id)",
        [merging.KIND, [task_id for (task_id,) in tasks]],
    ).fetchall()
    return [(task_id,) for (task_id,) in found]


_LIVE_BY_FILE = ("scores", "labels")
"""Kinds whose rows have no ids: the newest version of a file counts."""


def _replace_file(con: duckdb.DuckDBPyConnection, kind: str, uri: str) -> bool:
    """Delete the live rows of a file of this kind; return true if there were any."""
    deleted = con.execute(
        f"delete from raw.{kind} where load_id in"
        " (select load_id from raw.loads where kind = ? and file_uri = ?)",
        [kind, uri],
    ).fetchall()
    con.execute(
        "update raw.loads set status = 'replaced'"
        " where kind = ? and status = 'loaded' and file_uri = ?",
        [kind, uri],
    )
    return bool(deleted[0][0])


def _mark_replaced(con: duckdb.DuckDBPyConnection) -> None:
    """Mark loads that no longer own any object as replaced."""
    owners = " union all ".join(
        f"select load_id from raw.{table.name}"
        for table in owning_tables()
        if table.row_key
    )
    con.execute(
        "update raw.loads set status = 'replaced' where status = 'loaded'"
        f" and kind not in {(*_LIVE_BY_FILE, 'unknown')}"
        f" and load_id not in ({owners})"
    )
