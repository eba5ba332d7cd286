"""Commands about the data itself: query, export and purge it."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from promptlab.cli.load import target_option
from promptlab.cli.options import Call, common
from promptlab.errors import UsageError
from promptlab.relations import run_query

if TYPE_CHECKING:
    from promptlab.operations.purge import Purge


# ---------- query


@click.command("query", short_help="Run read-only SQL on the warehouse.")
@click.argument("sql")
@common(exits=())
def query(call: Call, sql: str) -> int:
    """Run one read-only SQL query over the whole warehouse.

    `promptlab query "select * from marts.fct_task_summaries"`; `-` reads the
    query from stdin. Tables and columns have comments: `from duckdb_columns()`, or
    `promptlab dbt docs generate`.
    """
    if sql == "-":
        sql = sys.stdin.read()
    with call.warehouse().connect() as con:
        columns, rows = run_query(con, sql)
    call.print_rows(columns, rows)
    return 0


# ---------- export


@click.command("export", short_help="Write tables as Parquet, or a read-only copy.")
@click.option(
    "--parquet",
    "folder",
    type=click.Path(path_type=Path),
    help="Folder for Parquet files; an existing export is replaced.",
)
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    help="File for a read-only copy of the warehouse, replaced in one step.",
)
@click.option(
    "--schema",
    "schemas",
    type=click.Choice(("marts", "raw")),
    multiple=True,
    help="With --parquet: schemas to write; may be repeated [default: marts].",
)
@click.option(
    "--marts-only",
    is_flag=True,
    help="With --file: copy only the marts; views become tables.",
)
@target_option
@common("target")
def export(
    call: Call,
    folder: Path | None,
    file: Path | None,
    schemas: tuple[str, ...],
    marts_only: bool,
) -> int:
    """Write every mart as Parquet, or a read-only copy of the warehouse.

    With --parquet: DIR/marts/<table>/**/*.parquet, for any engine; rows of a task are
    in folders by the month in which the task was created. manifest.json names tables,
    rows and columns. DIR appears only when everything is written.

    With --file: a consistent copy for dashboards, notebooks and backups. Its readers
    never block a build: those of the old copy keep reading it, and those that open the
    file later see the new one. In a folder it has the name of the warehouse.
    """
    if (folder is None) == (file is None):
        raise UsageError("export: name one of --parquet DIR and --file PATH")
    if file is None and marts_only:
        raise UsageError(
            "export: --marts-only goes with --file; Parquet has only marts"
        )
    if folder is None and schemas:
        raise UsageError("export: --schema goes with --parquet")
    if file is not None:
        from promptlab.operations.publish import publish

        if call.settings.target != "duckdb":
            raise UsageError("export: --file copies a warehouse; Spark takes --parquet")
        written = publish(call.warehouse(), file, marts_only=marts_only)
        call.print_rows(("file",), [(str(written),)])
        return 0
    assert folder is not None
    return _export_parquet(call, folder, tuple(dict.fromkeys(schemas)) or ("marts",))


def _export_parquet(call: Call, folder: Path, schemas: tuple[str, ...]) -> int:
    from promptlab.operations.export import export_from_spark, export_parquet

    now = datetime.now(UTC)
    target = call.settings.target
    if target == "duckdb":
        manifest = export_parquet(
            call.warehouse(), folder, schemas=schemas, exported_at=now
        )
    elif schemas == ("marts",):
        manifest = export_from_spark(call.settings, folder, exported_at=now)
    else:
        raise UsageError(
            f"--target {target} exports the marts: its raw tables are Parquet already"
        )
    tables = manifest["tables"]
    call.print_rows(
        ("table", "rows", "files"),
        [(f"{t['schema']}.{t['name']}", t["rows"], t["files"]) for t in tables],
    )
    call.say(f"wrote {len(tables)} tables to {folder}", "exported", folder=folder)
    return 0


# ---------- purge


@click.command("purge", short_help="Delete tasks and runs permanently.")
@click.option("--task", "tasks", multiple=True, help="A task's id; may be repeated.")
@click.option("--run", "runs", multiple=True, help="The same for a memory run.")
@click.option(
    "--before",
    type=click.DateTime(("%Y-%m-%d",)),
    help="Every task created, and memory run started, before this day (UTC).",
)
@click.option(
    "--dry-run", is_flag=True, help="Report the rows to delete, and change nothing."
)
@click.option(
    "--compact",
    is_flag=True,
    help="Instead: delete rows of files that have newer versions.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@common()
def purge(
    call: Call,
    tasks: tuple[str, ...],
    runs: tuple[str, ...],
    before: datetime | None,
    dry_run: bool,
    compact: bool,
    yes: bool,
) -> int:
    """Delete tasks and memory runs from every table, and from the file itself.

    The file is rewritten without them, so that no byte is left. Their
    files are not loaded again, except with `promptlab ingest --purged-too`. Testsets
    and pipelines stay. Run `promptlab build` afterwards to update aggregates such as
    trends and flaky cases.

    With --compact nothing that counts is deleted: rows of earlier versions of files,
    which newer ones took the place of, go. `promptlab doctor` says how many there are.
    """
    from promptlab.operations.purge import find, purge

    if compact:
        return _compact(call, named=bool(tasks or runs or before), dry_run=dry_run)
    if not (tasks or runs or before):
        raise UsageError("purge: name what goes: --task ID, --run ID or --before DATE")
    warehouse = call.warehouse()
    day = None if before is None else before.date()
    if dry_run or not yes:
        planned = find(warehouse, tasks=[*tasks, *runs], before=day)
        if dry_run:
            _print_purge(planned, call)
            return 0
        _ask(planned)
    _print_purge(purge(warehouse, tasks=[*tasks, *runs], before=day), call, done=True)
    return 0


def _compact(call: Call, *, named: bool, dry_run: bool) -> int:
    from promptlab.operations.purge import compact, find_dead

    if named:
        raise UsageError("purge: --compact deletes no task, so none can be named")
    warehouse = call.warehouse()
    dead = find_dead(warehouse) if dry_run else compact(warehouse)
    call.print_rows(("table", "rows"), sorted(dead.rows.items()))
    call.say(
        f"{'would delete' if dry_run else 'deleted'}: {sum(dead.rows.values())} rows"
        " that do not count",
        "compact_planned" if dry_run else "compacted",
        rows=sum(dead.rows.values()),
    )
    return 0


def _ask(planned: Purge) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            "purge: nobody can be asked here; --yes deletes without asking, --dry-run"
            " says what would go (nothing was changed)"
        )
    ids = ", ".join(planned.tasks)
    click.confirm(f"Delete {ids}? This cannot be undone.", abort=True, err=True)


def _print_purge(purged: Purge, call: Call, *, done: bool = False) -> None:
    call.print_rows(("table", "rows"), sorted(purged.rows.items()))
    call.say(
        f"{'deleted' if done else 'would delete'}: {len(purged.tasks)} task(s),"
        f" {sum(purged.rows.values())} rows",
        "purged" if done else "purge_planned",
        tasks=purged.tasks,
        rows=sum(purged.rows.values()),
    )
    for table in purged.unknown:
        call.say(
            f"{table}: is no table of this project; it was left as it is, and may hold"
            " them too",
            "table_left",
            table=table,
        )
