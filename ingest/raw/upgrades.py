"""What changes in raw tables that older versions of promptlab made.

The steps of a version lead to it from the one before; `raw.sql` runs after the last and
makes the tables that are new. So a step speaks only of tables that may be there:
``alter table if exists``. Rows for the new tables come last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from promptlab.ingest.golden_checks import golden_checks_of_live_tasks

if TYPE_CHECKING:
    import duckdb

# What a load brought is known where its rows are still there.
_OBJECTS_OF_LIVE_LOADS = """
    with owned as (
        select load_id, task_id as id from raw.tasks
        union all select load_id, run_id || '|' || task_id from raw.memory_runs
        union all select load_id, testset_id from raw.testsets
        union all select load_id, pipeline_id from raw.pipelines
    ),

    brought as (
        select load_id, to_json(list(id order by id)) as objects
        from owned group by load_id
    )

    update raw.loads set objects = brought.objects
    from brought where loads.load_id = brought.load_id
"""

UPGRADES: dict[int, tuple[str, ...]] = {
    2: (
        "alter table if exists raw.loads add column read_with varchar",
        "alter table if exists raw.loads add column objects json",
        _OBJECTS_OF_LIVE_LOADS,
        "alter table if exists raw.baselines add column patterns json",
    ),
    3: (
        "alter table if exists raw.tasks add column run_id varchar",
        "alter table if exists raw.loads add column runs json",
        "alter table if exists raw.tasks add column tool_version varchar",
        "alter table if exists raw.rounds add column reported_status varchar",
        "alter table if exists raw.rounds add column counted_as varchar",
        "alter table if exists raw.dimension_configs add column is_graded boolean",
        "alter table if exists raw.dimension_configs add column direction varchar",
    ),
    4: (),
    5: ("alter table if exists raw.loads add column if not exists ingest_id bigint",),
    6: tuple(
        f"alter table if exists raw.{table} add column if not exists {column} {kind}"
        for table, columns in {
            "tasks": {
                "provider": "varchar",
                "prompt_name": "varchar",
                "prompt_position": "bigint",
                "variant": "varchar",
                "settings": "json",
                "judge": "json",
                "primary_metric": "varchar",
                "run_name": "varchar",
                "branch": "varchar",
                "base_branch": "varchar",
                "commit_sha": "varchar",
                "revision_source": "varchar",
            },
            "cases": {"cluster": "varchar"},
            "rounds": {"is_cached": "boolean"},
        }.items()
        for column, kind in columns.items()
    ),
    7: (
        *(
            f"alter table if exists raw.memory_runs add column if not exists {column}"
            for column in (
                "created_at timestamptz",
                "title varchar",
                "variant varchar",
                "run_name varchar",
                "branch varchar",
                "base_branch varchar",
                "commit_sha varchar",
                "revision_source varchar",
            )
        ),
        "update raw.memory_runs set created_at = coalesce(memory_runs.started_at,"
        " loads.started_at) from raw.loads where memory_runs.load_id = loads.load_id",
        "drop table if exists raw.memory_builds",
        "alter table if exists raw.tasks drop column if exists primary_metric",
        "alter table if exists raw.cases add column if not exists categories json",
        "alter table if exists raw.cases add column if not exists"
        " expectation_hash varchar",
    ),
}
"""Schema version → the statements that lead to it."""

NEW_ROWS: dict[
    int,
    dict[str, Callable[[duckdb.DuckDBPyConnection], Iterable[dict[str, list[Any]]]]],
] = {4: {"golden_checks": golden_checks_of_live_tasks}}
"""Schema version → new raw table → what makes its rows from those that are there."""
