"""``promptlab publish``: write a copy for readers."""

from __future__ import annotations

from pathlib import Path

import click

from promptlab.cli.options import Call, common


@click.command("publish", short_help="Write a read-only copy for dashboards.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--marts-only",
    is_flag=True,
    help="Copy only the marts; views become tables.",
)
@common()
def command(call: Call, path: Path, marts_only: bool) -> int:
    """Put a consistent, read-only copy of the warehouse at PATH, in one step.

    A DuckDB file is either written by one process or read by many. Dashboards and
    notebooks that use the copy never block a build: readers of the old copy keep
    reading it, and readers that open PATH later see the new one.
    """
    from promptlab.cli.output import print_rows
    from promptlab.operations.publish import publish

    written = publish(call.warehouse(), path, marts_only=marts_only)
    print_rows(("published",), [(str(written),)], call.format)
    return 0
