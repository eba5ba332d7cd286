"""Delete tasks and memory runs permanently.

DuckDB does not overwrite freed blocks. So a purge writes a new file without the rows
and replaces the old one by a rename: if it is killed, it has changed either nothing or
everything. Testsets, pipelines and other tasks stay. Docs: docs/operations.md.

Ownership of rows is declared once: for raw tables in their catalogue, for models in
their key, their batch and the columns that mention other tasks. Ids are only compared
for equality. Values that other tasks stored about a purged task belong to those tasks;
the next build compares them again.
"""

from __future__ import annotations

import difflib
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.build import plan
from promptlab.database import (
    StoredTable,
    file_of,
    has_relation,
    tables_of,
    write_copy,
)
from promptlab.errors import NothingToDo, UsageError
from promptlab.ingest import raw
from promptlab.ingest.raw.catalogue import (
    BY_NAME,
    RAW_TABLES,
    Ids,
    RawTable,
    count_records,
)
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
        db = file_of(con)
        purged = _find(con, tasks, before)
        # so that no part of the old file remains
        con.execute("checkpoint")
        write_copy(con, db, select=kept_rows)
    _remove_traces(db)
    return purged


def _find(
    con: duckdb.DuckDBPyConnection,
    tasks: Sequence[str],
    before: date | None,
) -> Purge:
    db = file_of(con)
    _check_one_name(db)
    if not has_relation(con, "live.tasks"):
        raise NothingToDo(f"{db}: nothing has been loaded yet")
    # the next build would recreate rows purged only from the marts
    raw.check_not_views(
        con, "delete that folder, and ingest what is to stay into a new one"
    )
    _check_known(tasks, _ids(con, KNOWN_TASKS))
    tasks = [*tasks, *_ids(con, TASKS_BEFORE, before)] if before else tasks
    if not tasks:
        raise NothingToDo(f"no task was created before {before}; nothing was changed")
    tasks = sorted(set(tasks))
    choose(con, tasks)
    tables = tables_of(con)
    counts = {str(t): n_deleted(con, t) for t in tables}
    return Purge(
        tasks=tasks,
        rows={name: n for name, n in counts.items() if n},
        unknown=[str(t) for t in tables if is_unknown(t)],
    )


