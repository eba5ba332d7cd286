"""A batch of readings into the raw tables, in one transaction."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from ingest import raw

if TYPE_CHECKING:
    import duckdb

    from ingest.raw import Columns
    from ingest.readers import Source
    from ingest.reading import Key, Reading


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was read and waits to be written."""

    kind: str
    status: str
    """loaded, rejected or skipped"""
    message: str | None
    source: Source
    reading: Reading
    sha256: str
    testset: str | None
    """The testset named on the command line, where the kind takes one."""
    started_at: datetime
    finished_at: datetime


def write_batch(
    con: duckdb.DuckDBPyConnection,
    batch: Sequence[ReadFile],
    *,
    ingest_version: str,
) -> None:
    """Write all files of a batch, or none.

    Rows of an object that was there before are replaced, and the load log says so.
    """
    con.begin()
    try:
        _write_rows(con, batch, ingest_version)
        con.commit()
    except BaseException:
        con.rollback()
        raise


def _write_rows(
    con: duckdb.DuckDBPyConnection, batch: Sequence[ReadFile], ingest_version: str
) -> None:
    row = con.execute("select coalesce(max(load_id), 0) from raw.loads").fetchone()
    first_id = 1 if row is None else row[0] + 1
    numbered = list(zip(itertools.count(first_id), batch, strict=False))
    replaced = _replace(con, numbered)
    tables: dict[str, list[Columns]] = {}
    for load_id, one in numbered:
        for table, columns in one.reading.rows.items():
            rows = _with_load(table, columns, load_id, one.source.uri)
            tables.setdefault(table, []).append(rows)
    for table, parts in tables.items():
        raw.append(con, table, parts)
    raw.append(con, "rejects", [_reject_columns(numbered)])
    raw.append(con, "loads", [_load_columns(numbered, replaced, ingest_version)])


def _replace(
    con: duckdb.DuckDBPyConnection, numbered: list[tuple[int, ReadFile]]
) -> set[Key]:
    """Delete what the batch replaces; returns the keys that had live rows."""
    ids: dict[str, list[Key]] = {}
    for _, one in numbered:
        for kind, *parts in one.reading.keys:
            if kind == "scores":
                _replace_scores(con, one.source.uri)
            else:
                ids.setdefault(kind, []).append(tuple(parts))
    replaced = {
        (kind, *found)
        for kind, wanted in ids.items()
        for found in raw.delete_owned(con, kind, wanted)
    }
    if replaced:
        _mark_replaced(con)
    return replaced


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


def _reject_columns(numbered: list[tuple[int, ReadFile]]) -> Columns:
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


def _load_columns(
    numbered: list[tuple[int, ReadFile]],
    replaced: set[Key],
    ingest_version: str,
) -> Columns:
    def replaced_by(one: ReadFile) -> str:
        ids = ["|".join(key[1:]) for key in one.reading.keys if key in replaced]
        return json.dumps(ids, ensure_ascii=False)

    files = [one for _, one in numbered]
    readings = [one.reading for one in files]
    return {
        "load_id": [load_id for load_id, _ in numbered],
        "file_uri": [one.source.uri for one in files],
        "kind": [one.kind for one in files],
        "source_name": [one.source.name for one in files],
        "sha256": [one.sha256 for one in files],
        "bytes": [len(one.source.data) for one in files],
        "status": [one.status for one in files],
        "rows_loaded": [reading.records_loaded for reading in readings],
        "rows_rejected": [reading.records_rejected for reading in readings],
        "replaced": [replaced_by(one) for one in files],
        "testset_override": [one.testset for one in files],
        "message": [one.message for one in files],
        "started_at": [one.started_at for one in files],
        "finished_at": [one.finished_at for one in files],
        "ingest_version": [ingest_version] * len(files),
    }
