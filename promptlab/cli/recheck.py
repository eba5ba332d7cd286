"""``promptlab recheck``: print the commands that ask cases again."""

from __future__ import annotations

from pathlib import Path

import click

from promptlab.cli.options import Call, common
from promptlab.cli.translation import translated

_DEFAULT_DB = Path("promptlab.duckdb")


@click.command("recheck", short_help="Print how to ask broken and watched cases again.")
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
def recheck(call: Call, run: str, tool_args: str, out: Path) -> int:
    """Print the commands that ask broken and watched cases five times more.

    RUN is as in `promptlab gate`. The text is a shell script: it asks the cases of the
    new side with promptfoo or Inspect, and of the old side while a case has fewer than
    five earlier rounds, and loads the answers with `promptlab ingest --recheck-of`
    into the run that they repeat: `promptlab gate` then counts them. Run it in the
    folder where the tool ran. For other tools the cases are listed; `--format json`
    and `csv` list them for any tool, a row per case and side.
    """
    from promptlab.recheck import COLUMNS, recheck

    db = call.settings.db
    with call.warehouse().built() as con:
        asked_again = recheck(
            con,
            run,
            out,
            tool_args=tool_args,
            db=None if db == _DEFAULT_DB else db,
        )
    if call.format != "text":
        rows = [tuple(case[name] for name in COLUMNS) for case in asked_again.cases]
        call.print_rows(COLUMNS, rows)
        return 0
    asked_again.write(out)
    for line in asked_again.script.splitlines():
        click.echo(_in_language(line) if line.startswith("#") else line)
    return 0


def _in_language(comment: str) -> str:
    written = translated(comment)
    return written if written != comment else f"# {translated(comment[2:])}"
