"""Build the marts: run the compiled plan in one transaction, or dbt itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from promptlab.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TextIO

    import duckdb

    from promptlab.build.execution import OnNode
    from promptlab.build.plan import Plan
    from promptlab.warehouse_file import WarehouseFile

Request = Callable[["duckdb.DuckDBPyConnection"], None]
"""A function that records a user's request, which the build then processes."""

_WITH_RAW = "build with --raw parquet://DIR"
_NO_REQUESTS = (
    "what people ask for is kept with raw tables, so only a warehouse with its own"
    " takes it"
)


def build(
    warehouse: WarehouseFile,
    *,
    full_refresh: bool = False,
    verbose: bool = False,
    request: Request | None = None,
    on_node: OnNode = lambda _name, _place, _of: None,
) -> None:
    """Build what is new; ``Warehouse.build`` describes the arguments.

    *request* is called first, in the same transaction.
    """
    settings = warehouse.settings
    if warehouse.builds_by_dbt and request is None:
        _prepare_for_dbt(warehouse)
        from promptlab.build.dbt import run_dbt

        run_dbt(settings, ["--full-refresh"] if full_refresh else [], verbose=verbose)
        return
    from promptlab.build import plan
    from promptlab.build.execution import (
        BrokenContract,
        execute,
        plan_that_names_rows,
        tune,
    )
    from promptlab.build.unknown_settings import warn_of_unknown_names
    from promptlab.ingest import raw
    from promptlab.ingest.raw.requests import keep_settings
    from promptlab.relations import transaction

    warehouse.require()
    compiled = plan.load()
    with warehouse.writable() as con:
        raw.check_not_views(con, _NO_REQUESTS if request else _WITH_RAW)
        tune(con)

        def run(plan: Plan) -> None:
            keep_settings(con, settings)
            if request is not None:
                request(con)
            execute(
                con,
                plan,
                full_refresh=full_refresh,
                lang=settings.lang,
                on_node=on_node,
            )
            warn_of_unknown_names(con, settings)

        try:
            with transaction(con):
                run(compiled)
        except BrokenContract as broken:
            with transaction(con):  # nothing of it stays
                run(plan_that_names_rows(compiled, broken.node))
                raise
        con.execute("reset preserve_insertion_order")  # `run` reports with it


WITHOUT_TABLES = ("clean", "debug", "deps", "list", "ls", "parse")
"""Commands of dbt that need no warehouse."""


def call_dbt(
    warehouse: WarehouseFile, args: Sequence[str], *, output: TextIO | None = None
) -> Path:
    """Run any dbt command on the bundled project and the warehouse.

    What dbt prints goes to stderr, or to *output*. Returns the folder of the files that
    dbt writes.

    Raises:
        BuildError: names every node that failed.
        UsageError: dbt does not understand *args*.
    """
    from promptlab.build.dbt import run_dbt

    if args[0] not in WITHOUT_TABLES:
        _prepare_for_dbt(warehouse)
        _store_steps(warehouse)
    return run_dbt(
        warehouse.settings, args[1:], command=args[0], verbose=True, output=output
    )


def _store_steps(warehouse: WarehouseFile) -> None:
    """Let dbt test, or build a part of, what a plan has built."""
    from promptlab.build import plan
    from promptlab.build.execution import last_build, store_steps

    if warehouse.builds_by_dbt:
        return
    with warehouse.writable() as con:
        last = last_build(con, warehouse.settings)
        if last is not None and last.is_of_this_project:
            store_steps(con, plan.load())


def _prepare_for_dbt(warehouse: WarehouseFile) -> None:
    """Store the settings, and check what dbt would report as a traceback."""
    from promptlab.ingest import raw
    from promptlab.ingest.parquet import ParquetLayer
    from promptlab.ingest.raw.requests import keep_settings

    settings = warehouse.settings
    if settings.raw is not None:
        ParquetLayer.from_address(settings.raw).manifest()
        if settings.target == "duckdb":
            with warehouse.writable() as con:
                raw.give_way(con)
                keep_settings(con, settings)
    elif settings.target != "duckdb":
        raise UsageError(
            f"target {settings.target} reads the raw tables from Parquet: name them"
            " with --raw parquet://DIR, made by `promptlab ingest PATH --sink"
            " parquet://DIR`"
        )
    else:
        warehouse.require()
        with warehouse.writable() as con:
            raw.check_not_views(con, _WITH_RAW)
            keep_settings(con, settings)
