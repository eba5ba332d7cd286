"""Rows of ``raw`` that are not from files: requests, reported runs, the config.

Requests and builds have the time of their transaction: a build in the transaction of a
request has processed it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from promptlab.contracts.base import plain_name
from promptlab.ingest.raw.load_log import EPOCH

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import duckdb

    from promptlab.settings import Settings

SettingRow = tuple[str, str, str | None, float | None, float | None]
"""A row of ``raw.settings``."""

_NEWEST = """
    select max(moment)
    from (
        select max(finished_at) as moment from raw.loads
        union all select max(built_at) from raw.builds
        union all select max(decided_at) from raw.decisions
        union all select max(set_at) from raw.named_baselines
        union all select max(requested_at) from raw.requested_comparisons
    )
"""
_NOW = f"greatest(current_timestamp, ({_NEWEST}) + interval 1 microsecond)"
"""Later than every load, build, decision and request, whatever the clock."""


def newest_moment(con: duckdb.DuckDBPyConnection) -> datetime | None:
    """Return when the newest load, build, decision or request was, in UTC."""
    found = con.execute(f"select epoch_us(({_NEWEST}))").fetchall()
    [(moment,)] = found
    return None if moment is None else EPOCH + timedelta(microseconds=moment)


# The cases that each part of a task's evaluation judged.
_JUDGED = """(
    from intermediate.int_judged_parts as parts
    select to_json(list({{'kind': part_kind, 'id': part_id, 'n': n_cases}}))
    where parts.task_id = {task}
)"""


def request_comparison(
    con: duckdb.DuckDBPyConnection, baseline: str, candidate: str
) -> None:
    """Request a comparison of two tasks, in this and every later build."""
    con.execute(
        f"insert into raw.requested_comparisons select ?, ?, {_NOW}",
        [baseline, candidate],
    )


def name_baseline(
    con: duckdb.DuckDBPyConnection,
    title: str,
    testset_id: str | None,
    task_id: str | None,
) -> None:
    """Set the baseline of one title and testset; ``None`` removes it."""
    con.execute(
        f"insert into raw.named_baselines select $1, $2, $3, {_NOW},"
        " (from raw.scores select count(*) where task_id = $3),"
        f" {_JUDGED.format(task='$3')}",
        [title, testset_id, task_id],
    )


# When a task was loaded last, or its scores or the re-checks of its verdict were.
_LOADED = """
    with of_tasks as (
        select task_id, load_id from raw.tasks
        union
        select run_id as task_id, load_id from raw.memory_runs
        union
        select task_id, load_id from raw.scores
        where
            task_id in (select unnest($tasks))
            or task_id in (select recheck_task_id from intermediate.int_recheck_runs)
    ),
    parts as (
        from of_tasks
        union
        select used.task_id, of_tasks.load_id
        from intermediate.int_recheck_runs as used
        inner join of_tasks on used.recheck_task_id = of_tasks.task_id
    )
    select parts.task_id, max(loads.finished_at) as finished_at
    from parts
    inner join raw.loads as loads using (load_id)
    where parts.task_id in (select unnest($tasks))
    group by parts.task_id
