"""``promptlab export``: the tables as Parquet, tasks as files of Every Eval Ever."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from promptlab.cli.build import target_option
from promptlab.cli.options import Call, common


@click.command("export", short_help="Export tables as Parquet, or tasks as files.")
@click.option(
    "--parquet",
    "folder",
    type=click.Path(path_type=Path),
    help="Target folder; an existing export is replaced.",
)
@click.option(
    "--every-eval-ever",
    "evals",
    type=click.Path(path_type=Path),
    help="Target folder for tasks in the format of Every Eval Ever.",
)
@click.option(
    "--task", "tasks", multiple=True, help="Task for --every-eval-ever [default: all]."
)
@click.option(
    "--organization",
    default="unknown",
    show_default=True,
    help="Source of the data, for --every-eval-ever.",
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
def command(
    call: Call,
    folder: Path | None,
    evals: Path | None,
    tasks: tuple[str, ...],
    organization: str,
    schemas: tuple[str, ...],
) -> int:
    """Write every mart as Parquet, for any engine that reads it.

    DIR/marts/<table>/**/*.parquet; rows of a task are in folders by the month
    in which the task was created. manifest.json names tables, rows and columns. DIR
    appears only when everything is written.

    With --every-eval-ever: each task as an aggregate JSON, and a JSONL line for each
    score of a round, valid against schema version 0.3.0.
    """
    from promptlab.cli.output import print_rows
    from promptlab.errors import UsageError

    if (folder is None) == (evals is None):
        raise UsageError("name one of --parquet DIR and --every-eval-ever DIR")
    if evals is not None:
        return _export_evals(call, evals, tasks, organization)
    assert folder is not None
    if tasks:
        raise UsageError("--task goes with --every-eval-ever: Parquet has every task")
    from promptlab.operations.export import export_from_spark, export_parquet

    now = datetime.now(UTC)
    target = call.settings.target
    if target == "duckdb":
        manifest = export_parquet(
            call.warehouse(),
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


def _export_evals(
    call: Call, folder: Path, tasks: tuple[str, ...], organization: str
) -> int:
    from promptlab.cli.output import print_rows
    from promptlab.operations.export_evals import export_evals

    exported = export_evals(
        call.warehouse(),
        folder,
        tasks=tasks,
        organization=organization,
        exported_at=datetime.now(UTC),
    )
    print_rows(
        ("task", "lines", "rounds left out", "file"),
        [
            (each.task_id, each.lines, each.left_out, str(folder / each.aggregate))
            for each in exported
        ],
        call.format,
    )
    call.say(f"wrote {len(exported)} tasks to {folder}", "exported", folder=folder)
    return 0
