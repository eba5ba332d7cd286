"""``promptlab accept``: record that a run is as it should be."""

from __future__ import annotations

import click

from promptlab.cli.options import Call, common
from promptlab.cli.output import Column, Table, day, ident, plain
from promptlab.errors import NothingToDo, UsageError

_MOST_CASES = 5

_TABLE = Table(
    columns=(
        Column("task", ident, "task_id"),
        Column("title", plain, "title"),
        Column("variant", plain, "variant"),
        Column("cases", plain, "n_cases"),
        Column("accepted", day, "accepted_at"),
        Column("reason", plain, "reason"),
    ),
)


@click.command("accept", short_help="Accept a run as it should be, with a reason.")
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--reason", metavar="TEXT", help="Why the run is as it should be.")
@click.option("--undo", is_flag=True, help="Delete what was accepted of RUN.")
@click.option("--list", "listed", is_flag=True, help="List what was accepted.")
@common()
def accept(
    call: Call, run: str | None, reason: str | None, undo: bool, listed: bool
) -> int:
    """Say that a run is as it should be: the gate passes it.

    RUN is as in `promptlab gate` (default: the latest). For its cases that are broken,
    watched or not compared, history starts at this run: what they are judged by now is
    what later runs have to meet. All other cases keep their history. The reason is
    shown with the decision. `--undo` deletes what was accepted.
    """
    from promptlab import accept as accepting

    warehouse = call.warehouse()
    if undo and listed:
        raise UsageError("accept: --undo and --list exclude each other")
    if listed:
        if run is not None or reason is not None:
            raise UsageError("accept --list: takes no run and no reason")
        with warehouse.built() as con:
            rows = accepting.accepted(con)
        if not rows and call.format == "table":
            raise NothingToDo("no run was accepted; `promptlab accept RUN --reason …`")
        call.print_rows(accepting.ACCEPTED, rows, _TABLE)
        return 0
    if undo:
        if reason is not None:
            raise UsageError("accept --undo: takes no reason")
        for task_id in accepting.undo(warehouse, run or "latest"):
            call.say(f"{task_id} is accepted no longer")
        return 0
    if not (reason or "").strip():
        raise UsageError(
            "accept: say why, for those who read the history:"
            f' `promptlab accept {run or "latest"} --reason "the answers are shorter'
            ' now, on purpose"`'
        )
    for task in accepting.accept(warehouse, run or "latest", str(reason).strip()):
        n = len(task.cases)
        names = ", ".join(task.cases[:_MOST_CASES])
        more = f", {n - _MOST_CASES} more" if n > _MOST_CASES else ""
        effect = (
            f"the history of {n} case(s) starts here: {names}{more}"
            if n
            else "what is missing is not missed any more"
        )
        call.say(f"accepted {task.task_id} ({task.title}, {task.variant}): {effect}")
    return 0
