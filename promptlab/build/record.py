"""The record that each build writes at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlab.build import plan
from promptlab.ingest.raw.requests import are_settings_kept

if TYPE_CHECKING:
    import duckdb

    from promptlab.settings import Settings

_LAST_BUILD = """
    with

    last as (

        select *
        from raw.builds
        order by rowid desc
        limit 1

    ),

    compared as (

        select
            built_at,
            project_hash,
            last_load_id >= coalesce((select max(load_id) from raw.loads), 0)
            and (select count(*) from raw.comparison_builds) = n_tasks
            and (select count(*) from raw.task_builds) = n_tasks as has_tasks,
            not exists (from raw.named_baselines where set_at > built_at)
            and not exists (
                from raw.requested_comparisons where requested_at > built_at
            ) as has_comparisons

        from last
        cross join (
            select count(*) as n_tasks
            from (
                select task_id from raw.tasks union select run_id from raw.memory_runs
            )
        )

    )

    select
        project_hash,
        has_tasks and has_comparisons as has_all

    from compared
"""


@dataclass(frozen=True)
class LastBuild:
    """The newest build of a warehouse."""

    has_all: bool
    """True if nothing to build was added or deleted since."""
    is_of_this_project: bool
    """True if it ran the current models, seeds and macros."""


def last_build(con: duckdb.DuckDBPyConnection, settings: Settings) -> LastBuild | None:
    """Return the newest finished build, or ``None``."""
    row = con.execute(_LAST_BUILD).fetchone()
    if row is None:
        return None
    project_hash, has_all = row
    return LastBuild(
        has_all=has_all and are_settings_kept(con, settings),
        is_of_this_project=project_hash == plan.load().project_hash,
    )
