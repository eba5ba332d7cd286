"""What a purge keeps of each table, found by the table's key columns.

Only those tables are named whose rows change instead of going, or hang on more than a
key: the load log, rejected records, named baselines, the notes of what was built.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from promptlab.copies import Table, tables_of

if TYPE_CHECKING:
    import duckdb

KNOWN_TASKS = "select task_id from raw.tasks union select task_id from raw.scores"
KNOWN_RUNS = "select distinct run_id from raw.memory_runs"
TASKS_BEFORE = "select task_id from raw.tasks where created_at < cast($1 as date)"
RUNS_BEFORE = (
    "select run_id from raw.memory_runs group by run_id"
    " having max(started_at) < cast($1 as date)"
)

# Loads that brought nothing but what is purged now, or nothing that is still there and
# from the same path; and score files that are left with no score.
_CHOICE = """
create or replace temp table purged_loads as
with purged_objects as (
    select task_id as id, ['analysis', 'results'] as kinds from purged_tasks
    union all
    select distinct run_id || '|' || task_id, ['memory']
    from raw.memory_runs semi join purged_runs using (run_id)
),

owned as (
    select load_id, task_id in (from purged_tasks) as goes from raw.tasks
    union all
    select load_id, run_id in (from purged_runs) from raw.memory_runs
    union all
    select load_id, task_id in (from purged_tasks) from raw.scores
    union all
    select load_id, false from raw.testsets
    union all
    select load_id, false from raw.pipelines
),

emptied as (
    select load_id from owned group by load_id having bool_and(goes)
),

earlier as (
    select load_id
    from (
        select load_id, kind, unnest(cast(objects as varchar[])) as id from raw.loads
    )
    inner join purged_objects using (id)
    where list_contains(kinds, kind)
    union
    select load_id from raw.loads where file_uri in (
        select file_uri from raw.loads semi join emptied using (load_id)
    )
)

select load_id from emptied
union
select load_id from earlier anti join owned using (load_id);

create or replace temp table thinned_loads as
select load_id, count(*) filter (task_id not in (from purged_tasks)) as rows_left
from raw.scores group by load_id
having bool_or(task_id in (from purged_tasks)) and rows_left > 0;

create or replace temp table purged_titles as
select distinct title from raw.tasks semi join purged_tasks using (task_id)
where title not in (
    select title from raw.tasks anti join purged_tasks using (task_id)
);

