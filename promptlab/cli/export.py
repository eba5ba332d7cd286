"""``promptlab export``: the tables as Parquet."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from promptlab.cli.build import target_option
from promptlab.cli.options import Call, common


@click.command("export", short_help="The tables as Parquet files.")
@click.option(
    "--parquet",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder to write; one that holds an export is replaced.",
)
@click.option(
    "--schema",
    "schemas",
    type=click.Choice(("marts", "raw")),
    multiple=True,
    default=("marts",),
    show_default=True,
    help="May be repeated.",
)
@target_option
@common("target")
def command(call: Call, folder: Path, schemas: tuple[str, ...], target: str) -> int:
    """Write every mart as Parquet, for any engine that reads it.

    DIR/marts/<table>/**/*.parquet; what belongs to a task lies in folders by the month
    in which the task was created. manifest.json names tables, rows and columns. Nothing
    is seen in DIR before everything is written.
    """
    from promptlab.cli.output import print_rows
    from promptlab.errors import UsageError
    from promptlab.operations.export import export_parquet
    from promptlab.operations.export_from_spark import export_from_spark
    from promptlab.pipeline import Warehouse

    now = datetime.now(UTC)
    if target == "duckdb":
        manifest = export_parquet(
            Warehouse(call.settings.db, settings=call.settings),
            folder,
            schemas=tuple(dict.fromkeys(schemas)),
            exported_at=now,
        )
    elif schemas == ("marts",):
        manifest = export_from_spark(call.settings, folder, exported_at=now)
    else:
        raise UsageError(
            f"--target {target} exports the marts: its raw tables are Parquet already"
        )
    tables = manifest["tables"]
    print_rows(
        ("table", "rows", "files"),
        [(f"{t['schema']}.{t['name']}", t["rows"], t["files"]) for t in tables],
        call.format,
    )
    call.say(f"wrote {len(tables)} tables to {folder}", "exported", folder=folder)
    return 0
