"""``promptlab build``: every mart, by the plan that dbt compiled."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from promptlab.cli.options import Call, common
from promptlab.cli.progress import ProgressBar, progress

if TYPE_CHECKING:
    from promptlab.warehouse import Warehouse

full_refresh_option = click.option(
    "--full-refresh",
    is_flag=True,
    help="Rebuild everything from the raw tables, not only new rows.",
)


TARGETS = ("duckdb", "spark_local", "spark_connect", "spark_thrift")


target_option = click.option(
    "--target",
    type=click.Choice(TARGETS),
    help="Engine of the models [default: duckdb]; Spark: docs/scale.md.",
)


@click.command("build", short_help="Build the marts.")
@click.argument("dbt_args", nargs=-1, type=click.UNPROCESSED)
@full_refresh_option
@target_option
@click.option(
    "--raw",
    metavar="parquet://DIR",
    help="Location of the raw tables [default: from the warehouse].",
)
@common("target", "raw")
def command(
    call: Call,
    dbt_args: tuple[str, ...],
    full_refresh: bool,
) -> int:
    """Build the marts of everything new or changed since the last build.

    The models and their data tests, as compiled by dbt, run in one transaction.
    Arguments after `--` are passed to dbt, for example
    `promptlab build -- --select fct_task_summaries+`.
    """
    started = time.monotonic()
    warehouse = call.warehouse()
    with progress(1, shown=call.shows_bars) as bar:
        bar.begin(1)
        build_with_progress(warehouse, call, bar, dbt_args, full_refresh=full_refresh)
    seconds = time.monotonic() - started
    target = call.settings.target
    where = call.settings.db if target == "duckdb" else target
    call.say(
        f"built {where} in {seconds:.1f} s",
        "built",
        seconds=round(seconds, 1),
    )
    return 0


def build_with_progress(
    warehouse: Warehouse,
    call: Call,
    bar: ProgressBar,
    args: Sequence[str] = (),
    *,
    full_refresh: bool = False,
) -> None:
    """Build as one phase of a progress bar."""
    warehouse.build(
        args,
        full_refresh=full_refresh,
        verbose=call.verbose,
        on_node=lambda name, place, of: bar.put(f"computing {name}", place, of),
    )
