"""``promptlab docs``: the data catalogue as one page."""

from __future__ import annotations

from pathlib import Path

import click

from promptlab.cli.options import Call, common


@click.command("docs", short_help="The catalogue of all tables as one file.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default="promptlab-docs.html",
    show_default=True,
    help="File to write; a folder gets index.html.",
)
@common()
def command(call: Call, out: Path) -> int:
    """Write dbt's catalogue of every table, column, test and lineage as one HTML file.

    The page holds everything itself, so it can be opened from disk or put on any static
    host.
    """
    from promptlab.build.dbt import write_docs
    from promptlab.pipeline import Warehouse

    warehouse = Warehouse(call.settings.db, settings=call.settings)
    with warehouse.built():
        pass  # a catalogue of nothing would mislead
    file = out / "index.html" if out.is_dir() else out
    click.echo(write_docs(call.settings, file, verbose=call.verbose))
    return 0
