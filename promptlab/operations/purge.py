"""Delete tasks and memory runs permanently, or the rows that do not count.

Both choose rows of each table, and write a new file without them: DuckDB does not
overwrite freed blocks. The new file replaces the old one by a rename, so if this is
killed, it has changed either nothing or everything.

A purge chooses tasks. It deletes the rows of raw tables that name one (`catalogue`).
Of a load that only contained such tasks it keeps nothing but the hash. It deletes the
rows of models whose key is in a batch that has to be built again. Testsets, pipelines
and other tasks stay. Ids are only compared for equality. Docs: docs/operations.md.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from promptlab.build import plan
from promptlab.copies import Select, write_copy
from promptlab.errors import NothingToDo, UsageError, nearest
from promptlab.ingest import raw
from promptlab.ingest.raw.catalogue import (
    BY_NAME,
    RAW_TABLES,
    RawTable,
    count_records,
)
from promptlab.ingest.raw.live import is_live
from promptlab.paths import dbt_target
from promptlab.relations import StoredTable, file_of, has_relation, tables_of

if TYPE_CHECKING:
    import duckdb

    from promptlab.warehouse_file import WarehouseFile


@dataclass(frozen=True)
class Purge:
    """The rows that a purge deletes, or would delete."""

    tasks: list[str]
    rows: dict[str, int]
    """``schema.table`` → rows, only tables that lose some."""
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
        UsageError: the file has hard links.
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
        UsageError: the file has hard links; nothing was changed.
        DatabaseLocked: another process holds the file.
        WarehouseError: no space for the new file next to the old one.
    """
    with warehouse.writable() as con:
        purged = _find(con, tasks, before)
        _write_again(con, _kept_by_purge)
    return purged


def find_dead(warehouse: WarehouseFile) -> Purge:
    """Return the rows that `compact` would delete, without changes.

    Raises:
        NothingToDo: there are none.
        UsageError: the file has hard links, or reads its raw tables from Parquet; or
            its marts are older than the newest load.
    """
    with warehouse.connect() as con:
        return _find_dead(con)


def compact(warehouse: WarehouseFile) -> Purge:
    """Delete the rows that do not count: of earlier versions of files, and copies.

    The load log stays, so that no file is read again.

    Raises:
        NothingToDo: every row counts.
        UsageError: as for `find_dead`; nothing was changed.
        DatabaseLocked: another process holds the file.
        WarehouseError: no space for the new file next to the old one.
    """
    with warehouse.writable() as con:
        purged = _find_dead(con)
        _write_again(con, _kept_by_compact)
    return purged


# ---------- what both do


def _check(con: duckdb.DuckDBPyConnection, fix: str) -> None:
    """Check that the rows are in this file, and nowhere else.

    Raises:
        NothingToDo: nothing was loaded.
        UsageError: the file has another name, under which they would stay; or its raw
            tables are views of other files, for which *fix* says what to do.
    """
    db = file_of(con)
    n = db.stat().st_nlink
    if n > 1:
        others = "another name" if n == 2 else f"{n - 1} other names"
        raise UsageError(
            f"{db}: the file has {others} (hard links), where the rows would stay;"
            f" `find / -samefile {shlex.quote(str(db))}` finds them. Delete them, or"
            " purge a copy of the file (nothing was changed)"
        )
    if not has_relation(con, "live.tasks"):
        raise NothingToDo(f"{db}: nothing has been loaded yet")
    raw.check_not_views(con, fix)


def _numbers(
    con: duckdb.DuckDBPyConnection, conditions: Mapping[str, str | None]
) -> dict[str, int]:
    """Return how many rows go, of the tables that lose some.

    Args:
        con: the connection.
        conditions: Table → the condition of the rows that go. Where all do, they are
            intermediate results, which do not count.
    """
    numbers = {}
    for table, goes in conditions.items():
        if goes not in (None, "true"):
            query = f"select count(*) from {table} where {goes}"
            (numbers[table],) = con.execute(query).fetchall()[0]
    return {table: n for table, n in numbers.items() if n}


def _write_again(con: duckdb.DuckDBPyConnection, select: Select) -> None:
    """Write the file again, and remove other files that may contain the old rows."""
    db = file_of(con)
    con.execute("checkpoint")  # so that no part of the old file remains
    write_copy(con, db, select=select)
    shutil.rmtree(db.with_name(f"{db.name}.tmp"), ignore_errors=True)
    for name in ("dbt.log", "run_results.json"):
        (dbt_target(db) / name).unlink(missing_ok=True)


def _select_kept(table: StoredTable, goes: str, values: Mapping[str, str]) -> str:
    """Return the query for the rows that stay, with new *values* of some columns."""
    new = ", ".join(f"{value} as {column}" for column, value in values.items())
    replaced = f" replace ({new})" if new else ""
    return f"select *{replaced} from {table.sql} as t where ({goes}) is not true"


