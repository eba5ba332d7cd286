"""The rows that a purge keeps: those whose id is not purged.

Values that other tasks stored about a purged task belong to those tasks. The next build
compares them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from promptlab.database.copying import StoredTable, tables_of
from promptlab.ingest.foreign.registry import TOOLS
from promptlab.ingest.raw.catalogue import Ids, owning_tables
from promptlab.operations.ownership import STAYS, is_step, rule_of

if TYPE_CHECKING:
    import duckdb

KNOWN_TASKS = (
    "select task_id from raw.tasks union select task_id from raw.scores"
    " union select run_id from raw.memory_runs"
)
TASKS_BEFORE = """
    select task_id from raw.tasks where created_at < cast($1 as date)
    union
    select run_id from raw.memory_runs group by run_id
    having max(started_at) < cast($1 as date)
"""


def _goes(owners: Sequence[Ids]) -> str:
    """Return the condition on rows with a purged id."""
    return " or ".join(f"{column} in (from {ids})" for column, ids in owners) or "false"


_OWNED = " union all\n    ".join(
    f"select load_id, {_goes(table.purged_by)} as goes from raw.{table.name}"
    for table in owning_tables()
)

_LOADS_TO_PURGE = f"""
create or replace temp table purged_loads as
with

-- The objects that go, as the load log names them; and the kinds of their files.
purged_objects as (
    select task_id as id, {["analysis", "results", *TOOLS]} as kinds from purged_tasks
    union all
    select distinct run_id || '|' || task_id, ['memory']
    from raw.memory_runs where run_id in (from purged_tasks)
),

-- Every object that is live belongs to a load, and goes or stays.
owned as (
    {_OWNED}
),

-- A load of which every live object goes keeps none.
emptied as (
    select load_id from owned group by load_id having bool_and(goes)
),

-- A load may once have brought an object that goes; of a score file, and of a load that
-- does not say what it brought, it is enough that its file is that of an emptied load.
earlier as (
    select load_id
    from (
        select load_id, kind, unnest(cast(objects as varchar[])) as id from raw.loads
    )
    inner join purged_objects using (id)
    where list_contains(kinds, kind)
    union
    select load_id from raw.loads
    where
        (kind = 'scores' or coalesce(json_array_length(objects), 0) = 0)
        and file_uri in (
            select file_uri from raw.loads semi join emptied using (load_id)
        )
)

-- An earlier load goes only where it has no live object any more.
select load_id from emptied
union
select load_id from earlier anti join owned using (load_id);

-- Score files that lose some scores keep the others.
create or replace temp table thinned_loads as
select load_id, count(*) filter (task_id not in (from purged_tasks)) as rows_left
from raw.scores group by load_id
having bool_or(task_id in (from purged_tasks)) and rows_left > 0;

-- The load log says how many rows are left of each load that loses some.
create or replace temp table rows_left as
from thinned_loads union all select load_id, 0 from purged_loads;

-- Titles that lose a task have to be summed up again.
create or replace temp table titled_tasks as
select task_id, title from raw.tasks
union
select run_id, coalesce(title, dataset) from raw.memory_runs;

create or replace temp table touched_titles as
select distinct title from titled_tasks semi join purged_tasks using (task_id);

-- Of these, some lose every task.
create or replace temp table emptied_titles as
from touched_titles where title not in (
    select title from titled_tasks anti join purged_tasks using (task_id)
);

-- Files that lose some of their tasks: what they claim of all no longer says anything.
create or replace temp table thinned_runs as
select distinct load_id from raw.tasks semi join purged_tasks using (task_id);

-- One task that is left of each touched title is built again, and the title with it; so
-- are the tasks of a file that loses others.
create or replace temp table tasks_to_build as
from purged_tasks union
select min(task_id) from titled_tasks anti join purged_tasks using (task_id)
where title in (from touched_titles)
group by title
union
select task_id from raw.tasks anti join purged_tasks using (task_id)
where load_id in (from thinned_runs);
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
    if is_step(table):
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


# For a score file that keeps some scores: all rows not clearly of another task.
_REJECT_GOES = """
    load_id in (from purged_loads)
    or (
        file_uri in (
            select file_uri from raw.loads semi join thinned_loads using (load_id)
        )
        and coalesce(
            case when json_valid(raw_text) then raw_text ->> '$.task_id' end
            in (from purged_tasks),
            true
        )
    )
"""


# Totals over all tasks of a run, stored with one of them.
_TOTAL_GOES = "scope = 'run' and load_id in (from thinned_runs)"


def _is_purged(table: StoredTable) -> str:
    """Return the condition of purged rows."""
    if is_step(table):
        return "true"
    if str(table) == "raw.rejects":
        return _REJECT_GOES
    goes = _goes((rule_of(table) or STAYS).owners)
    return f"{goes} or {_TOTAL_GOES}" if str(table) == "raw.reported_totals" else goes


# Only the hash of a purged load stays, to recognise the file.
_FORGOTTEN = {
    "file_uri": "''",
    "source_name": "''",
    "status": "'purged'",
    "replaced": "'[]'",
    "testset_override": "null",
    "message": "null",
    "objects": "'[]'",
    "runs": "null",
}


def _changes(table: StoredTable) -> Iterator[tuple[str, str, str]]:
    """Return column, new value, and the condition on rows to update."""
    if str(table) == "raw.loads":
        for column, value in _FORGOTTEN.items():
            yield column, value, "load_id in (from purged_loads)"
        left = "(select rows_left from rows_left where rows_left.load_id = t.load_id)"
        yield "rows_loaded", left, "load_id in (select load_id from rows_left)"
    for column, ids in (rule_of(table) or STAYS).mentions:
        yield column, "null", f"{column} in (from {ids})"
