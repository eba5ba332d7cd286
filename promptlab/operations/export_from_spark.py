"""Export Spark's marts as Parquet files, in the common format of exports."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlab.build.dbt import run_dbt
from promptlab.database.connection import open_duckdb
from promptlab.ingest.raw import SCHEMA_VERSION
from promptlab.operations.export import write_manifest, written_beside

if TYPE_CHECKING:
    from promptlab.settings import Settings


def export_from_spark(
    settings: Settings, folder: Path, *, exported_at: datetime
) -> dict[str, Any]:
    """Let Spark write every mart below *folder*; returns the manifest.

    Args:
        settings: the Spark to use.
        folder: target folder; Spark's workers and this process must see it.
        exported_at: the time in the manifest.

    Raises:
        UsageError: *folder* contains other files.
        BuildError: Spark could not write.
        WarehouseError: the folder cannot be written to.
    """
    with written_beside(folder) as beside:
        run_dbt(
            settings,
            ["--args", json.dumps({"folder": str(beside)})],
            command="run-operation export_marts",
        )
        return write_manifest(beside, exported_at, SCHEMA_VERSION, _tables(beside))


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
