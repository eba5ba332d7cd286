"""Export tables as Parquet files.

``DIR/<schema>/<table>/…/*.parquet``: rows of a task are in folders
``created_month=<YYYY-MM>`` of the task's `created_at` (UTC), everything else in one
folder. Spark writes no folders of months. ``manifest.json`` is written last.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlab.build.dbt import run_dbt
from promptlab.copies import check_space, new_folder, temporary_path
from promptlab.database import open_duckdb
from promptlab.errors import NothingToDo, UsageError
from promptlab.ingest.raw import SCHEMA_VERSION
from promptlab.relations import StoredTable, literal, tables_of

if TYPE_CHECKING:
    import duckdb

    from promptlab.settings import Settings
    from promptlab.warehouse_file import WarehouseFile


MANIFEST = "manifest.json"
PARTITION = "created_month"
FORMAT_VERSION = "1.0"
# 1.0  first version

# Rows of each month that DuckDB buffers before writing; limits memory.
_ROWS_HELD = 20_000


def export_parquet(
    warehouse: WarehouseFile,
    folder: Path,
    *,
    schemas: Sequence[str] = ("marts",),
    exported_at: datetime,
) -> dict[str, Any]:
    """Write every table of these schemas below *folder*; returns the manifest.

    Everything is written next to *folder* and then renamed. An existing export is
    replaced; a folder with other files is not changed.

    Raises:
        NothingToDo: the tables have not been built yet.
        UsageError: *folder* contains other files.
        WarehouseError: the disk is full, or the folder cannot be written to.
    """
    folder = _checked(folder)
    with warehouse.reading(folders=[temporary_path(folder)]) as con:
        tables = tables_of(con, *schemas, views=True)
        missing = set(schemas) - {table.schema for table in tables}
        if missing:
            raise NothingToDo(
                f"{warehouse.settings.db}: there is no {missing.pop()} yet;"
                " `promptlab build`"
            )
        with new_folder(folder) as temporary:
            check_space(temporary.parent, warehouse.settings.db.stat().st_size)
            return _manifest(con, tables, temporary, exported_at)


def _checked(folder: Path) -> Path:
    """Return the absolute path of a folder for an export."""
    folder = folder.resolve()  # a link stays a link
    if folder.is_dir():
        if any(folder.iterdir()) and not (folder / MANIFEST).is_file():
            raise UsageError(
                f"{folder}: holds something that is no export (no {MANIFEST}); name an"
                " empty or a new folder (nothing was changed)"
            )
    elif folder.exists():
        raise UsageError(f"{folder}: is no folder; name an empty or a new one")
    return folder


def _manifest(
    con: duckdb.DuckDBPyConnection,
    tables: Sequence[StoredTable],
    folder: Path,
    exported_at: datetime,
) -> dict[str, Any]:
    """Write the tables and the manifest."""
    from promptlab.ingest.raw import schema_version

    con.execute("set preserve_insertion_order = false")
    con.execute(f"set partitioned_write_flush_threshold = {_ROWS_HELD}")
    return write_manifest(
        folder,
        exported_at,
        schema_version(con),
        [_write(con, table, folder) for table in tables],
    )


def write_manifest(
    folder: Path,
    exported_at: datetime,
    schema_version: int | None,
    tables: list[dict[str, Any]],
) -> dict[str, Any]:
    """Write the manifest, the last file of an export, and return it."""
    import duckdb

    from promptlab.version import __version__

    manifest = {
        "format_version": FORMAT_VERSION,
        "exported_at": exported_at.isoformat(),
        "promptlab": __version__,
        "duckdb": duckdb.__version__,
        "schema_version": schema_version,
        "tables": tables,
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    (folder / MANIFEST).write_text(text + "\n", "utf-8")
    return manifest


def _write(
    con: duckdb.DuckDBPyConnection, table: StoredTable, folder: Path
) -> dict[str, Any]:
    import duckdb

    path = folder / table.schema / table.name
    path.mkdir(parents=True)
    try:
        n_rows, is_by_month = _write_rows(con, table, path)
    except duckdb.PermissionException:
        raise UsageError(
            f"{table}: is a view that reads other files, and an export has only what"
            " is in the warehouse; drop the view, or leave out --schema"
            f" {table.schema} (nothing was changed)"
        ) from None
    columns = con.execute(
        "select column_name, data_type from duckdb_columns() where schema_name = $1"
        " and table_name = $2 and database_name = current_database()"
        " order by column_index",
        [table.schema, table.name],
    ).fetchall()
    return {
        "schema": table.schema,
        "name": table.name,
        "files": f"{table.schema}/{table.name}/**/*.parquet",
        "rows": n_rows,
        "partitioned_by": PARTITION if is_by_month else None,
        "columns": [{"name": name, "type": kind} for name, kind in columns],
    }


def _write_rows(
    con: duckdb.DuckDBPyConnection, table: StoredTable, path: Path
) -> tuple[int, bool]:
    """Write the rows of a table; return their number, and true if split by month."""
    row = con.execute(f"select count(*) from {table.sql}").fetchone()
    n_rows = 0 if row is None else int(row[0])
    # ids of memory tasks are not task ids, and their runs may have no time
    is_by_month = "task_id" in table.columns and "run_id" not in table.columns
    if is_by_month and n_rows:
        # marts do not need raw tables, which may be files that have changed
        tasks = "marts.dim_tasks" if table.schema == "marts" else "live.tasks"
        query = (
            f"select t.*, strftime(tasks.created_at, '%Y-%m') as {PARTITION}"
            f" from {table.sql} as t"
            f" left join {tasks} as tasks on t.task_id = tasks.task_id"
        )
        options = f"format parquet, partition_by ({PARTITION})"
    else:
        # one file even without rows, for the columns
        query, options = f"select * from {table.sql}", "format parquet"
        path = path / "data_0.parquet"
    con.execute(f"copy ({query}) to {literal(path)} ({options})")
    return n_rows, is_by_month


def export_from_spark(
    settings: Settings, folder: Path, *, exported_at: datetime
) -> dict[str, Any]:
    """Let Spark write every mart below *folder*; returns the manifest.

    Spark's workers and this process must see *folder*.

    Raises:
        UsageError: *folder* contains other files.
        BuildError: Spark could not write.
        WarehouseError: the folder cannot be written to.
    """
    with new_folder(_checked(folder)) as temporary:
        run_dbt(
            settings,
            ["--args", json.dumps({"folder": str(temporary)})],
            command="run-operation export_marts",
        )
        return write_manifest(
            temporary, exported_at, SCHEMA_VERSION, _tables(temporary)
        )


def _tables(folder: Path) -> list[dict[str, Any]]:
    """Return the written tables, as the contracts name them."""
    with open_duckdb() as con:
        columns = con.execute(
            "select table_name, list(name order by position),"
            " list(upper(data_type) order by position)"
            " from read_json($1) group by all order by all",
            [f"{folder}/columns/*.json"],
        ).fetchall()
        shutil.rmtree(folder / "columns")
        return [
            {
                "schema": "marts",
                "name": table,
                "files": f"marts/{table}/**/*.parquet",
                "rows": con.execute(
                    "select count(*) from read_parquet($1)",
                    [f"{folder}/marts/{table}/**/*.parquet"],
                ).fetchall()[0][0],
                "partitioned_by": None,
                "columns": [
                    {"name": name, "type": kind}
                    for name, kind in zip(names, kinds, strict=True)
                ],
            }
            for table, names, kinds in columns
        ]
