"""Resolve references to tasks: an id, a run, a title, a file, or a keyword."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.errors import NothingToDo, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

WORDS = ("latest", "previous", "baseline")

BUILT = "marts.dim_tasks"
STORED = "live.tasks"
"""The set of tasks to search: those with marts, or all that were ingested."""


# The newest of several runs of one title and variant is used.
_SELECTED = """
    select tasks.task_id
    from marts.dim_tasks as tasks
    left join {loads} as loads using (load_id)
    where {condition} and tasks.role = 'full'
    qualify row_number() over (
        partition by tasks.title, tasks.variant
        order by tasks.run_number desc, tasks.task_id desc
    ) = 1
    order by tasks.title, tasks.variant, tasks.task_id
"""

_NEWEST_LOAD = """
    coalesce(loads.ingest_id, loads.load_id) = (
        select max(coalesce(newest.ingest_id, newest.load_id))
        from marts.dim_tasks inner join {loads} as newest using (load_id)
        where role = 'full'
    )
"""


def selected_tasks(con: duckdb.DuckDBPyConnection, selection: str) -> list[str]:
    """Return the tasks of a selection: the newest of each title and variant.

    Args:
        con: a connection to a built warehouse.
        selection: ``latest``, the tasks of the newest load; the id of a task or run, or
            a unique prefix of a task's; a ``--run-name``; a title; a variant; the path
            of a file or folder that was loaded; ``previous``.

    Returns:
        At least one, by title and variant.

    Raises:
        NothingToDo: there is no task, or none before it.
        UsageError: it matches nothing, or several ids.
    """
    # an export of the marts has no load log
    columns = "null::bigint as load_id, null::bigint as ingest_id, '' as file_uri"
    loads = f"(select {columns} where false)" if _is_export(con) else "raw.loads"

    def matching(condition: str, **values: str) -> list[str]:
        condition = condition.format(loads=loads)
        sql = _SELECTED.format(condition=condition, loads=loads)
        return [str(row[0]) for row in con.execute(sql, values).fetchall()]

    if selection == "latest":
        return matching(_NEWEST_LOAD) or [resolve_task(con, selection)]
    if selection in WORDS:
        return [resolve_task(con, selection)]
    for column in ("task_id", "run_id", "run_name", "title", "variant"):
        task_ids = matching(f"tasks.{column} = $name", name=selection)
        if task_ids:
            return task_ids
    path = Path(selection)
    if path.exists():
        uri = path.resolve().as_posix()
        names = {"uri": uri, "folder": f"{uri.rstrip('/')}/"}
        path_condition = "file_uri = $uri or starts_with(file_uri, $folder)"
        shard_condition = (
            "tasks.task_id in (select rounds.object_id from raw.objects as rounds"
            f" inner join {{loads}} as shards using (load_id) where {path_condition})"
        )
        task_ids = matching(f"({path_condition})", **names) or matching(
            shard_condition, **names
        )
        if task_ids:
            return task_ids
        raise UsageError(
            f"{selection}: no task of the warehouse was loaded from it;"
            f" `promptlab run {selection}` loads it, or names the file with the same"
            " run"
        )
    return [resolve_task(con, selection, names=_names(con, loads))]


def selected_pairs(
    con: duckdb.DuckDBPyConnection, baseline: str, candidate: str
) -> list[tuple[str, str]]:
    """Return the tasks to compare, the baseline first: a pair per candidate.

    Args:
        con: a connection to a built warehouse.
        baseline: ``baseline`` or ``previous``, those of each candidate; else as
            `selected_tasks` takes it.
        candidate: as `selected_tasks` takes it.

    Returns:
        At least one pair. One task is compared with one task; several are paired by
        title and variant, or by title where each side is one variant. Those of one side
        only are left out.

    Raises:
        NothingToDo: there is no task, or a candidate has none before it.
        UsageError: one of both matches nothing, or no two tasks are of one variant.
    """
    after = selected_tasks(con, candidate)
    if baseline in ("baseline", "previous"):
        return [(resolve_task(con, baseline, relative_to=task), task) for task in after]
    before = selected_tasks(con, baseline)
    if len(before) == len(after) == 1:
        return [(before[0], after[0])]
    rows = con.execute(
        "select title, variant, task_id from marts.dim_tasks"
        " where task_id in (select unnest($1))",
        [[*before, *after]],
    ).fetchall()
    group_of_task = {task_id: (title, variant) for title, variant, task_id in rows}
    if all(
        len({group_of_task[task][1] for task in side}) == 1 for side in (before, after)
    ):
        group_of_task = {task_id: (title, None) for title, _, task_id in rows}
    baseline_of_group = {group_of_task[task]: task for task in before}
    pairs = [
        (baseline_of_group[group_of_task[task]], task)
        for task in after
        if group_of_task[task] in baseline_of_group
    ]
    if not pairs:
        sides = (
            f"{name} names {', '.join(tasks[:5])}{', …' if tasks[5:] else ''}"
            for name, tasks in ((baseline, before), (candidate, after))
        )
        raise UsageError(
            f"compare: no two tasks are of one title and variant: {'; '.join(sides)};"
            " name one task of each"
        )
    return pairs


def _names(con: duckdb.DuckDBPyConnection, loads: str) -> dict[str, str]:
    """Return the other names that a selection may use, and how each is written.

    A file is also found by its name without folder and suffix.
    """
    rows = con.execute(
        "select distinct unnest([run_id, run_name, title, variant])"
        " from marts.dim_tasks"
    ).fetchall()
    names = {str(name): str(name) for (name,) in rows if name}
    files = con.execute(
        f"select distinct file_uri from {loads} semi join marts.dim_tasks"
        " using (load_id)"
    ).fetchall()
    cwd = Path.cwd()
    for (uri,) in files:
        file = Path(uri)
        is_below = file.is_relative_to(cwd)
        path = (file.relative_to(cwd) if is_below else file).as_posix()
        for name in (path, file.name, file.stem):
            names.setdefault(name, path)
    return names


def _is_export(con: duckdb.DuckDBPyConnection) -> bool:
    """Return true without load log; DuckDB's list of all tables would take 10 ms."""
    import duckdb

    try:
        con.execute("from raw.loads limit 0")
    except duckdb.CatalogException:
        return True
    return False


