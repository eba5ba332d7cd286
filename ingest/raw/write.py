"""Append what was read to the raw tables: batches of files, each in one transaction."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from promptlab.ingest import raw
from promptlab.ingest.raw.rows import (
    Columns,
    ReadBatch,
    load_columns,
    object_columns,
    problem_columns,
    redaction_columns,
    reject_columns,
    with_load,
)
from promptlab.ingest.reading.problems import Problem
from promptlab.relations import roll_back

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb


class Writer:
    """Appends batches of files.

    A file that is read in its own batches keeps its transaction open until the last,
    so that it is written whole or not at all.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, ingest_version: str) -> None:
        self._con = con
        self._ingest_version = ingest_version
        row = con.execute("select max(load_id) from raw.loads").fetchone()
        self.first_load_id = (row[0] if row and row[0] else 0) + 1
        """First load of this call."""
        self._next_load_id = self.first_load_id
        self._is_open = False  # a file of which more batches follow
        self.loads: dict[Path, tuple[int, str]] = {}
        """Path of a written file → its load, and its whole path."""

    def write(self, batch: Sequence[ReadBatch]) -> None:
        """Write all files of a batch, or none."""
        if batch[-1].withdrawn:
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
        roll_back(self._con)
        self._is_open = False

    def _write(self, batch: Sequence[ReadBatch]) -> None:
        numbered = list(zip(itertools.count(self._next_load_id), batch, strict=False))
        tables: dict[str, list[Columns]] = {}
        for load_id, one in numbered:
            for table, columns in one.reading.rows.items():
                rows = with_load(table, columns, load_id, one.load.uri)
                tables.setdefault(table, []).append(rows)
        tables["rejects"] = [reject_columns(numbered)]
        self._is_open = batch[-1].more
        if not self._is_open:
            loads = [(load_id, one.load) for load_id, one in numbered]
            tables["loads"] = [
                load_columns(loads, self._ingest_version, self.first_load_id)
            ]
            tables["objects"] = [object_columns(loads)]
            tables["redactions"] = [redaction_columns(loads)]
        for table, parts in tables.items():
            raw.append(self._con, table, parts)
        if self._is_open:
            return
        if any(one.load.kind == "scores" for one in batch):
            self._con.execute(_HASH_SCORES, [self._next_load_id])
        self._con.commit()
        self._next_load_id += len(batch)
        self.loads.update({one.load.path: (n, one.load.uri) for n, one in numbered})

    def add_problems(self, problems: Iterable[tuple[Path, Problem]]) -> None:
        """Write problems that need all files."""
        rows = [(*self.loads[path], problem) for path, problem in problems]
        raw.append(self._con, "rejects", [problem_columns(rows)])


# The same scores of the same version of a task are no new version of them.
_HASH_SCORES = """
    insert into raw.objects by name
    with tasks as (
        select object_id as task_id, max(load_id) as load_id
        from raw.objects
        where kind = 'task'
        group by object_id
    )

    select
        scores.load_id,
        'scores' as kind,
        scores.task_id as object_id,
        md5(concat_ws(' ', tasks.load_id, count(*), sum(md5_number(concat_ws(
            chr(31), case_id, round_id, dimension_id, scorer,
            coalesce(score::varchar, '-'), scale, coalesce(summary, '-'), payload,
            coalesce(scorer_version, '-')
        )) % 18446744073709551616))) as content_hash,
        false as is_gone
    from raw.scores as scores
    left join tasks using (task_id)
    where scores.load_id >= $1
    group by scores.load_id, scores.task_id, tasks.load_id
    order by scores.load_id, scores.task_id
"""
