"""``promptlab recheck``: print how to run newly failing cases again, on both sides."""

from __future__ import annotations

from pathlib import Path

import click

from promptlab.cli.options import Call, common

DEFAULT_DB = Path("promptlab.duckdb")


@click.command("recheck", short_help="Print how to run newly failing cases again.")
@click.argument("run", metavar="[RUN]", default="latest")
@click.option(
    "--tool-args",
    metavar="TEXT",
    default="",
    help="Arguments for the tool, such as '-c evals/promptfooconfig.yaml'.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default="recheck",
    show_default=True,
    help="Folder for the new results, and for files that the commands read.",
)
@common(formats=("text", "json", "csv"))
def command(call: Call, run: str, tool_args: str, out: Path) -> int:
    """Print the commands that run newly failing cases again, on both sides.

    RUN is as in `promptlab gate`. The text is a shell script: it runs the cases of the
    new side and of the old one with promptfoo or Inspect, and loads the new rounds with
    `promptlab ingest --recheck-of`. `promptlab gate` then uses them. For other
    tools the cases are listed; `--format json` and `csv` list them for any tool.
    """
    from promptlab.cli.output import print_rows
    from promptlab.history.recheck import COLUMNS, recheck

    db = call.settings.db
    with call.warehouse().built() as con:
        found = recheck(
            con,
            run,
            out,
            tool_args=tool_args,
            db=None if db == DEFAULT_DB else db,
        )
    if call.format != "text":
        rows = [tuple(case[name] for name in COLUMNS) for case in found.cases]
        print_rows(COLUMNS, rows, call.format)
        return 0
    found.write(out)
    click.echo(found.script, nl=False)
    return 0
