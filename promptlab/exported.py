"""Marts that were exported as Parquet, from any engine."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from promptlab.database import open_duckdb, shut_in
from promptlab.errors import SettingsError
from promptlab.paths import check_regular
from promptlab.relations import identifier, literal

if TYPE_CHECKING:
    import duckdb


class _Column(msgspec.Struct):
    name: str
    type: str


class _Table(msgspec.Struct):
    schema: str
    name: str
    files: str
    """Pattern of its files in the folder."""
    columns: list[_Column]


class _Manifest(msgspec.Struct):
    tables: list[_Table]


@contextmanager
def exported_marts(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection with an export as ``marts.*``, from any engine.

    Raises:
        SettingsError: *folder* does not contain a valid export.
    """
    import duckdb

    folder = folder.resolve()
    tables = _manifest(folder).tables
    with open_duckdb() as con:
        con.execute("set TimeZone = 'UTC'")
        con.execute("create schema marts")
        shut_in(con, folders=[folder, Path(glob.escape(str(folder)))])
        con.execute("set lock_configuration = true")
        try:
            for table in tables:
                if table.schema == "marts":
                    con.execute(_view(con, folder, table))
        # an absolute pattern is not implemented
        except (duckdb.Error, OSError, ValueError, NotImplementedError) as error:
            raise _damaged(folder, error) from None
        try:
            yield con
        except duckdb.Error as error:  # a table is missing, or is not as it says
            raise _damaged(folder, error) from None


def _manifest(folder: Path) -> _Manifest:
    file = folder / "manifest.json"
    try:
        check_regular(file)
        return msgspec.json.decode(file.read_bytes(), type=_Manifest)
    except msgspec.ValidationError as error:
        raise _damaged(folder, error) from None
    except (OSError, ValueError):
        raise SettingsError(
            f"{folder}: holds no export (no manifest.json that names tables); make one"
            f" with `promptlab export --parquet {folder}`"
        ) from None


def _damaged(folder: Path, error: Exception) -> SettingsError:
    return SettingsError(
        f"{folder}: holds an export that is damaged or not promptlab's: {error}"
    )


def _view(con: duckdb.DuckDBPyConnection, folder: Path, table: _Table) -> str:
    columns = ", ".join(
        # a type is parsed separately, so it cannot contain other SQL
        f"cast({identifier(column.name)} as {con.type(column.type)})"
        f" as {identifier(column.name)}"
        for column in table.columns
    )
    files = ", ".join(map(literal, _files(folder, table.files)))
    return (
        f"create view marts.{identifier(table.name)} as select {columns}"
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
