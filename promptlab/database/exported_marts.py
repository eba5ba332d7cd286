"""Read marts that were exported as Parquet, in place.

A folder may be untrusted: no text of its manifest is run as SQL, and no file outside
of the folder is read.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlab.errors import SettingsError
from promptlab.paths import check_regular

if TYPE_CHECKING:
    import duckdb

_DAMAGES = (
    AttributeError,
    KeyError,
    NotImplementedError,  # an absolute pattern
    OSError,
    TypeError,
    ValueError,
)


@contextmanager
def exported_marts(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection with an export as ``marts.*``, from any engine.

    Raises:
        SettingsError: *folder* does not contain a valid export.
    """
    import duckdb

    from promptlab.database.connection import open_duckdb

    folder = folder.resolve()
    try:
        check_regular(folder / "manifest.json")
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        tables = [t for t in manifest["tables"] if t["schema"] == "marts"]
    except (OSError, ValueError, KeyError, TypeError):
        raise SettingsError(
            f"{folder}: holds no export (no manifest.json that names tables); make one"
            f" with `promptlab export --parquet {folder}`"
        ) from None
    with open_duckdb() as con:
        con.execute("set TimeZone = 'UTC'")
        con.execute("create schema marts")
        allowed = [str(folder), glob.escape(str(folder))]
        con.execute("set allowed_directories = $1", [allowed])
        con.execute("set enable_external_access = false")
        con.execute("set lock_configuration = true")
        try:
            for table in tables:
                con.execute(_view(con, folder, table))
        except (duckdb.Error, *_DAMAGES) as error:
            raise _damaged(folder, error) from None
        try:
            yield con
        except (
            duckdb.Error
        ) as error:  # a table is missing, or differs from the manifest
            raise _damaged(folder, error) from None


def _damaged(folder: Path, error: Exception) -> SettingsError:
    return SettingsError(
        f"{folder}: holds an export that is damaged or not promptlab's: {error}"
    )


def _view(con: duckdb.DuckDBPyConnection, folder: Path, table: dict[str, Any]) -> str:
    columns = ", ".join(
        # a type is parsed separately, so it cannot contain other SQL
        f"cast({_name(column['name'])} as {con.type(column['type'])})"
        f" as {_name(column['name'])}"
        for column in table["columns"]
    )
    files = ", ".join(_text(file) for file in _files(folder, table["files"]))
    return (
        f"create view marts.{_name(table['name'])} as select {columns}"
        f" from read_parquet([{files}], hive_partitioning = false)"
    )


def _files(folder: Path, pattern: str) -> list[str]:
    """Return the files of a table, with glob characters escaped."""
    files = sorted(file.resolve() for file in folder.glob(pattern))
    if not files:
        raise ValueError(f"there is no file {pattern}")
    for file in files:
        check_regular(file)
        if not file.is_relative_to(folder):
            raise ValueError(f"{file} is outside of it")
    return [glob.escape(str(file)) for file in files]


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
