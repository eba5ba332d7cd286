"""``promptlab init``: a config and a small example to start from."""

from __future__ import annotations

from pathlib import Path

import click

from promptlab.cli.options import Call, common

PARTS = ("customer_service", "memory")
"""Folders of ``examples/``: a testset with two runs and scores, and a memory run."""

CONFIG = """\
# Settings of promptlab. An option wins over the environment (PROMPTLAB_<NAME>), that
# over this file.

db = "promptlab.duckdb"     # the warehouse
out = "out"                 # folder for reports
lang = "zh"                 # language of reports: zh or en
lock_timeout = 10.0         # seconds to wait for a warehouse that is in use
threads = 4                 # models that are built at a time
# memory_limit = "4GB"      # DuckDB's; by default most of the machine's
# templates = "templates"   # templates that replace built-in ones of the same name
"""


@click.command("init", short_help="Write a config and an example to start from.")
@click.argument("folder", default=".", type=click.Path(path_type=Path, file_okay=False))
@common()
def command(call: Call, folder: Path) -> int:
    """Write a config and a small example: a testset, two runs, a memory run.

    Nothing that exists is overwritten. Next: `promptlab run examples`.
    """
    import shutil

    from promptlab.errors import UsageError
    from promptlab.paths import examples

    config, data = folder / "promptlab.toml", folder / "examples"
    taken = [str(path) for path in (config, data) if path.exists()]
    if taken:
        raise UsageError(f"{', '.join(taken)}: exists already; nothing was written")
    folder.mkdir(parents=True, exist_ok=True)
    config.write_text(CONFIG, "utf-8")
    for part in PARTS:
        shutil.copytree(examples() / part, data / part)
    click.echo(config)
    click.echo(data)
    call.say(f"next: cd {folder} && promptlab run examples")
    return 0
