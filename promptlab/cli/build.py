"""``promptlab build``: dbt build on the bundled project."""

from __future__ import annotations

import time

import click

from promptlab.cli.options import Call, common


@click.command("build", short_help="Compute every mart with dbt.")
@click.argument("dbt_args", nargs=-1, type=click.UNPROCESSED)
@common()
def command(call: Call, dbt_args: tuple[str, ...]) -> int:
    """Compute every mart: `dbt build` on the bundled project, in this process.

    What follows `--` goes to dbt as it is, for example
    `promptlab build -- --select fct_task_summaries+`.
    """
    from promptlab.pipeline import Warehouse

    started = time.monotonic()
    Warehouse(call.settings.db, settings=call.settings).build(
        dbt_args, verbose=call.verbose
    )
    call.say(f"built {call.settings.db} in {time.monotonic() - started:.1f} s")
    return 0
