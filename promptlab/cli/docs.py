"""``promptlab docs``: the data dictionary and the lineage as one page."""

from __future__ import annotations

from pathlib import Path

import click

from promptlab.cli.options import Call, common


@click.command("docs", short_help="Write tables, columns and lineage as one page.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default="promptlab-docs.html",
    show_default=True,
    help="File to write; a folder gets index.html.",
)
@common()
def command(_call: Call, out: Path) -> int:
    """Write every table, its columns and what it is made of as one HTML file.

    The page holds everything itself, so it can be opened from disk or put on any static
    host. It describes the tables that this promptlab builds; no warehouse is read.
    """
    from promptlab.build import plan
    from promptlab.dictionary.tables import page
    from promptlab.errors import SettingsError

    file = out / "index.html" if out.is_dir() else out
    text = page(plan.load())
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    except OSError as error:
        raise SettingsError(f"{file}: cannot be written: {error}") from None
    click.echo(file)
    return 0
