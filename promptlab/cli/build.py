"""``promptlab build``: dbt build on the bundled project."""

from __future__ import annotations

import time

import click

from promptlab.cli.options import Call, common

full_refresh_option = click.option(
    "--full-refresh",
    is_flag=True,
    help="Compute everything again from the raw tables, not only what is new.",
)


TARGETS = ("duckdb", "spark_local", "spark_connect", "spark_thrift")


target_option = click.option(
    "--target",
    type=click.Choice(TARGETS),
    help="Engine of the models [default: duckdb]; Spark: docs/scale.md.",
)


@click.command("build", short_help="Compute every mart with dbt.")
@click.argument("dbt_args", nargs=-1, type=click.UNPROCESSED)
@full_refresh_option
@target_option
@click.option(
    "--raw",
    metavar="parquet://DIR",
    help="Read the raw tables from here [default: from the warehouse].",
)
@common("target", "raw")
def command(
    call: Call,
    dbt_args: tuple[str, ...],
    full_refresh: bool,
    target: str,
    raw: str | None,  # noqa: ARG001  # in the settings
) -> int:
    """Compute every mart: `dbt build` on the bundled project, in this process.

    Only what is new or changed since the last build is computed.

    What follows `--` goes to dbt as it is, for example
    `promptlab build -- --select fct_task_summaries+`.
    """
    from promptlab.pipeline import Warehouse

    started = time.monotonic()
    Warehouse(call.settings.db, settings=call.settings).build(
        dbt_args, full_refresh=full_refresh, verbose=call.verbose
    )
    seconds = time.monotonic() - started
    where = call.settings.db if target == "duckdb" else target
    call.say(
        f"built {where} in {seconds:.1f} s",
        "built",
        seconds=round(seconds, 1),
    )
    return 0