-- one task left of each title that loses some: what sums up the title is built again
create or replace temp table tasks_to_build as
select min(task_id) as task_id from raw.tasks anti join purged_tasks using (task_id)
where title in (select title from raw.tasks semi join purged_tasks using (task_id))
group by title;
"""


def choose(
    con: duckdb.DuckDBPyConnection, tasks: Sequence[str], runs: Sequence[str]
) -> None:
    """Note what is purged in temporary tables, which every other query here reads."""
    for name, key, ids in (
        ("purged_tasks", "task_id", tasks),
        ("purged_runs", "run_id", runs),
    ):
        con.execute(
            f"create or replace temp table {name} as"
            f" select unnest(cast($1 as varchar[])) as {key}",
            [list(ids)],
        )
    con.execute(_CHOICE)
    for name, key, purged in (
        ("paired_tasks", "task_id", "purged_tasks"),
        ("runs_to_build", "run_id", "purged_runs"),
    ):
        con.execute(
            f"create or replace temp table {name} as"
            f" select distinct id as {key} from ({_pairs(con, key)})"
            f" where id is not null and other in (from {purged})"
        )


def _pairs(con: duckdb.DuckDBPyConnection, key: str) -> str:
    """Every id that any row has, beside every other id of that kind in the row."""
    pairs = [
        f"select {one} as id, {other} as other from {table.sql}"
        for table in tables_of(con, "raw", "intermediate", "marts")
        for one in _keys(table, key)
        for other in _keys(table, key)
        if one != other
    ]
    return " union all ".join(pairs or ["select '' as id, '' as other where false"])


def n_deleted(con: duckdb.DuckDBPyConnection, table: Table) -> int:
    """Rows of a table that a purge would not keep."""
    goes = _goes(table)
    if goes is None:
        return 0
    query = f"select count(*) from {table.sql} as t where {goes}"
    row = con.execute(query).fetchone()
    return 0 if row is None else int(row[0])


def kept_rows(table: Table) -> str:
    """The query that gives what a purge keeps of a table."""
    goes = _goes(table)
    changes = _CHANGES.get(str(table), "")
    where = "" if goes is None else f" where ({goes}) is not true"
    return f"select *{changes} from {table.sql} as t{where}"


_CHANGES = {
    # the hash stays, so that the file is known when it is found again
    "raw.loads": """ replace (
        case when load_id in (from purged_loads) then '' else file_uri end as file_uri,
        case when load_id in (from purged_loads) then '' else source_name end
            as source_name,
        case when load_id in (from purged_loads) then 'purged' else status end
            as status,
        case
            when load_id in (from purged_loads) then 0
            else coalesce(
                (select rows_left from thinned_loads
                    where thinned_loads.load_id = t.load_id),
                rows_loaded
            )
        end as rows_loaded,
        case when load_id in (from purged_loads) then '[]' else replaced end
            as replaced,
        case when load_id not in (from purged_loads) then testset_override end
            as testset_override,
        case when load_id not in (from purged_loads) then message end as message,
        case when load_id in (from purged_loads) then '[]' else objects end as objects
    )""",
    # a baseline that is gone is cleared; an earlier one must not come back
    "raw.named_baselines": """ replace (
        case when task_id not in (from purged_tasks) then task_id end as task_id
    )""",
}


# Of a score file that keeps some scores, whatever is not plainly of another task.
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

# What is said of another task may name its baseline: alerts do.
_NAMES_IT = """
    len(list_filter(
        (select list(task_id) from purged_tasks),
        lambda id: contains(cast(t as varchar), id)
    )) > 0
"""


def _goes(table: Table) -> str | None:
    """The condition that a row is purged; None where no row of the table can be."""
    if str(table) == "raw.named_baselines":
        return "title in (from purged_titles)"
    if str(table) == "raw.rejects":
        return _REJECT_GOES
    if table.schema not in ("raw", "intermediate", "marts"):
        return None
    runs = _keys(table, "run_id")
    if runs:
        conditions = [_isin(key, "purged_runs") for key in runs]
        if str(table) == "raw.memory_builds":
            conditions.append(_isin("run_id", "runs_to_build"))
        return " or ".join(conditions)
    keys = _keys(table, "task_id")
    if not keys:
        return _goes_with_others(table)
    conditions = [_isin(key, "purged_tasks") for key in keys]
    if str(table) == "raw.task_builds":
        conditions.append(_isin("task_id", "tasks_to_build"))
    if keys == ["candidate_task_id"]:
        conditions.append(_isin("candidate_task_id", "paired_tasks"))
    if keys == ["task_id"] and table.schema != "raw":
        said_of_others = f"{_isin('task_id', 'paired_tasks')} and {_NAMES_IT}"
        conditions.append(f"({said_of_others})")
    return " or ".join(conditions)


def _keys(table: Table, key: str) -> list[str]:
    """Columns that hold ids of this kind: ``task_id``, ``baseline_task_id``."""
    return [c for c in table.columns if c == key or c.endswith(f"_{key}")]


def _goes_with_others(table: Table) -> str | None:
    """The same for a table that speaks of no single task."""
    if table.schema != "raw":
        summed = "title" in table.columns
        return _isin("title", "purged_titles") if summed else None
    is_of_a_load = "load_id" in table.columns and table.name != "loads"
    return _isin("load_id", "purged_loads") if is_of_a_load else None


def _isin(column: str, chosen: str) -> str:
    return f"({column} is not null and {column} in (from {chosen}))"
