"""Marts that were exported as Parquet, read where they lie."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.errors import SettingsError

if TYPE_CHECKING:
    import duckdb


@contextmanager
def exported_marts(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that sees an export as ``marts.*``, whichever engine wrote it.

    Raises:
        SettingsError: *folder* holds no export.
    """
    import duckdb

    try:
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        tables = [t for t in manifest["tables"] if t["schema"] == "marts"]
    except (OSError, ValueError, KeyError):
        raise SettingsError(
            f"{folder}: holds no export (no manifest.json that names tables); make one"
            f" with `promptlab export --parquet {folder}`"
        ) from None
    with duckdb.connect() as con:
        con.execute("set TimeZone = 'UTC'")
        con.execute("create schema marts")
        for table in tables:
            columns = ", ".join(
                f'cast("{column["name"]}" as {column["type"]}) as "{column["name"]}"'
                for column in table["columns"]
            )
            files = str(folder / table["files"]).replace("'", "''")
            con.execute(
                f'create view marts."{table["name"]}" as select {columns}'
                f" from read_parquet('{files}', hive_partitioning = false)"
            )
        yield con
