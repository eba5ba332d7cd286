"""What a build runs, and over which raw tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from promptlab.dbt_runner import run_dbt
from promptlab.errors import UsageError

if TYPE_CHECKING:
    from promptlab.pipeline import Warehouse

# What the same project would only make again: views, and tables of policy.
_STAYS = (
    "--indirect-selection",
    "cautious",
    "--exclude",
    "resource_type:seed",
    "path:models/staging",
    "path:models/intermediate,config.materialized:view",
)

_OF_MEMORY = ("path:models/intermediate/memory", "path:models/marts/memory")


def build(warehouse: Warehouse, args: Sequence[str], *, verbose: bool) -> None:
    """Run ``dbt build``; ``Warehouse.build`` says what each argument means."""
    settings = warehouse.settings
    if settings.raw is not None:
        from ingest.parquet import ParquetLayer

        ParquetLayer.of(settings.raw).manifest()
    if settings.target == "duckdb":
        args = [*args, *_left_out(warehouse, args)]
    elif settings.raw is None:
        raise UsageError(
            f"target {settings.target} reads the raw tables from Parquet: name them"
            " with --raw parquet://DIR, made by `promptlab ingest PATH --sink"
            " parquet://DIR`"
        )
    run_dbt(settings, args, verbose=verbose)


def _left_out(warehouse: Warehouse, args: Sequence[str]) -> Sequence[str]:
    """Prepare the warehouse; say what a plain build need not do again."""
    from ingest import raw
    from promptlab.last_build import last_build

    if warehouse.settings.raw is not None:
        with warehouse.writable() as con:
            raw.give_way(con)
        return ()
    # what dbt would say in a traceback is said in words: no file, held, too new
    with warehouse.examining():
        pass
    with warehouse.writable() as con:
        raw.check_not_views(con, "build with --raw parquet://DIR")
        last = last_build(con)
    if args or last is None or not last.is_of_this_project:
        return ()
    return (*_STAYS, *(_OF_MEMORY if last.has_memory else ()))
