"""Delete tasks and memory runs permanently.

DuckDB does not overwrite freed blocks. So a purge writes a new file without the rows
and replaces the old one by a rename: if it is killed, it has changed either nothing or
everything. Testsets, pipelines and other tasks stay. Docs: docs/operations.md.
"""

from __future__ import annotations

import difflib
import glob
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.database.copying import file_of, tables_of, write_copy
from promptlab.errors import NothingToDo
from promptlab.ingest import raw
from promptlab.operations import purge_sql
from promptlab.operations.ownership import is_unknown
from promptlab.paths import dbt_target

if TYPE_CHECKING:
    import duckdb

    from promptlab.warehouse_file import WarehouseFile


@dataclass(frozen=True)
class Purge:
    """The rows that a purge deletes, or would delete."""

    tasks: list[str]
    rows: dict[str, int]
    """``schema.table`` → rows, only tables that lose some."""
    backups: list[Path]
    """Copies next to the warehouse; they are not changed and may contain the rows."""
    unknown: list[str]
    """Tables of others; they are not changed and may also contain the rows."""


def find(
    warehouse: WarehouseFile,
    *,
    tasks: Sequence[str] = (),
    before: date | None = None,
) -> Purge:
    """Return the rows that a purge would delete, without changes.

    Args:
        warehouse: the warehouse.
        tasks: whole ids of tasks and memory runs.
        before: also every task created, and every memory run started, before this day
            begins (UTC); a run with an unknown start stays.

    Raises:
        NothingToDo: an id is not there, or nothing is older.
    """
    with warehouse.connect() as con:
        return _find(con, tasks, before)


def purge(
    warehouse: WarehouseFile,
    *,
    tasks: Sequence[str] = (),
    before: date | None = None,
) -> Purge:
    """Delete these tasks and memory runs from every table, and from the file.

    Their files are not loaded again, whatever their path: only the hash of each is
    kept. Takes the arguments of ``find``.

    Raises:
        NothingToDo: an id is not there, or nothing is older; nothing was changed.
        DatabaseLocked: another process holds the file.
        WarehouseError: no space for the new file next to the old one.
    """
    with warehouse.writable() as con:
        db = file_of(con)
        found = _find(con, tasks, before)
        # so that no part of the old file remains
        con.execute("checkpoint")
        write_copy(con, db, select=purge_sql.kept_rows)
    _remove_traces(db)
    return found


def _find(
    con: duckdb.DuckDBPyConnection,
    tasks: Sequence[str],
    before: date | None,
) -> Purge:
    db = file_of(con)
    if "raw" not in {table.schema for table in tables_of(con)}:
        raise NothingToDo(f"{db}: nothing has been loaded yet")
    # the next build would recreate rows purged only from the marts
    raw.check_not_views(
        con, "delete that folder, and ingest what is to stay into a new one"
    )
    _check_known(tasks, _ids(con, purge_sql.KNOWN_TASKS))
    tasks = [*tasks, *_ids(con, purge_sql.TASKS_BEFORE, before)] if before else tasks
    if not tasks:
        raise NothingToDo(f"no task was created before {before}; nothing was changed")
    tasks = sorted(set(tasks))
    purge_sql.choose(con, tasks)
    tables = tables_of(con)
    counts = {str(t): purge_sql.n_deleted(con, t) for t in tables}
    return Purge(
        tasks=tasks,
        rows={name: n for name, n in counts.items() if n},
        backups=sorted(db.parent.glob(f"{glob.escape(db.name)}.v*.bak")),
        unknown=[str(t) for t in tables if is_unknown(t)],
    )


def _ids(
    con: duckdb.DuckDBPyConnection, query: str, before: date | None = None
) -> list[str]:
    return [row[0] for row in con.execute(query, [before] if before else []).fetchall()]


def _check_known(wanted: Sequence[str], known: Sequence[str]) -> None:
    missing = [one for one in wanted if one not in set(known)]
    if missing:
        near = difflib.get_close_matches(missing[0], known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise NothingToDo(
            f"there is no task {missing[0]!r}{hint} (a purge takes whole ids; nothing"
            " was changed)"
        )


def _remove_traces(db: Path) -> None:
    """Remove files in which DuckDB and dbt may have stored old rows."""
    shutil.rmtree(db.with_name(f"{db.name}.tmp"), ignore_errors=True)
    target = dbt_target(db)
    for name in ("dbt.log", "run_results.json"):
        (target / name).unlink(missing_ok=True)