def _check_one_name(db: Path) -> None:
    """Raise an error for a file with hard links: the rows stay under the other names.

    Raises:
        UsageError: it has another name.
    """
    n = db.stat().st_nlink
    if n > 1:
        others = "another name" if n == 2 else f"{n - 1} other names"
        raise UsageError(
            f"{db}: the file has {others} (hard links), where the rows would stay;"
            f" `find / -samefile {shlex.quote(str(db))}` finds them. Delete them, or"
            " purge a copy of the file (nothing was changed)"
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


KNOWN_TASKS = (
    "select task_id from raw.tasks union select task_id from raw.scores"
    " union select run_id from raw.memory_runs"
)
TASKS_BEFORE = """
    select task_id from live.tasks where created_at < cast($1 as date)
    union
    select run_id from raw.memory_runs semi join live.objects using (load_id)
    group by run_id
    having max(started_at) < cast($1 as date)
"""


def _goes(owners: Sequence[Ids]) -> str:
    """Return the condition on rows with a purged id."""
    return " or ".join(f"{column} in (from {ids})" for column, ids in owners) or "false"


_IS_PURGED_LABEL = (
    "(load_id, line, labeler, coalesce(dimension_id, '')) in (from purged_labels)"
)

_LOADS_TO_PURGE = f"""
create or replace temp table purged_labels as
select load_id, line, labeler, dimension_id
from raw.judged_answers where task_id in (from purged_tasks)
union
select load_id, line, labeler, coalesce(dimension_id, '')
from raw.labels where task_id in (from purged_tasks);

-- The objects that go, of all loads that ever brought them.
create or replace temp table purged_objects as
select load_id, kind, object_id
from raw.objects
where
    kind in ('task', 'scores') and object_id in (from purged_tasks)
    or load_id in (
        select load_id from raw.memory_runs where run_id in (from purged_tasks)
    )
    or kind = 'labels' and load_id not in (
        select load_id from raw.labels
        where ({_IS_PURGED_LABEL}) is not true
    );

-- A load of which every object goes leaves its hash; one that brought none, too, if its
-- file is that of such a load.
create or replace temp table purged_loads as
with emptied as (
    select load_id from purged_objects
    except
    select load_id
    from (
        from raw.objects anti join purged_objects using (load_id, kind, object_id)
    )
)

from emptied
union
select load_id from raw.loads
where
    load_id not in (select load_id from raw.objects)
    and file_uri in (select file_uri from raw.loads semi join emptied using (load_id));

-- What was left out as a copy of them may be loaded then.
create or replace temp table forgotten_loads as
select load_id from raw.loads
where status = 'skipped' and load_id in (select load_id from purged_objects);

create or replace temp table thinned_loads as
select distinct load_id from purged_objects where load_id not in (from purged_loads)
union
select load_id from purged_labels where load_id not in (from purged_loads);

-- Titles that lose a task have to be summed up again.
create or replace temp table titled_tasks as
select task_id, title from live.tasks
union
select run_id, coalesce(title, dataset) from raw.memory_runs;

create or replace temp table touched_titles as
select distinct title from titled_tasks semi join purged_tasks using (task_id);

-- One task that is left of each touched title is built again, and the title with it.
create or replace temp table tasks_to_build as
from purged_tasks union
select min(task_id) from titled_tasks anti join purged_tasks using (task_id)
where title in (from touched_titles)
group by title;
"""


def choose(con: duckdb.DuckDBPyConnection, tasks: Sequence[str]) -> None:
    """Store the purged ids in temporary tables for the other queries of this module."""
    con.execute(
        "create or replace temp table purged_tasks as"
        " select unnest(cast($1 as varchar[])) as task_id",
        [list(tasks)],
    )
    con.execute(_LOADS_TO_PURGE)
    mentioned = "".join(
        f" union select {rule.owners[0][0]} from {table.sql}"
        f" where {column} in (from {ids})"
        for table in tables_of(con, "intermediate", "marts")
        if (rule := rule_of(table))
        for column, ids in rule.mentions
    )
    con.execute(
        f"create or replace temp table tasks_to_compare as from purged_tasks{mentioned}"
    )


def n_deleted(con: duckdb.DuckDBPyConnection, table: StoredTable) -> int:
    """Count the rows of a table that a purge deletes; 0 for intermediate results."""
    if is_step(table) and str(table) not in _GOES:
        return 0
    row = con.execute(
        f"select count(*) from {table.sql} where {_is_purged(table)}"
    ).fetchone()
    return 0 if row is None else int(row[0])


def kept_rows(table: StoredTable) -> str:
    """Return the query for the rows of a table that a purge keeps."""
    changes = ", ".join(
        f"case when {condition} then {value} else {column} end as {column}"
        for column, value, condition in _changes(table)
    )
    replaced = f" replace ({changes})" if changes else ""
    stays = f"({_is_purged(table)}) is not true"
    return f"select *{replaced} from {table.sql} as t where {stays}"


# For a file that keeps some objects: all rows not clearly of another task.
_REJECT_GOES = """
    load_id in (from purged_loads)
    or load_id in (from forgotten_loads)
    or (
        file_uri in (
            select file_uri from raw.loads
            where kind = 'scores' and load_id in (from thinned_loads)
        )
        and coalesce(
            case when json_valid(raw_text) then raw_text ->> '$.task_id' end
            in (from purged_tasks),
            true
        )
    )
"""

_GOES = {
    "raw.loads": "load_id in (from forgotten_loads)",
    "raw.rejects": _REJECT_GOES,
    "raw.labels": _IS_PURGED_LABEL,
    "raw.objects": "(load_id, kind, object_id) in (from purged_objects)",
    "live.objects": "(load_id, kind, object_id) in (from purged_objects)",
    "live.tasks": "task_id in (from purged_tasks)",
    "live.superseded": "task_id in (from purged_tasks)",
}
"""Table → the condition of its rows that go, where no column alone says it."""


def _is_purged(table: StoredTable) -> str:
    """Return the condition of purged rows."""
    if str(table) in _GOES:
        return _GOES[str(table)]
    if is_step(table):
        return "true"
    return _goes((rule_of(table) or STAYS).owners)


# Only the hash of a purged load stays, to recognise the file.
_FORGOTTEN = {
    "file_uri": "''",
    "source_name": "''",
    "status": "'purged'",
    "testset_override": "null",
    "message": "null",
}


def _changes(table: StoredTable) -> Iterator[tuple[str, str, str]]:
    """Return column, new value, and the condition on rows to update."""
    if str(table) == "raw.loads":
        for column, value in _FORGOTTEN.items():
            yield column, value, "load_id in (from purged_loads)"
        yield "rows_loaded", _records_left(_stays), "status = 'loaded'"
    for column, ids in (rule_of(table) or STAYS).mentions:
        yield column, "null", f"{column} in (from {ids})"


def _stays(table: RawTable) -> str:
    """Return the condition of the rows of a raw table that a purge keeps."""
    goes = _GOES.get(f"raw.{table.name}") or _goes(table.purged_by)
    return f"({goes}) is not true"


def _records_left(condition: Callable[[RawTable], str]) -> str:
    """Return how many records are left of a load ``t``, for the load log."""
    left = f"({count_records(condition)}) as records"
    return f"coalesce((select n from {left} where records.load_id = t.load_id), 0)"


@dataclass(frozen=True)
class PurgeRule:
    """The rows of a table that a purge deletes."""

    owners: tuple[Ids, ...] = ()
    """Rows are deleted if one of these is purged; the first is the table's key."""
    mentions: tuple[Ids, ...] = ()
    """References to other objects, which are cleared in rows that stay."""


STAYS = PurgeRule()

_OF_TASKS = "purged_tasks"

OF_RAW = {
    table.name: PurgeRule(table.purged_by, table.mentions) for table in RAW_TABLES
}
"""Raw table → the rows that a purge deletes."""

# Batch and key of a model → the kind of ids to purge.
_OF_BATCHES = {
    ("tasks", "task_id"): _OF_TASKS,
    ("memory_runs", "run_id"): _OF_TASKS,
    ("titles", "title"): "touched_titles",
    ("comparisons", "task_id"): "tasks_to_compare",
    ("comparisons", "candidate_task_id"): "tasks_to_compare",
}


@cache
def of_models() -> dict[str, PurgeRule]:
    """``schema.table`` → the rows that a purge deletes."""
    return {
        f"{node.schema}.{node.name}": PurgeRule(
            owners=((node.key, _OF_BATCHES[node.batch, node.key]),),
            mentions=tuple((column, _OF_TASKS) for column in node.mentions),
        )
        for node in plan.load().nodes
        if node.key is not None and node.batch is not None
    }


def rule_of(table: StoredTable) -> PurgeRule | None:
    """Return the rows to delete; ``None`` for a table that is not promptlab's."""
    if table.schema == "raw":
        return OF_RAW.get(table.name)
    rule = of_models().get(str(table))
    columns = () if rule is None else (*rule.owners, *rule.mentions)
    return rule if {column for column, _ in columns} <= set(table.columns) else None


@cache
def _tables_of_every_build() -> frozenset[str]:
    return frozenset(
        f"{node.schema}.{node.name}"
        for node in plan.load().nodes
        if node.kind == "table"
    )


def is_step(table: StoredTable) -> bool:
    """Return true if every build recomputes it completely, so that no row has to stay.

    These are intermediate results, and marts whose rows belong to no task, such as
    aggregates over the labels of all tasks.
    """
    if rule_of(table) is not None:
        return False
    return table.schema == "intermediate" or str(table) in _tables_of_every_build()


def is_unknown(table: StoredTable) -> bool:
    """True for a table without declared ownership, such as a user's own table."""
    return not (table.schema in ("policy", "live") or is_step(table) or rule_of(table))


# ---------- what does not count any more


def compact(warehouse: WarehouseFile) -> Purge:
    """Delete the rows that do not count: of earlier versions of files, and copies.

    The load log stays, so that no file is read again.

    Raises:
        NothingToDo: every row counts.
        UsageError: the file has hard links; nothing was changed.
        DatabaseLocked: another process holds the file.
        WarehouseError: no space for the new file next to the old one.
    """
    with warehouse.writable() as con:
        db = file_of(con)
        purged = find_dead(con)
        con.execute("checkpoint")
        write_copy(con, db, select=_live_rows)
    _remove_traces(db)
    return purged


def find_dead(con: duckdb.DuckDBPyConnection) -> Purge:
    """Return the rows that `compact` deletes.

    Raises:
        NothingToDo: there are none.
        UsageError: the file has hard links, or reads its raw tables from Parquet.
    """
    db = file_of(con)
    _check_one_name(db)
    if not has_relation(con, "live.tasks"):
        raise NothingToDo(f"{db}: nothing has been loaded yet")
    raw.check_not_views(con, "its folder keeps every version of a file")
    rows = dict(dead_rows(con))
    if not rows:
        raise NothingToDo(f"{db}: every row counts; nothing was changed")
    return Purge(tasks=[], rows=rows, unknown=[])


def dead_rows(con: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, int]]:
    """Yield each raw table with rows that do not count, and their number."""
    for table in RAW_TABLES:
        if table.owner:
            query = (
                f"select count(*) from raw.{table.name} where not ({is_live(table)})"
            )
            (n,) = con.execute(query).fetchall()[0]
            if n:
                yield f"raw.{table.name}", n


def is_live(table: RawTable) -> str:
    """Return the condition of the rows of a table that count."""
    if table.owner is None:
        return "true"
    kind = table.owner.kind
    if kind not in ("task", "scores"):
        return "load_id in (select load_id from live.objects)"
    condition = (
        "(load_id, task_id) in (select (load_id, object_id) from live.objects"
        f" where kind = '{kind}')"
    )
    keys = {"cases": "load_id, task_id, case_id"}
    keys["rounds"] = f"{keys['cases']}, round_id"
    if key := keys.get(table.name):
        is_case = "is" if table.name == "cases" else "is not"
        condition += (
            f" and ({key}) not in (select ({key}) from live.superseded"
            f" where round_id {is_case} null)"
        )
    return condition


def _live_rows(table: StoredTable) -> str:
    if str(table) == "raw.loads":
        left = _records_left(is_live)
        return (
            f"select * replace (case when status = 'loaded' then {left}"
            f" else rows_loaded end as rows_loaded) from {table.sql} as t"
        )
    raw_table = BY_NAME.get(table.name) if table.schema == "raw" else None
    condition = is_live(raw_table) if raw_table else "true"
    return f"select * from {table.sql} where {condition}"
