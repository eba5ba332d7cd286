"""Consistency checks between tables: each query returns the violations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from promptlab.ingest.raw.catalogue import BY_NAME, EVERY_ROW, RAW_TABLES, RawTable


@dataclass(frozen=True)
class Invariant:
    """A sentence that is true if *query* returns no rows."""

    name: str
    query: str
    """Returns a row for each violation, named by the first column."""
    state: Literal["warn", "fail"]
    fix: str


_REBUILD = "`promptlab build --full-refresh` computes every mart from the raw tables"
_RELOAD = "load the file into a new warehouse, and tell us: this must not happen"


def _has_its_parents(table: RawTable) -> Invariant:
    """Check that every row of a table has its parent, and that row its own."""
    missing: list[str] = []
    parents: list[str] = []
    child = table
    while child.parent:
        parent = BY_NAME[child.parent]
        missing.append(
            f"select distinct {child.row_key[0]} from raw.{child.name}"
            f" anti join raw.{parent.name} using ({', '.join(parent.row_key)})"
        )
        parents.insert(0, _one(parent).removeprefix("memory "))
        child = parent
    return Invariant(
        f"every {_one(table)} has its {' and '.join(parents)}",
        " union ".join(missing),
        "fail",
        _RELOAD,
    )


def _one(table: RawTable) -> str:
    """Name of a row of a table."""
    return table.name.removesuffix("s").replace("_", " ")


def _records(table: RawTable) -> str:
    """Number of records of each load in a table."""
    of_tasks = f"(from raw.tasks where {table.records})"
    some = (
        "" if table.records == EVERY_ROW else f" semi join {of_tasks} using (task_id)"
    )
    return f"select load_id, count(*) as n from raw.{table.name}{some} group by all"


_PARENTS = {table.parent for table in RAW_TABLES}
_LAST_CHILDREN = [t for t in RAW_TABLES if t.parent and t.name not in _PARENTS]
_RECORDS = " union all ".join(_records(table) for table in RAW_TABLES if table.records)

RAW_CHECKS = (
    *map(_has_its_parents, _LAST_CHILDREN),
    Invariant(
        "every score has its task",
        """
        select distinct task_id from raw.scores
        where
            task_id not in (select task_id from raw.tasks)
            and task_id not in (select run_id from raw.memory_runs)
        """,
        "warn",
        "ingest the task; scores of a task that was purged go with"
        " `promptlab purge --task ID`",
    ),
    Invariant(
        "every score of a task has its round",
        """
        select distinct concat_ws(' ', task_id, case_id, round_id) from raw.scores
        semi join raw.tasks using (task_id)
        anti join raw.rounds using (task_id, case_id, round_id)
        """,
        "warn",
        "they count nowhere: correct the ids of case and round, load the file again",
    ),
    Invariant(
        "every task belongs to a live load",
        """
        select task_id from raw.tasks where load_id not in (
            select load_id from raw.loads where status = 'loaded'
        )
        """,
        "fail",
        _RELOAD,
    ),
    Invariant(
        "every load has as many records as it says",
        f"""
        with records as (
            {_RECORDS}
        )

        select loads.source_name
        from raw.loads left join records using (load_id)
        where loads.status = 'loaded' and loads.rows_loaded <> coalesce(records.n, 0)
        """,
        "fail",
        _RELOAD,
    ),
)
"""Checks of every warehouse with loaded files."""

BUILT_CHECKS = (
    Invariant(
        "the last build saw the newest load",
        """
        select max(load_id) from raw.loads
        having max(load_id) > coalesce((select max(last_load_id) from raw.builds), 0)
        """,
        "warn",
        "`promptlab build`",
    ),
    Invariant(
        "every task is built as it is",
        """
        select task_id
        from staging.stg_tasks__tasks anti join raw.task_builds using (task_id)
        """,
        "warn",
        "`promptlab build`; after a purge it brings trends and comparisons up to date",
    ),
    Invariant(
        "every round is in fct_rounds",
        """
        select distinct task_id from (
            (
                select task_id, case_id, round_id from staging.stg_tasks__rounds
                except all
                select task_id, case_id, round_id from marts.fct_rounds
            )
            union all
            (
                select task_id, case_id, round_id from marts.fct_rounds
                except all
                select task_id, case_id, round_id from staging.stg_tasks__rounds
            )
        )
        """,
        "fail",
        _REBUILD,
    ),
    Invariant(
        "every task has one summary",
        """
        select task_id
        from staging.stg_tasks__tasks as tasks
        full join marts.fct_task_summaries as summaries using (task_id)
        group by task_id
        having count(tasks.task_id) <> 1 or count(summaries.task_id) <> 1
        """,
        "fail",
        _REBUILD,
    ),
    Invariant(
        "totals that files claim are what their rows give",
        """
        select task_id || ' ' || total_name
        from marts.fct_reported_totals where reason in ('differs', 'fewer_rows')
        """,
        "warn",
        "`promptlab report TASK` lists them: ask for the whole file, or believe the"
        " rows",
    ),
    Invariant(
        "every case has one status",
        """
        select task_id || ' ' || case_id
        from staging.stg_tasks__cases as cases
        full join marts.fct_case_results as results using (task_id, case_id)
        group by task_id, case_id
        having
            count(cases.case_id) <> 1 or count(results.case_id) <> 1
            or count(results.status) <> 1
        """,
        "fail",
        _REBUILD,
    ),
    Invariant(
        "every memory answer is in fct_memory_answers",
        """
        select run_id
        from (select run_id, count(*) as n from raw.memory_answers group by all) as raw
        full join (
            select run_id, count(*) as n from marts.fct_memory_answers group by all
        ) as marts using (run_id)
        where raw.n is distinct from marts.n
        """,
        "fail",
        _REBUILD,
    ),
)
"""Checks after a build of everything that was loaded."""