# Files left out with or after the newest load of the tasks, and not read since. A
# skipped file counts if it may be a run: nothing else was loaded since, or a file whose
# name differs only in its numbers had runs.
_LEFT_OUT = """
    with newest as (

        select max(coalesce(loads.ingest_id, loads.load_id)) as ingest_id
        from marts.dim_tasks as tasks
        inner join raw.loads as loads using (load_id)
        where tasks.task_id in (select unnest($tasks))

    )

    select loads.file_uri
    from raw.loads as loads
    cross join newest
    where
        (
            (
                loads.status = 'rejected'
                and coalesce(loads.ingest_id, loads.load_id) >= newest.ingest_id
            )
            or (
                loads.status = 'skipped'
                and loads.load_id not in (
                    select objects.load_id from raw.objects as objects
                )
                and (
                    coalesce(loads.ingest_id, loads.load_id) > newest.ingest_id
                    or (
                        coalesce(loads.ingest_id, loads.load_id) = newest.ingest_id
                        and exists (
                            select 1
                            from raw.loads as earlier
                            where
                                earlier.load_id < loads.load_id
                                and earlier.load_id in (
                                    select objects.load_id
                                    from raw.objects as objects
                                    where objects.run_hash is not null
                                )
                                and regexp_replace(earlier.file_uri, '[0-9]+', '#', 'g')
                                = regexp_replace(loads.file_uri, '[0-9]+', '#', 'g')
                        )
                    )
                )
            )
        )
        and loads.kind <> 'labels'
        and (
            $uri is null
            or loads.file_uri = $uri
            or starts_with(loads.file_uri, $uri || '/')
        )
        and not exists (
            select 1
            from raw.loads as later
            where
                later.file_uri = loads.file_uri
                and later.load_id > loads.load_id
                and later.status = 'loaded'
        )
    order by loads.load_id
"""


def left_out_files(
    con: duckdb.DuckDBPyConnection, selection: str, task_ids: Sequence[str]
) -> list[str]:
    """Return the files that could hold a newer run than these and were left out.

    Args:
        con: A connection to a built warehouse.
        selection: As `selected_tasks` takes it; a run that is named by its id or title
            is meant whatever was loaded after it.
        task_ids: What it selected.
    """
    path = Path(selection)
    if selection == "latest":
        uri = None
    elif selection not in task_ids and path.exists():
        uri = path.resolve().as_posix().rstrip("/")
    else:
        return []
    rows = con.execute(_LEFT_OUT, {"tasks": list(task_ids), "uri": uri}).fetchall()
    return [str(row[0]) for row in rows]


def require_built(con: duckdb.DuckDBPyConnection) -> None:
    """Check that the marts contain every file that was loaded.

    Raises:
        NothingToDo: files were loaded after the last build, so that an answer would
            be about earlier runs.
    """
    rows = con.execute(
        "select file_uri from raw.loads where status = 'loaded' and load_id >"
        " (select max_by(last_load_id, built_at) from raw.builds) order by load_id"
    ).fetchall()
    if rows:
        names = [Path(uri).name for (uri,) in rows]
        more = f" and {len(names) - 3} more" if names[3:] else ""
        raise NothingToDo(
            f"loaded after the last build: {', '.join(names[:3])}{more};"
            " `promptlab build`, then ask again"
        )