"""


def loaded_since_decided(
    con: duckdb.DuckDBPyConnection, tasks: Sequence[str]
) -> list[str]:
    """Return those of the tasks that were loaded after the newest decision on them.

    So are those without a decision, and those of which the scores or a re-check were.
    """
    found = con.execute(
        f"""
        select task_id
        from ({_LOADED}) as loaded
        left join raw.decisions as decisions using (task_id)
        group by task_id, loaded.finished_at
        having coalesce(max(decisions.decided_at) < loaded.finished_at, true)
        """,
        {"tasks": list(tasks)},
    ).fetchall()
    return [str(row[0]) for row in found]


def record_decisions(
    con: duckdb.DuckDBPyConnection,
    decisions: Sequence[tuple[str, str]],
    policy_hash: str,
) -> int:
    """Append decisions of the gate that differ from the newest ones recorded.

    So are those about a task that was loaded since, or its scores or re-checks were,
    and those that rest on other re-checks or fewer scores now.

    Returns:
        The number of added rows.
    """
    rows = con.execute(
        f"""
        insert into raw.decisions
            (
                task_id, policy_hash, decision, decided_at, is_first, rechecks,
                n_scores, judged
            )
        select
            decided.task_id,
            $policy_hash,
            decided.decision,
            {_NOW},
            coalesce(
                baselines.baseline_source = 'none'
                and coalesce(baselines.why_no_previous, 'branch') = 'branch',
                false
            ),
            coalesce(used.rechecks, '[]'),
            coalesce(scored.n_scores, 0),
            {_JUDGED.format(task="decided.task_id")}
        from (
            select unnest($tasks) as task_id, unnest($decisions) as decision
        ) as decided
        left join marts.dim_task_baselines as baselines using (task_id)
        left join (
            select
                task_id,
                max(decided_at) as decided_at,
                max_by(decision, decided_at) as decision,
                max_by(policy_hash, decided_at) as policy_hash,
                max_by(rechecks, decided_at) as rechecks,
                max_by(n_scores, decided_at) as n_scores
            from raw.decisions
            group by task_id
        ) as newest using (task_id)
        left join ({_LOADED}) as loaded using (task_id)
        left join (
            select
                task_id,
                to_json(list(distinct recheck_task_id order by recheck_task_id))
                    as rechecks
            from intermediate.int_recheck_runs
            group by task_id
        ) as used using (task_id)
        left join (
            from raw.scores
            select task_id, count(*) as n_scores
            where task_id in (select unnest($tasks))
            group by task_id
        ) as scored using (task_id)
        where
            newest.decision is distinct from decided.decision
            or newest.policy_hash is distinct from $policy_hash
            or newest.decided_at < loaded.finished_at
            or coalesce(newest.rechecks, '[]') <> coalesce(used.rechecks, '[]')
            or newest.n_scores > coalesce(scored.n_scores, 0)
        returning task_id
        """,
        {
            "policy_hash": policy_hash,
            "tasks": [task_id for task_id, _ in decisions],
            "decisions": [decision for _, decision in decisions],
        },
    ).fetchall()
    return len(rows)


def note_reported(con: duckdb.DuckDBPyConnection, began_at: datetime) -> None:
    """Record that everything built before *began_at* has its report."""
    con.execute("insert into raw.reported_runs values (?)", [began_at])


def keep_settings(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Store the config's titles, variants and prices for builds.

    A table that is not in the config is unchanged, so that a command in another folder
    changes nothing; an empty table deletes the stored rows.
    """
    for kinds, rows in _settings_by_kind(settings):
        con.execute(
            "delete from raw.settings where list_contains($kinds, setting)",
            {"kinds": kinds},
        )
        for row in rows:
            con.execute("insert into raw.settings values (?, ?, ?, ?, ?)", row)


def are_settings_kept(con: duckdb.DuckDBPyConnection, settings: Settings) -> bool:
    """Return true if ``raw.settings`` is equal to the config."""
    found = con.execute("from raw.settings").fetchall()
    return all(
        {row for row in found if row[0] in kinds} == set(rows)
        for kinds, rows in _settings_by_kind(settings)
    )


def _settings_by_kind(
    settings: Settings,
) -> Iterator[tuple[list[str], list[SettingRow]]]:
    """Yield the rows of each table that the config has."""
    given = settings.model_fields_set
    if "titles" in given:
        aliases: list[SettingRow] = [
            ("title", plain_name(old), plain_name(title), None, None)
            for title, about in settings.titles.items()
            for old in about.alias
        ]
        of_titles: list[SettingRow] = [
            (name, plain_name(title), value, None, None)
            for title, about in settings.titles.items()
            for name, value in (("primary", about.primary), ("owner", about.owner))
            if value is not None
        ]
        yield ["title", "primary", "owner"], [*aliases, *of_titles]
    if "variants" in given:
        yield (
            ["variant"],
            [
                ("variant", plain_name(old), plain_name(new), None, None)
                for old, new in settings.variants.items()
            ],
        )
    if "prices" in given:
        yield (
            ["price"],
            [
                ("price", _like(model), None, price.input, price.output)
                for model, price in settings.prices.items()
            ],
        )


def _like(pattern: str) -> str:
    """Convert a pattern with ``*`` to SQL ``like``, with ``!`` as escape."""
    plain = re.sub(r"([!%_])", r"!\1", pattern.lower())
    return plain.replace("*", "%")