def _records_left(goes: Callable[[RawTable], str]) -> str:
    """Return the number of records that a load ``t`` has then, for the load log."""
    left = count_records(lambda table: f"({goes(table)}) is not true")
    return (
        "case when status = 'loaded' then coalesce((select n"
        f" from ({left}) as records where records.load_id = t.load_id), 0)"
        " else rows_loaded end"
    )


# ---------- tasks that go


def _find(
    con: duckdb.DuckDBPyConnection, tasks: Sequence[str], before: date | None
) -> Purge:
    # the next build would recreate rows purged only from the marts
    _check(con, "delete that folder, and ingest what is to stay into a new one")
    chosen = sorted({*tasks, *_older(con, before)})
    if not chosen:
        raise NothingToDo(f"no task was created before {before}; nothing was changed")
    _check_known(con, tasks)
    _choose(con, chosen)
    conditions = {str(table): _goes(table) for table in tables_of(con)}
    return Purge(
        tasks=chosen,
        rows=_numbers(con, conditions),
        unknown=[name for name, goes in conditions.items() if goes is None],
    )


def _older(con: duckdb.DuckDBPyConnection, before: date | None) -> list[str]:
    rows = con.execute(_OLDER, [before]).fetchall() if before else []
    return [task_id for (task_id,) in rows]


_OLDER = """
    select task_id from live.tasks where created_at < cast($1 as date)
    union
    select run_id
    from raw.memory_runs semi join live.objects using (load_id)
    group by run_id
    having max(started_at) < cast($1 as date)
"""


def _check_known(con: duckdb.DuckDBPyConnection, tasks: Sequence[str]) -> None:
    known = con.execute(
        "select task_id from raw.tasks union select task_id from raw.scores"
        " union select run_id from raw.memory_runs order by all"
    ).fetchall()
    for task in tasks:
        if (task,) not in known:
            raise NothingToDo(
                f"there is no task {task!r}{nearest(task, [one for (one,) in known])}"
                " (a purge takes whole ids; nothing was changed)"
            )


# A label may name a round alone; its task is noted with the answer.
_LABEL_GOES = """
    task_id in (from purged_tasks)
    or (load_id, line, labeler, coalesce(dimension_id, '')) in (
        select (load_id, line, labeler, dimension_id)
        from raw.judged_answers where task_id in (from purged_tasks)
    )
"""

_CHOICE = f"""
-- What goes of the loads, of each that ever brought it.
create or replace temp table purged_objects as
with labels as (
    select load_id, bool_and(coalesce({_LABEL_GOES}, false)) as is_emptied
    from raw.labels
    group by load_id
)

select load_id, kind, object_id
from raw.objects
where
    kind in ('task', 'scores') and object_id in (from purged_tasks)
    or kind = 'memory' and object_id in (
        select run_id || '|' || task_id
        from raw.memory_runs where run_id in (from purged_tasks)
    )
    or kind = 'labels' and load_id in (select load_id from labels where is_emptied);

-- Loads that lose something. Of one that brought nothing else only the hash stays. A
-- load that brought nothing is like the others of its file.
create or replace temp table touched_loads as
with objects as (
    select load_id, (load_id, kind, object_id) in (from purged_objects) as goes
    from raw.objects
    union all
    select load_id, true from raw.labels where {_LABEL_GOES}
),

loads as (
    select load_id, file_uri, bool_or(goes) as is_touched, bool_and(goes) as is_emptied
    from raw.loads left join objects using (load_id)
    group by all
)

select
    load_id,
    coalesce(is_emptied, bool_or(is_emptied) over (partition by file_uri)) as is_emptied
from loads
qualify coalesce(is_touched, bool_or(is_touched) over (partition by file_uri));

-- Titles are summed up again; a build does so if one of their tasks is to be built.
create or replace temp table purged_titles as
select title from raw.task_builds where task_id in (from purged_tasks)
union
select title from live.tasks where task_id in (from purged_tasks);

create or replace temp table tasks_to_build as
from purged_tasks
union
select min(task_id)
from raw.task_builds
where task_id not in (from purged_tasks) and title in (from purged_titles)
group by title;
"""


def _choose(con: duckdb.DuckDBPyConnection, tasks: Sequence[str]) -> None:
    """Store what goes, and what is to be built, in temporary tables for the queries."""
    con.execute(
        "create or replace temp table purged_tasks as"
        " select unnest(cast($1 as varchar[])) as task_id",
        [list(tasks)],
    )
    con.execute(_CHOICE)
    compared = "".join(
        f" union select {node.key} from {table.sql} where {column} in"
        " (from purged_tasks)"
        for table in tables_of(con, "intermediate", "marts")
        if (node := _keyed(table))
        for column in node.mentions
    )
    con.execute(
        f"create or replace temp table tasks_to_compare as from purged_tasks{compared}"
    )


