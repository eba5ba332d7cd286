"""``promptlab init``: a config and examples to start from, or one run of your own."""

from __future__ import annotations

from importlib import resources
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


TASK_FILE = "run.json"


@click.command("init", short_help="Write a config and an example to start from.")
@click.argument("folder", default=".", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--task",
    is_flag=True,
    help=f"Write {TASK_FILE} instead: one whole run, to put your own into.",
)
@common()
def command(call: Call, folder: Path, task: bool) -> int:
    """Write a config and a small example: a testset, two runs, a memory run.

    Nothing that exists is overwritten. Next: `promptlab run examples`.
    """
    return _write_task(call, folder) if task else _write_examples(call, folder)


def task_example() -> str:
    """The text of a whole run: every field of the contract, two small cases."""
    return resources.files("promptlab.cli").joinpath(TASK_FILE).read_text("utf-8")


def _write_task(call: Call, folder: Path) -> int:
    file = folder / TASK_FILE
    _refuse_to_overwrite(file)
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(task_example(), "utf-8")
    click.echo(file)
    call.say(
        f"next: put your run into it, promptlab validate {file}, promptlab run {file}"
    )
    return 0


def _write_examples(call: Call, folder: Path) -> int:
    import shutil

    from promptlab.paths import examples

    config, data = folder / "promptlab.toml", folder / "examples"
    _refuse_to_overwrite(config, data)
    folder.mkdir(parents=True, exist_ok=True)
    config.write_text(CONFIG, "utf-8")
    for part in PARTS:
        shutil.copytree(examples() / part, data / part)
    click.echo(config)
    click.echo(data)
    call.say(f"next: cd {folder} && promptlab run examples")
    return 0


def _refuse_to_overwrite(*paths: Path) -> None:
    from promptlab.errors import UsageError

    taken = [str(path) for path in paths if path.exists()]
    if taken:
        raise UsageError(f"{', '.join(taken)}: exists already; nothing was written")
