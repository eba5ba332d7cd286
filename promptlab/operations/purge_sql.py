"""What a purge keeps of each table: ids are equal to those that go, or they stay.

Which column of a table says whose its rows are is declared: of raw tables here, of
models by the models themselves (``keys.json``). What other tasks were told of one that
goes is theirs, and goes by the build's own batches: the next build compares them again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from ingest.raw import OWNED_TABLES
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

Ids = tuple[str, str]
"""A column, and the temporary table of the ids that are looked for in it."""


@dataclass(frozen=True)
class Rule:
    """What of a table goes."""

    owners: tuple[Ids, ...] = ()
    """Rows go where one of these is among the ids; the table's key is the first."""
    mentions: tuple[Ids, ...] = ()
    """Ids of others: in a row that stays they are cleared."""


_OF_TASK = Rule((("task_id", "purged_tasks"),))
_OF_RUN = Rule((("run_id", "purged_runs"),))
_STAYS = Rule()

OF_RAW = {
    **dict.fromkeys((*OWNED_TABLES["task"][0], "scores"), _OF_TASK),
    **dict.fromkeys(OWNED_TABLES["memory"][0], _OF_RUN),
    **dict.fromkeys(OWNED_TABLES["testset"][0], _STAYS),
    **dict.fromkeys(OWNED_TABLES["pipeline"][0], _STAYS),
    # a baseline that is gone is cleared; an earlier one must not come back
    "named_baselines": Rule(
        (("title", "emptied_titles"),), (("task_id", "purged_tasks"),)
    ),
    "requested_comparisons": Rule(
        (("baseline_task_id", "purged_tasks"), ("candidate_task_id", "purged_tasks"))
    ),
    "task_builds": Rule((("task_id", "tasks_to_build"),)),
    "comparison_builds": Rule((("candidate_task_id", "tasks_to_compare"),)),
    "memory_builds": Rule((("run_id", "runs_to_compare"),)),
    "redactions": Rule((("load_id", "purged_loads"),)),
    "rejects": _STAYS,  # _REJECT_GOES says more
    "loads": _STAYS,  # _LOAD_CHANGES says more
    "builds": _STAYS,
    "reported_runs": _STAYS,
    "schema_versions": _STAYS,
}
"""Raw table → what of it goes."""

# Batch and key of a model → the ids whose rows go.
_OF_BATCHES = {
    ("tasks", "task_id"): "purged_tasks",
    ("titles", "title"): "touched_titles",
    ("comparisons", "task_id"): "tasks_to_compare",
    ("comparisons", "candidate_task_id"): "tasks_to_compare",
    ("memory_runs", "run_id"): "purged_runs",
    ("memory_runs", "candidate_run_id"): "runs_to_compare",
}


@cache
def of_models() -> dict[str, Rule]:
    """``schema.table`` → what of it goes, of all tables that outlive a build."""
    file = resources.files("promptlab.operations").joinpath("keys.json")
    return {
        name: Rule(
            ((model["key"], _OF_BATCHES[model["batch"], model["key"]]),),
            tuple(
                (column, f"purged_{_what(model['batch'])}")
                for column in model.get("mentions", ())
            ),
        )
        for name, model in json.loads(file.read_text("utf-8")).items()
    }


def _what(batch: str) -> str:
    return "runs" if batch == "memory_runs" else "tasks"


# Loads that brought nothing but what is purged now; those that did once and have no row
# any more; and of the same files, those of which nobody knows what they brought. Score
# files that are left with some scores.
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
    select load_id from raw.loads
    where
        (kind = 'scores' or coalesce(json_array_length(objects), 0) = 0)
        and file_uri in (
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

create or replace temp table touched_titles as
select distinct title from raw.tasks semi join purged_tasks using (task_id);

create or replace temp table emptied_titles as
from touched_titles where title not in (
    select title from raw.tasks anti join purged_tasks using (task_id)
);

-- one task left of each title that loses some: what sums up the title is built again
create or replace temp table tasks_to_build as
from purged_tasks union all
select min(task_id) from raw.tasks anti join purged_tasks using (task_id)
where title in (from touched_titles)
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
    for what in ("tasks", "runs"):
        mentioned = "".join(
            f" union select {rule.owners[0][0]} from {table.sql}"
            f" where {column} in (from {ids})"
            for table in tables_of(con, "intermediate", "marts")
            if (rule := _rule(table))
            for column, ids in rule.mentions
            if ids == f"purged_{what}"
        )
        con.execute(
            f"create or replace temp table {what}_to_compare as"
            f" from purged_{what}{mentioned}"
        )


def n_deleted(con: duckdb.DuckDBPyConnection, table: Table) -> int:
    """Rows of a table that a purge would not keep; none of one build's own steps."""
    if _is_step(table):
        return 0
    row = con.execute(
        f"select count(*) from {table.sql} where {_goes(table)}"
    ).fetchone()
    return 0 if row is None else int(row[0])


def kept_rows(table: Table) -> str:
    """The query that gives what a purge keeps of a table."""
    changes = _LOAD_CHANGES if str(table) == "raw.loads" else _cleared(table)
    replaced = f" replace ({changes})" if changes else ""
    return (
        f"select *{replaced} from {table.sql} as t where ({_goes(table)}) is not true"
    )


def is_unknown(table: Table) -> bool:
    """Whether nobody has declared whose its rows are: somebody's own table."""
    return not (table.schema == "policy" or _is_step(table) or _rule(table))


# The hash stays, so that the file is known when it is found again.
_LOAD_CHANGES = """
    case when load_id in (from purged_loads) then '' else file_uri end as file_uri,
    case when load_id in (from purged_loads) then '' else source_name end
        as source_name,
    case when load_id in (from purged_loads) then 'purged' else status end as status,
    case
        when load_id in (from purged_loads) then 0
        else coalesce(
            (select rows_left from thinned_loads
                where thinned_loads.load_id = t.load_id),
            rows_loaded
        )
    end as rows_loaded,
    case when load_id in (from purged_loads) then '[]' else replaced end as replaced,
    case when load_id not in (from purged_loads) then testset_override end
        as testset_override,
    case when load_id not in (from purged_loads) then message end as message,
    case when load_id in (from purged_loads) then '[]' else objects end as objects
"""

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


def _goes(table: Table) -> str:
    """The condition that a row is purged."""
    if _is_step(table):
        return "true"
    if str(table) == "raw.rejects":
        return _REJECT_GOES
    rule = _rule(table) or _STAYS
    return " or ".join(f"{key} in (from {ids})" for key, ids in rule.owners) or "false"


def _cleared(table: Table) -> str:
    rule = _rule(table) or _STAYS
    return ", ".join(
        f"case when {column} not in (from {ids}) then {column} end as {column}"
        for column, ids in rule.mentions
    )


def _rule(table: Table) -> Rule | None:
    """What of a table goes; ``None`` where it is not one that we make."""
    if table.schema == "raw":
        return OF_RAW.get(table.name)
    rule = of_models().get(str(table))
    columns = () if rule is None else (*rule.owners, *rule.mentions)
    return rule if {column for column, _ in columns} <= set(table.columns) else None


def _is_step(table: Table) -> bool:
    """Whether one build computed it on its way: every build makes it anew."""
    return table.schema == "intermediate" and _rule(table) is None
