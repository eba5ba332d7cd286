"""``promptlab schema``: the JSON Schemas of promptlab's file formats."""

from __future__ import annotations

import json
from pathlib import Path

import click

from promptlab.cli.options import Call, common


@click.command("schema", short_help="Print JSON Schemas of inputs and outputs.")
@click.argument("name", required=False)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write every schema below this folder.",
)
@common(formats=("table", "json"))
def command(call: Call, name: str | None, out: Path | None) -> int:
    """Print a JSON Schema, list their names, or write all with --out."""
    from promptlab.contracts.schemas import schemas, write_schemas
    from promptlab.errors import UsageError

    if out is not None:
        for path in write_schemas(out):
            call.say(str(path))
        return 0
    known = {file.removesuffix(".schema.json"): s for file, s in schemas().items()}
    if name is None:
        names = list(known)
        click.echo(json.dumps(names) if call.format == "json" else "\n".join(names))
        return 0
    if name not in known:
        raise UsageError(f"{name}: there is no such schema; {', '.join(known)}")
    click.echo(json.dumps(known[name], ensure_ascii=False, indent=2))
    return 0
