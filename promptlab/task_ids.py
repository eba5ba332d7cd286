"""What a person may write for a task: its id, a unique prefix, or a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlab.errors import NothingToDo, UsageError

if TYPE_CHECKING:
    import duckdb

WORDS = ("latest", "previous")


def resolve_task(con: duckdb.DuckDBPyConnection, wanted: str) -> str:
    """The task id that ``wanted`` means.

    Args:
        con: a connection to a built warehouse.
        wanted: a task id; a prefix that only one has; ``latest``, the task created
            last; ``previous``, the one of the same title before that.

    Raises:
        NothingToDo: there is no task, or none before the latest.
        UsageError: no task, or several, begin with ``wanted``.
    """
    if wanted in WORDS:
        return _by_word(con, wanted)
    rows = con.execute(
        "select task_id from marts.dim_tasks"
        " where task_id = $1 or starts_with(task_id, $1) order by task_id",
        [wanted],
    ).fetchall()
    ids = [row[0] for row in rows]
    if wanted in ids or len(ids) == 1:
        return wanted if wanted in ids else str(ids[0])
    if ids:
        raise UsageError(
            f"{wanted}: {len(ids)} tasks begin so: {', '.join(ids[:5])}"
            f"{', …' if len(ids) > 5 else ''}; give more of the id"
        )
    raise UsageError(f"{wanted}: there is no such task; `promptlab runs` lists them")


def _by_word(con: duckdb.DuckDBPyConnection, word: str) -> str:
    latest = con.execute(
        "select task_id, title, created_at from marts.dim_tasks"
        " order by created_at desc, task_id desc limit 1"
    ).fetchone()
    if latest is None:
        raise NothingToDo("the warehouse holds no task yet; `promptlab run PATH`")
    if word == "latest":
        return str(latest[0])
    task_id, title, created_at = latest
    previous = con.execute(
        "select task_id from marts.dim_tasks where title = ?"
        " and (created_at, task_id) < (?, ?)"
        " order by created_at desc, task_id desc limit 1",
        [title, created_at, task_id],
    ).fetchone()
    if previous is None:
        raise NothingToDo(f"previous: {task_id} is the first task titled {title!r}")
    return str(previous[0])
