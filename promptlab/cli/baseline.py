"""``promptlab baseline``: name the task to compare others with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from promptlab.cli.cells import day, ident, path, plain, words
from promptlab.cli.options import Call, common
from promptlab.cli.output import Column, Table, print_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlab.warehouse import Warehouse


_NAMED = Table(
    columns=(
        Column("task", ident, "task_id"),
        Column("baseline of", plain, "title"),
        Column("testset", path, "testset_id"),
        Column("state", words, "state"),
        Column("set", day, "set_at"),
    ),
)
_OF_TASK = Table(
    columns=(
        Column("task", ident, "task_id"),
        Column("baseline", ident, "baseline_task_id"),
        Column("source", words, "baseline_source"),
        Column("state", words, "state"),
        Column("set", day, "set_at"),
    ),
)


@click.command("baseline", short_help="Name, show or clear a baseline.")
@click.argument("action", type=click.Choice(("set", "show", "clear")))
@click.argument("task", required=False)
@common()
def command(call: Call, action: str, task: str | None) -> int:
    """Name the task that others of its title and testset are compared with.

    `set TASK` names a baseline until another is named; `show` lists all named
    baselines, `show TASK` the baseline of TASK; `clear [TASK]` removes the baseline of
    the title and testset of TASK (default: the latest). Without a named baseline, a
    task is compared with the previous task of its title.
    """
    from promptlab.errors import UsageError
    from promptlab.history.comparisons import clear_baseline, set_baseline

    warehouse = call.warehouse()
    if action == "show":
        return _show(call, warehouse, task)
    if action == "set":
        if task is None:
            raise UsageError("baseline set: name a task; `promptlab runs` lists them")
        task_id, subject = set_baseline(warehouse, task)
        call.say(f"{task_id} is the baseline of {subject}")
    else:
        task_id, subject = clear_baseline(warehouse, task or "latest")
        call.say(f"{task_id} is no longer the baseline of {subject}")
    return 0


def _show(call: Call, warehouse: Warehouse, task: str | None) -> int:
    from promptlab.errors import NothingToDo
    from promptlab.history.comparisons import baseline_of, named_baselines

    table = _NAMED
    columns: tuple[str, ...] = ("title", "testset_id", "task_id", "state", "set_at")
    rows: Sequence[tuple[object, ...]]
    with warehouse.built() as con:
        if task is None:
            rows = named_baselines(con)
            if not rows and call.format == "table":
                raise NothingToDo(
                    "no baseline is named: every task is compared with the one of its"
                    " title before it; `promptlab baseline set TASK`"
                )
        else:
            columns = (
                "task_id",
                "baseline_task_id",
                "baseline_source",
                "state",
                "set_at",
            )
            rows = [baseline_of(con, task)]
            table = _OF_TASK
    print_rows(columns, rows, call.format, table, wide=call.wide)
    return 0
