"""``promptlab purge``: delete tasks and memory runs permanently."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from promptlab.cli.options import Call, common

if TYPE_CHECKING:
    from promptlab.operations.purge import Purge


@click.command("purge", short_help="Delete tasks and runs permanently.")
@click.option("--task", "tasks", multiple=True, help="A task's id; may be repeated.")
@click.option("--run", "runs", multiple=True, help="The same for a memory run.")
@click.option(
    "--before",
    type=click.DateTime(("%Y-%m-%d",)),
    help="Every task created, and memory run started, before this day (UTC).",
)
@click.option(
    "--dry-run", is_flag=True, help="Report the rows to delete, and change nothing."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@common()
def command(
    call: Call,
    tasks: tuple[str, ...],
    runs: tuple[str, ...],
    before: datetime | None,
    dry_run: bool,
    yes: bool,
) -> int:
    """Delete tasks and memory runs from every table, and from the file itself.

    The file is rewritten without them, so that no byte is left. Their
    files are not loaded again, except with `promptlab ingest --purged-too`. Testsets
    and pipelines stay. Run `promptlab build` afterwards to update aggregates such as
    trends and flaky cases.
    """
    from promptlab.errors import UsageError
    from promptlab.operations.purge import find, purge

    if not (tasks or runs or before):
        raise UsageError("purge: name what goes: --task ID, --run ID or --before DATE")
    warehouse = call.warehouse()
    day = None if before is None else before.date()
    if dry_run or not yes:
        found = find(warehouse, tasks=[*tasks, *runs], before=day)
        if dry_run:
            _print(found, call)
            return 0
        _ask(found)
    _print(purge(warehouse, tasks=[*tasks, *runs], before=day), call, done=True)
    return 0


def _ask(found: Purge) -> None:
    from promptlab.errors import UsageError

    if not sys.stdin.isatty():
        raise UsageError(
            "purge: nobody can be asked here; --yes deletes without asking, --dry-run"
            " says what would go (nothing was changed)"
        )
    ids = ", ".join(found.tasks)
    click.confirm(f"Delete {ids}? This cannot be undone.", abort=True, err=True)


def _print(found: Purge, call: Call, *, done: bool = False) -> None:
    from promptlab.cli.output import print_rows

    print_rows(("table", "rows"), sorted(found.rows.items()), call.format)
    call.say(
        f"{'deleted' if done else 'would delete'}: {len(found.tasks)} task(s),"
        f" {sum(found.rows.values())} rows",
        "purged" if done else "purge_planned",
        tasks=found.tasks,
        rows=sum(found.rows.values()),
    )
    for backup in found.backups:
        call.say(
            f"{backup}: a copy from before an upgrade; it may still hold them, delete"
            " it when it is not needed any more",
            "backup_left",
            file=backup,
        )
    for table in found.unknown:
        call.say(
            f"{table}: is no table of this project; it was left as it is, and may hold"
            " them too",
            "table_left",
            table=table,
        )