def resolve_task(
    con: duckdb.DuckDBPyConnection,
    reference: str,
    *,
    relative_to: str | None = None,
    tasks: str = BUILT,
    names: Mapping[str, str] | None = None,
) -> str:
    """Return the task id that a reference names.

    Args:
        con: a connection to a built warehouse.
        reference: a task id; a prefix that only one has; ``latest``, the task created
            last; ``previous``, the one of the same title before that; ``baseline``,
            the one that it is compared with.
        relative_to: the task whose ``previous`` or ``baseline`` is meant; by default
            the latest.
        tasks: ``BUILT``, or ``STORED`` for all tasks that were ingested, of which only
            ``baseline`` needs marts.
        names: what else the caller accepts, for a suggestion: each name, and how it
            is to be written.

    Raises:
        NothingToDo: there is no task, or none before it, or it has no baseline.
        UsageError: no task, or several, begin with ``reference``.
    """
    if reference in WORDS:
        return _by_keyword(con, reference, relative_to, tasks)
    rows = con.execute(
        f"select task_id from {tasks}"
        " where task_id = $1 or starts_with(task_id, $1) order by task_id",
        [reference],
    ).fetchall()
    ids = [row[0] for row in rows]
    if reference in ids or len(ids) == 1:
        return reference if reference in ids else str(ids[0])
    if ids:
        raise UsageError(
            f"{reference}: {len(ids)} tasks begin so: {', '.join(ids[:5])}"
            f"{', …' if len(ids) > 5 else ''}; give more of the id"
        )
    stored = con.execute(f"select task_id from {tasks}").fetchall()
    hint = _near(reference, {**(names or {}), **{row[0]: row[0] for row in stored}})
    raise UsageError(f"{reference}: there is no such task{hint}")


def _near(reference: str, names: Mapping[str, str]) -> str:
    """Return a clause with the nearest name, or with the command that lists them."""
    folded = {name.casefold(): spelling for name, spelling in names.items()}
    near = get_close_matches(reference.casefold(), folded, n=1)
    if not near:
        return "; `promptlab runs` lists them"
    return f"; did you mean `{folded[near[0]]}`?"


def _by_keyword(
    con: duckdb.DuckDBPyConnection, word: str, relative_to: str | None, tasks: str
) -> str:
    if word == "latest":
        return _latest(con, tasks)
    task_id = relative_to or _latest(con, tasks)
    if word == "previous":
        return _previous(con, task_id, tasks)
    return _baseline(con, task_id)


def _latest(con: duckdb.DuckDBPyConnection, tasks: str) -> str:
    row = con.execute(
        f"select task_id from {tasks} where recheck_of is null"
        " order by created_at desc, task_id desc limit 1"
    ).fetchone()
    if row is None:
        raise NothingToDo("the warehouse holds no task yet; `promptlab run PATH`")
    return str(row[0])


def _previous(con: duckdb.DuckDBPyConnection, task_id: str, tasks: str) -> str:
    row = con.execute(
        f"select earlier.task_id, task.title from {tasks} as task"
        f" left join {tasks} as earlier"
        " on earlier.title = task.title and earlier.recheck_of is null"
        f" {'and earlier.variant = task.variant' if tasks == BUILT else ''}"
        " and (earlier.created_at, earlier.task_id) < (task.created_at, task.task_id)"
        " where task.task_id = ?"
        " order by earlier.created_at desc, earlier.task_id desc limit 1",
        [task_id],
    ).fetchone()
    assert row is not None  # the task exists
    if row[0] is None:
        raise NothingToDo(
            f"previous: {task_id} is the first task of its variant titled {row[1]!r}"
        )
    return str(row[0])


def _baseline(con: duckdb.DuckDBPyConnection, task_id: str) -> str:
    row = con.execute(
        "select baseline_task_id from marts.dim_task_baselines where task_id = ?",
        [task_id],
    ).fetchone()
    if row is None:
        raise to_compare_again(task_id)
    if row[0] is None:
        raise NothingToDo(
            f"baseline: {task_id} is the first task of its variant; compare it with a"
            " task of your choice"
        )
    return str(row[0])


def to_compare_again(task_id: str) -> NothingToDo:
    """Return the error for a task whose baseline was purged since the last build."""
    return NothingToDo(
        f"baseline: the one of {task_id} was purged; `promptlab build` finds another,"
        " and compares them"
    )
