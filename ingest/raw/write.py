"""Append what was read to the raw tables: batches of files, each in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from promptlab.ingest import raw
from promptlab.ingest.raw.rows import (
    Columns,
    FileLoad,
    ReadBatch,
    load_columns,
    object_columns,
    problem_columns,
    redaction_columns,
    with_load,
)
from promptlab.ingest.reading.problems import Problem
from promptlab.relations import roll_back

if TYPE_CHECKING:
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

    def write(self, batch: Sequence[ReadBatch]) -> None:
        """Write all files of a batch, or none; they get their ``load_id``."""
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
        tables: dict[str, list[Columns]] = {}
        problems: list[tuple[FileLoad, Problem]] = []
        for load_id, one in enumerate(batch, self._next_load_id):
            one.load.load_id = load_id
            problems += [(one.load, problem) for problem in one.reading.problems]
            for table, columns in one.reading.rows.items():
                rows = with_load(table, columns, one.load)
                tables.setdefault(table, []).append(rows)
        tables["rejects"] = [problem_columns(problems)]
        self._is_open = batch[-1].more
        if not self._is_open:
            loads = [one.load for one in batch]
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
