"""Batches of readings into the raw tables, each in one transaction."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from ingest import raw
from ingest.reading import Reading
from ingest.rows import columns_of

if TYPE_CHECKING:
    import duckdb

    from ingest.raw import Columns
    from ingest.readers import Source
    from ingest.reading import Key


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was read, or one batch of it, and waits to be written."""

    kind: str
    status: str
    """loaded, rejected or skipped"""
    message: str | None
    source: Source
    reading: Reading
    sha256: str
    testset: str | None
    """The testset named on the command line, where the kind takes one."""
    read_with: str
    """The settings that decide what is read."""
    redacted: Mapping[str, int]
    """Rule → values that were redacted; of the whole file, in its last batch."""
    started_at: datetime
    finished_at: datetime
    more: bool = False
    """Further batches of this file follow."""
    abandoned: bool = False
    """The batches before are not to be written after all."""


class Writer:
    """Writes batches of files; a batch is one transaction.

    A file that is read in batches of its own keeps its transaction open until the last,
    so that it is written whole or not at all.

    Args:
        con: a connection that may write; used by one thread at a time.
        ingest_version: of promptlab, kept with every load.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, ingest_version: str) -> None:
        self._con = con
        self._ingest_version = ingest_version
        self._first_load_id = 0
        self._before: Reading | None = None  # batches of an open file, without rows
        self._replaced: set[Key] = set()

    def write(self, batch: Sequence[ReadFile]) -> None:
        """Write all files of a batch, or none.

        Rows of an object that was there before are replaced, and the load log says so.
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
            self._before = None
            raise

    def give_up(self) -> None:
        """Leave out a file whose last batch did not come."""
        if self._before is not None:
            raw.roll_back(self._con)
            self._before = None

    def _write(self, batch: Sequence[ReadFile]) -> None:
        if self._before is None:
            row = self._con.execute("select max(load_id) from raw.loads").fetchone()
            self._first_load_id = (row[0] if row and row[0] else 0) + 1
            self._replaced = set()
        numbered = list(zip(itertools.count(self._first_load_id), batch, strict=False))
        self._replaced |= _replace(self._con, numbered)
        _write_rows(self._con, numbered)
        if batch[-1].more:
            self._before = _added(self._before, batch[-1].reading)
            return
        totals = [_added(self._before, one.reading) for one in batch]
        loads = _load_columns(numbered, totals, self._replaced, self._ingest_version)
        if self._replaced:
            _mark_replaced(self._con)
        raw.append(self._con, "loads", [loads])
        raw.append(self._con, "redactions", [_redaction_columns(numbered)])
        self._con.commit()
        self._before = None


def _added(before: Reading | None, reading: Reading) -> Reading:
    """Keys and counts of a file until now, without its rows and problems."""
    before = before or Reading(rows={})
    return Reading(
        rows={},
        records_loaded=before.records_loaded + reading.records_loaded,
        records_rejected=before.records_rejected + reading.records_rejected,
        keys=before.keys + reading.keys,
    )


def _write_rows(
    con: duckdb.DuckDBPyConnection, numbered: Sequence[tuple[int, ReadFile]]
) -> None:
    tables: dict[str, list[Columns]] = {}
    for load_id, one in numbered:
        for table, columns in one.reading.rows.items():
            rows = _with_load(table, columns, load_id, one.source.uri)
            tables.setdefault(table, []).append(rows)
    for table, parts in tables.items():
        raw.append(con, table, parts)
    raw.append(con, "rejects", [_reject_columns(numbered)])


def _replace(
    con: duckdb.DuckDBPyConnection, numbered: Sequence[tuple[int, ReadFile]]
) -> set[Key]:
    """Delete what the batch replaces; returns the keys that had live rows."""
    ids: dict[str, list[Key]] = {}
    for _, one in numbered:
        for kind, *parts in one.reading.keys:
            if kind == "scores":
                _replace_scores(con, one.source.uri)
            else:
                ids.setdefault(kind, []).append(tuple(parts))
    return {
        (kind, *found)
        for kind, wanted in ids.items()
        for found in raw.delete_owned(con, kind, wanted)
    }


def _replace_scores(con: duckdb.DuckDBPyConnection, uri: str) -> None:
    con.execute(
        "delete from raw.scores where load_id in"
        " (select load_id from raw.loads where kind = 'scores' and file_uri = ?)",
        [uri],
    )
    con.execute(
        "update raw.loads set status = 'replaced'"
        " where kind = 'scores' and status = 'loaded' and file_uri = ?",
        [uri],
    )


def _mark_replaced(con: duckdb.DuckDBPyConnection) -> None:
    """Loads that own nothing any more are history."""
    owners = " union all ".join(
        f"select load_id from raw.{tables[0]}"
        for tables, _ in raw.OWNED_TABLES.values()
    )
    con.execute(
        "update raw.loads set status = 'replaced' where status = 'loaded'"
        " and kind not in ('scores', 'unknown')"
        f" and load_id not in ({owners})"
    )


def _with_load(table: str, columns: Columns, load_id: int, uri: str) -> Columns:
    n = len(next(iter(columns.values())))
    file_uri = {"file_uri": [uri] * n} if table in {"testsets", "pipelines"} else {}
    return {"load_id": [load_id] * n, **file_uri, **columns}


def _reject_columns(numbered: Sequence[tuple[int, ReadFile]]) -> Columns:
    rows = [
        (load_id, one.source.uri, p)
        for load_id, one in numbered
        for p in one.reading.problems
    ]
    return {
        "load_id": [load_id for load_id, _, _ in rows],
        "file_uri": [uri for _, uri, _ in rows],
        **{
            name: [getattr(p, name) for _, _, p in rows]
            for name in (
                "line",
                "column",
                "record_id",
                "pointer",
                "severity",
                "code",
                "message",
                "raw_text",
            )
        },
    }


def _redaction_columns(numbered: Sequence[tuple[int, ReadFile]]) -> Columns:
    rows = [
        (load_id, rule, count)
        for load_id, one in numbered
        for rule, count in sorted(one.redacted.items())
    ]
    return columns_of(("load_id", "rule", "n_values"), rows)


def _load_columns(
    numbered: Sequence[tuple[int, ReadFile]],
    readings: Sequence[Reading],
    replaced: set[Key],
    ingest_version: str,
) -> Columns:
    def ids(keys: Iterable[Key]) -> str:
        return json.dumps(["|".join(key[1:]) for key in keys], ensure_ascii=False)

    files = [one for _, one in numbered]
    return {
        "load_id": [load_id for load_id, _ in numbered],
        "file_uri": [one.source.uri for one in files],
        "kind": [one.kind for one in files],
        "source_name": [one.source.name for one in files],
        "sha256": [one.sha256 for one in files],
        "bytes": [one.source.size for one in files],
        "status": [one.status for one in files],
        "rows_loaded": [reading.records_loaded for reading in readings],
        "rows_rejected": [reading.records_rejected for reading in readings],
        "replaced": [ids(k for k in r.keys if k in replaced) for r in readings],
        "testset_override": [one.testset for one in files],
        "message": [one.message for one in files],
        "started_at": [one.started_at for one in files],
        "finished_at": [one.finished_at for one in files],
        "ingest_version": [ingest_version] * len(files),
        "read_with": [one.read_with for one in files],
        "objects": [ids(reading.keys) for reading in readings],
    }
