"""Commands for setting up and checking: examples, versions, the warehouse file."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click

from promptlab.cli.options import Call, common
from promptlab.cli.output import (
    Cell,
    Column,
    Table,
    judged,
    plain,
    print_objects,
    print_text,
)
from promptlab.cli.translation import translated
from promptlab.errors import UsageError

if TYPE_CHECKING:
    from promptlab.contracts.sources import TableMapping
    from promptlab.operations.health import Finding


# ---------- init


PARTS = ("customer_service", "memory")
"""Folders of ``examples/``: a testset with two runs and scores, and a memory run."""

_CONFIG = """\
# {Settings of promptlab.}
# {An option wins over the environment (PROMPTLAB_<NAME>), that over this file.}

db = "promptlab.duckdb"     # {the warehouse}
out = "out"                 # {folder for reports}
lang = "LANG"                 # {of reports and of what commands print: zh or en}
lock_timeout = 60.0         # {seconds to wait for a warehouse that is in use}
# threads = 4               # {DuckDB's, and models that dbt builds at a time}
# memory_limit = "4GB"      # {DuckDB's; by default most of the machine's}
# templates = "templates"   # {templates that replace built-in ones of the same name}
# policy = "ci/gate.toml"   # {rules of the gate, for `gate` and every report}
#
# [memory]                  # {of memory benchmarks}
# right_metric = "cmrc_f1"  # {metric that says whether an answer is right}
# right_threshold = 0.8     # {score from which it is}
"""
"""The comments in braces are in the language of the call."""


def _config(lang: str) -> str:
    """Return the config that ``init`` writes."""
    text = re.sub(r"\{(.+?)\}", lambda match: translated(match[1]), _CONFIG)
    return text.replace("LANG", lang)


TASK_FILE = "run.json"


@click.command("init", short_help="Write a config and an example to start from.")
@click.argument("folder", default=".", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--task",
    is_flag=True,
    help=f"Write {TASK_FILE} instead: one whole run, to put your own into.",
)
@click.option(
    "--table",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Guess a mapping for this CSV, TSV, JSON, JSONL, Parquet or XLSX.",
)
@common(exits=())
def init(call: Call, folder: Path, task: bool, table: Path | None) -> int:
    """Write a config and a small example: a testset, two runs, a memory run.

    Nothing that exists is overwritten. Next: `promptlab run examples`.

    With --table: guess a mapping of a table's columns, print it, and write it to the
    config as `[tables.<name>]`; correct it there. Every table with these columns
    can then be loaded.
    """
    if table is not None:
        return _write_mapping(call, folder, table)
    return _write_task(call, folder) if task else _write_examples(call, folder)


def task_example() -> str:
    """Return the text of a complete run: every field of the contract, two cases."""
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
    config.write_text(_config(call.settings.lang), "utf-8")
    for part in PARTS:
        shutil.copytree(examples(call.settings.lang) / part, data / part)
    click.echo(config)
    click.echo(data)
    is_here = folder.resolve() == Path.cwd()
    enter = "" if is_here else f"cd {shlex.quote(str(folder))} && "
    call.say(f"next: {enter}promptlab run examples")
    return 0


def _refuse_to_overwrite(*paths: Path) -> None:
    existing = [str(path) for path in paths if path.exists()]
    if existing:
        raise UsageError(f"{', '.join(existing)}: exists already; nothing was written")


def _write_mapping(call: Call, folder: Path, table: Path) -> int:
    from promptlab.ingest.foreign.table.guessing import (
        guess,
        mapping_as_toml,
        mapping_name,
        toml_key,
    )
    from promptlab.settings import load_settings

    mapping, columns, notes = guess(table)
    name = mapping_name(table)
    key = f"tables.{toml_key(name)}"
    own_config, shared_config = folder / "promptlab.toml", folder / "pyproject.toml"
    is_shared = (
        not own_config.exists()
        and shared_config.is_file()
        and "[tool.promptlab" in shared_config.read_text("utf-8")
    )
    config = shared_config if is_shared else own_config
    if config.exists() and name in load_settings({}, config=config, environ={}).tables:
        raise UsageError(f"{config}: [{key}] exists already; nothing written")
    before = _config(call.settings.lang)
    if config.exists():
        before = config.read_text("utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    prefix = "tool.promptlab." if is_shared else ""
    section = mapping_as_toml(f"{prefix}{key}", mapping, notes)
    config.write_text(f"{before.rstrip()}\n\n{section}", "utf-8")
    meanings = _meanings(mapping)
    named = dict.fromkeys([*columns, *meanings])
    rows = [(column, meanings.get(column, "kept with each row")) for column in named]
    call.print_rows(("column", "is"), rows)
    for note in notes:
        call.say(note)
    call.say(
        f"guessed, and written to {config} as [{key}]: correct it there, then"
        f" promptlab run {table}"
    )
    return 0


def _meanings(mapping: TableMapping) -> dict[str, str]:
    meanings: dict[str, str] = {}
    for name in type(mapping).model_fields:
        value = getattr(mapping, name)
        for column in [value] if isinstance(value, str) else value or ():
            also = f"{meanings[column]}, " if column in meanings else ""
            meanings[column] = f"{also}{name}"
    return meanings


# ---------- doctor


def _of_ours(value: str | None) -> Cell:
    """What is wrong with a file, which reads as errors do."""
    return plain(value and translated(value))


_DOCTOR_TABLE = Table(
    columns=(
        Column("state", judged, "state"),
        Column("name", _of_ours, "name"),
        Column("value", _of_ours, "value"),
        Column("fix", _of_ours, "fix"),
    ),
    by=("what",),
)


@click.command("doctor", short_help="Print versions and check the warehouse.")
@common(exits=())
def doctor(call: Call) -> int:
    """Examine the warehouse file: is it whole, and does it hold together?

    Reads every table, since damage only shows as it is read; compares what was loaded
    with what was built. Each line is ok, warn or fail, with one fix; a table has only
    those that are not ok, unless --wide or --verbose ask for all. Exits 70 if any line
    is fail.
    """
    from promptlab.operations.health import examine

    findings = list(examine(call.warehouse()))
    is_short = call.format == "table" and not (call.wide or call.verbose)
    shown = [f for f in findings if f.state != "ok"] if is_short else findings
    if call.format == "table":
        shown = [replace(row, what=translated(row.what)) for row in shown]
    if shown or not is_short:
        columns = ("what", "name", "state", "value", "fix")
        print_objects(shown, columns, call.format, _DOCTOR_TABLE)
    if is_short:
        _print_summary(findings)
    return 70 if any(f.state == "fail" for f in findings) else 0


def _print_summary(findings: Sequence[Finding]) -> None:
    """Return a line with a check and its result."""
    values = {finding.name: finding.value for finding in findings}
    counts = Counter(finding.state for finding in findings)
    state = "fail" if counts["fail"] else "warn" if counts["warn"] else "ok"
    sign = judged(state)
    looked_at = Counter(finding.what for finding in findings)
    summary = (
        f"promptlab {values['promptlab']}, duckdb {values['duckdb']},"
        f" dbt {values['dbt-core']}, python {values['python']}; {values['warehouse']}:"
        f" {looked_at['rows']} tables read, {looked_at['check']} checks;"
        f" {counts['fail']} fail, {counts['warn']} warn, {counts['ok']} ok"
    )
    print_text(
        translated(summary),
        lead=f"{sign.text}: ",
        lead_style=sign.style,
    )
