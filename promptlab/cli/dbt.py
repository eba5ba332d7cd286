"""``promptlab dbt``: any dbt command on the bundled project."""

from __future__ import annotations

import os
import shutil
import sys

import click

from promptlab.cli.load import is_built, target_option
from promptlab.cli.options import Call, common
from promptlab.errors import UsageError

PAGE = "dbt.html"
"""Name of the page of ``dbt docs generate`` in the folder for reports."""


@click.command(
    "dbt",
    short_help="Run dbt on the bundled project.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("args", nargs=-1, type=click.UNPROCESSED, metavar="path | ARGS...")
@target_option
@click.option(
    "--raw",
    metavar="parquet://DIR",
    help="Location of the raw tables [default: from the warehouse].",
)
@common("target", "raw", formats=None, exits=())
def dbt(call: Call, args: tuple[str, ...]) -> int:
    """Run a dbt command on the bundled project, its profile and the warehouse.

    `promptlab dbt build --select fct_task_summaries+`, `promptlab dbt ls`; options of
    promptlab come before the command. `promptlab dbt docs generate` writes every
    table, its columns and the graph of models as one page, dbt.html in the folder for
    reports.

    `promptlab dbt build` alone ends at once where the last build has everything.

    `promptlab dbt path` prints the folder of the project. Name it in the `packages.yml`
    of your own dbt project, and build models on the marts:
    `packages: [{local: FOLDER}]`.
    """
    from promptlab.build import call_dbt
    from promptlab.paths import dbt_project

    if not args:
        raise UsageError("dbt: name a command, such as `promptlab dbt build`")
    if args == ("path",):
        click.echo(dbt_project())
        return 0
    warehouse = call.warehouse()
    if args == ("build",) and not warehouse.builds_by_dbt and is_built(warehouse):
        call.say(
            "nothing new since the last build; `promptlab dbt test` tests it,"
            " `promptlab dbt build --full-refresh` builds everything again"
        )
        return 0
    is_page = args[:2] == ("docs", "generate")
    if is_page:
        args = ("docs generate", *args[2:], "--static")
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        args = (*args, "--no-use-colors")
    if call.quiet:
        args = (*args, "--quiet")
    target = call_dbt(warehouse, args, output=sys.stdout)
    if is_page:
        call.settings.out.mkdir(parents=True, exist_ok=True)
        page = call.settings.out / PAGE
        shutil.copyfile(target / "static_index.html", page)
        click.echo(page)
    return 0