_IDS = {
    "tasks": "purged_tasks",
    "memory_runs": "purged_tasks",
    "titles": "purged_titles",
    "comparisons": "tasks_to_compare",
}
"""Batch of a build → the ids of which a purge deletes the rows."""

_IS_EMPTIED = "load_id in (select load_id from touched_loads where is_emptied)"

_BY_QUERY = {
    # What was left out as a copy may be loaded then.
    "raw.loads": (
        "status = 'skipped' and load_id in (select load_id from purged_objects)"
    ),
    "raw.objects": "(load_id, kind, object_id) in (from purged_objects)",
    # Of a load that stays, all that are not clearly of another task.
    "raw.rejects": f"""
        {_IS_EMPTIED}
        or load_id in (select load_id from touched_loads) and coalesce(
            case when json_valid(raw_text) then raw_text ->> '$.task_id' end
            in (from purged_tasks),
            true
        )
    """,
    "raw.redactions": _IS_EMPTIED,
    "raw.labels": _LABEL_GOES,
    "raw.task_builds": "task_id in (from tasks_to_build)",
    "raw.comparison_builds": "candidate_task_id in (from tasks_to_compare)",
    "live.objects": "(load_id, kind, object_id) in (from purged_objects)",
    "live.tasks": "task_id in (from purged_tasks)",
    "live.superseded": "task_id in (from purged_tasks)",
}
"""Table → the condition of its rows that go, where no column of ids alone says it."""


def _goes(table: StoredTable) -> str | None:
    """Return the condition of the rows that go; ``None`` for a table of others."""
    if condition := _BY_QUERY.get(str(table)):
        return condition
    if table.schema == "policy":
        return "false"
    if table.schema == "raw":
        known = BY_NAME.get(table.name)
        return None if known is None else _goes_of_raw(known)
    if (node := _keyed(table)) and node.batch:
        return f"{node.key} in (from {_IDS[node.batch]})"
    return "true" if _is_step(table) else None


def _goes_of_raw(table: RawTable) -> str:
    named = [f"{column} in (from purged_tasks)" for column in table.tasks]
    return _BY_QUERY.get(f"raw.{table.name}") or " or ".join(named) or "false"


def _keyed(table: StoredTable) -> plan.Node | None:
    """Return the model of a table whose rows have an owner."""
    node = plan.load().stored.get(str(table))
    is_owned = node and node.batch and node.key in table.columns
    return node if is_owned else None


def _is_step(table: StoredTable) -> bool:
    """Return true if every build computes all of it, so that no row has to stay.

    These are intermediate results, and marts whose rows belong to no task, such as
    sums over the labels of all tasks.
    """
    node = plan.load().stored.get(str(table))
    return table.schema == "intermediate" or (node is not None and node.kind == "table")


# Only the hash of a purged load stays, to recognise the file.
_FORGOTTEN = {
    "file_uri": "''",
    "source_name": "''",
    "status": "'purged'",
    "testset_override": "null",
    "message": "null",
}


def _kept_by_purge(table: StoredTable) -> str:
    values = {}
    if str(table) == "raw.loads":
        for column, value in _FORGOTTEN.items():
            values[column] = _where(_IS_EMPTIED, value, column)
        values["rows_loaded"] = _records_left(_goes_of_raw)
    elif node := _keyed(table):
        for column in node.mentions:
            values[column] = _where(f"{column} in (from purged_tasks)", "null", column)
    return _select_kept(table, _goes(table) or "false", values)


def _where(condition: str, value: str, column: str) -> str:
    return f"case when {condition} then {value} else {column} end"


# ---------- rows that do not count


def _find_dead(con: duckdb.DuckDBPyConnection) -> Purge:
    _check(con, "its folder keeps every version of a file")
    rows = _numbers(con, {f"raw.{one.name}": _is_dead(one) for one in RAW_TABLES})
    if not rows:
        raise NothingToDo(f"{file_of(con)}: every row counts; nothing was changed")
    (is_behind,) = con.execute(
        "select (select max(load_id) from raw.loads) > max(last_load_id)"
        " from raw.builds"
    ).fetchall()[0]
    if is_behind:
        raise UsageError(
            f"{file_of(con)}: the marts are older than the newest load, and may hold"
            " texts of earlier versions of files: call `promptlab build` first"
            " (nothing was changed)"
        )
    return Purge(tasks=[], rows=rows, unknown=[])


def _is_dead(table: RawTable) -> str:
    return f"not ({is_live(table)})"


def _kept_by_compact(table: StoredTable) -> str:
    known = BY_NAME.get(table.name) if table.schema == "raw" else None
    values = {}
    if str(table) == "raw.loads":
        values["rows_loaded"] = _records_left(_is_dead)
    return _select_kept(table, _is_dead(known) if known else "false", values)
