"""The argument TITLE, which selects tasks, the same for all commands."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from promptlab.cli.options import F

if TYPE_CHECKING:
    import duckdb


def titled(function: F) -> F:
    """Add the argument TITLE to a command, also as ``--title``."""

    @wraps(function)
    def wrapper(*, title: str | None, title_option: str | None, **values: Any) -> Any:
        if title and title_option and title != title_option:
            raise click.UsageError("TITLE and --title name different titles")
        return function(title=title or title_option, **values)

    option = click.option(
        "--title", "title_option", help="The same as TITLE.", metavar="TITLE"
    )
    argument = click.argument("title", required=False)
    return argument(option(wrapper))  # type: ignore[return-value]


def nothing_titled(con: duckdb.DuckDBPyConnection, title: str | None) -> str:
    """The reason for an empty result: no tasks at all, or no tasks of this title."""
    from promptlab.errors import did_you_mean

    found = con.execute("select distinct title from marts.dim_tasks").fetchall()
    titles = [str(row[0]) for row in found]
    if title is None or not titles:
        return "no task yet; `promptlab run PATH`"
    hint = did_you_mean(title, titles) or "; `promptlab runs` lists the tasks"
    return f"there is no task titled {title!r}{hint}"


def check_title(con: duckdb.DuckDBPyConnection, title: str, command: str) -> None:
    """Raise an error if no task has this title.

    Raises:
        NothingToDo: There is no such task.
    """
    from promptlab.errors import NothingToDo

    there = "select 1 from marts.dim_tasks where title = ? limit 1"
    if con.execute(there, [title]).fetchone() is None:
        raise NothingToDo(f"{command}: {nothing_titled(con, title)}")
