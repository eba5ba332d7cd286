"""Files and folders that are written next to their place and then renamed to it.

Readers of the old file keep reading it, readers that open the path later see the whole
new file, and a killed process leaves the path unchanged.
"""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.errors import UsageError, WarehouseError
from promptlab.relations import (
    StoredTable,
    comment_sql,
    file_of,
    identifier,
    literal,
    tables_of,
    transaction,
)

if TYPE_CHECKING:
    import duckdb


# Any DuckDB since 1.3 opens the file, views too. Small blocks, since a warehouse of a
# few runs would be mostly empty ones: 2.7 MB for the examples instead of 31 MB.
_STORAGE_VERSION = "v1.2.0"
_SMALL_BLOCK = 16 << 10
_LARGE_BLOCK = 256 << 10
_LARGE_FILE = 64 << 20


Select = Callable[[StoredTable], str]
"""Return the query for the rows of a table that the copy keeps."""


def all_rows(table: StoredTable) -> str:
    """Return a query for all rows."""
    return f"select * from {table.sql}"


def write_copy(
    con: duckdb.DuckDBPyConnection,
    target: Path,
    *,
    select: Select = all_rows,
    only: str | None = None,
    mode: int | None = None,
) -> None:
    """Copy the database of *con* to a new file, and rename it to *target*.

    No bytes of omitted rows are in the copy, because it is a new file.

    Args:
        con: a connection to the warehouse, outside of any transaction.
        target: path of the copy; an existing file is replaced, for a link the file that
            it points to.
        select: returns the query for the rows of a table to keep, with all columns.
        only: copy only this schema; its views become tables.
        mode: permissions of the new file, before the umask; default: those of the
            source.

    Raises:
        UsageError: *target* is a device, a pipe or a folder.
        WarehouseError: the disk is full, or the folder cannot be written to;
            *target* is unchanged.
    """
    source = file_of(con)
    target = target.resolve()  # a link stays a link
    if target.exists() and not target.is_file():
        raise UsageError(f"{target}: is not a regular file; name another path")
    with _temporary(target) as temporary:
        check_space(target.parent, source.stat().st_size)
        with _private_files() as umask:
            _fill(con, temporary, select, only)
        permissions = source.stat().st_mode & 0o777 if mode is None else mode & ~umask
        temporary.chmod(permissions)
        move_into_place(temporary, target)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces *folder* at the end.

    Raises:
        WarehouseError: it cannot be written to.
    """
    with _temporary(folder) as temporary:
        temporary.mkdir(parents=True)
        yield temporary
        _swap(temporary, folder)


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """Yield a temporary path, which the caller renames to *target*.

    After an error the path is removed.
    """
    import duckdb

    remove_leftovers(target)
    temporary = temporary_path(target)
    try:
        yield temporary
    except (OSError, duckdb.Error) as error:
        raise WarehouseError(
            f"{target}: cannot be written: {error} (what was there is as it was)"
        ) from None
    finally:
        _remove(temporary)


def _swap(temporary: Path, folder: Path) -> None:
    """Replace *folder* by *temporary*; between the two renames neither exists."""
    old = temporary.with_suffix(".old")
    if folder.exists():
        folder.rename(old)
    try:
        temporary.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise
    _remove(old)


def files_of_copy(target: Path) -> list[Path]:
    """Return the paths of the temporary files of ``write_copy``, and of DuckDB."""
    temporary = temporary_path(target.resolve())
    ends = ("", ".wal", ".wal.checkpoint", ".wal.recovery")
    return [temporary.with_name(temporary.name + end) for end in ends]


def attach_new(con: duckdb.DuckDBPyConnection, file: Path, *, expected: int) -> None:
    """Create a database file that every client can open, and attach it as ``fresh``.

    *expected* is its likely size in bytes. Small blocks keep a small file small; large
    ones make a large file smaller by a quarter, and faster to write.
    """
    block_size = _LARGE_BLOCK if expected > _LARGE_FILE else _SMALL_BLOCK
    con.execute(
        f"attach {literal(file)} as fresh (read_write,"
        f" storage_version '{_STORAGE_VERSION}', block_size {block_size})"
    )


@contextmanager
def _private_files() -> Iterator[int]:
    """Create files without read permission for other users; yields the umask."""
    umask = os.umask(0o077)
    try:
        yield umask
    finally:
        os.umask(umask)


def _fill(
    con: duckdb.DuckDBPyConnection, file: Path, select: Select, only: str | None
) -> None:
    attach_new(con, file, expected=file_of(con).stat().st_size)
    try:
        with transaction(con):
            if only is None:
                _fill_with_all(con, select)
            else:
                _fill_with_schema(con, only)
        con.execute("checkpoint fresh")
    finally:
        with suppress(Exception):
            con.execute("detach fresh")


def _fill_with_all(con: duckdb.DuckDBPyConnection, select: Select) -> None:
    (name,) = con.execute("select current_database()").fetchall()[0]
    con.execute(f"copy from database {identifier(name)} to fresh (schema)")
    for table in tables_of(con):
        con.execute(f"insert into fresh.{table.sql} by name {select(table)}")


def _fill_with_schema(con: duckdb.DuckDBPyConnection, schema: str) -> None:
    con.execute(f"create schema fresh.{identifier(schema)}")
    for table in tables_of(con, schema, views=True):
        con.execute(f"create table fresh.{table.sql} as {all_rows(table)}")
        _copy_comments(con, table)


def _copy_comments(con: duckdb.DuckDBPyConnection, table: StoredTable) -> None:
    """Copy the comments of a table or view."""
    rows = con.execute(
        "select null, comment from duckdb_tables() where database_name ="
        " current_database() and schema_name = $1 and table_name = $2 union all"
        " select null, comment from duckdb_views() where database_name ="
        " current_database() and schema_name = $1 and view_name = $2 union all"
        " select column_name, comment from duckdb_columns() where database_name ="
        " current_database() and schema_name = $1 and table_name = $2",
        [table.schema, table.name],
    ).fetchall()
    for column, comment in rows:
        if comment is not None:
            con.execute(comment_sql(f"fresh.{table.sql}", column, comment))


def temporary_path(target: Path) -> Path:
    """Return a temporary path next to *target* for this process."""
    return target.with_name(f".{target.name}.{os.getpid()}.new")


def remove_leftovers(target: Path) -> None:
    """Remove the files and folders next to *target* that dead processes left."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.*"):
        pid, _, kind = left.name.removeprefix(f".{target.name}.").partition(".")
        ours = pid.isdecimal() and kind in ("new", "old")
        if ours and not _is_alive(int(pid)):
            _remove(left)


def _remove(path: Path) -> None:
    """Remove an unfinished folder, or a file and what DuckDB writes next to it."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
        return
    path.unlink(missing_ok=True)
    path.with_name(f"{path.name}.wal").unlink(missing_ok=True)
    shutil.rmtree(path.with_name(f"{path.name}.tmp"), ignore_errors=True)


def _is_alive(pid: int) -> bool:
    if pid == os.getpid():
        return False  # the name is free again
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def check_space(folder: Path, size: int) -> None:
    """Check that *folder* has space for *size* bytes.

    Raises:
        WarehouseError: there is not enough space, or the folder is missing.
    """
    if not folder.is_dir():
        raise WarehouseError(f"{folder}: there is no such folder; make it first")
    free = shutil.disk_usage(folder).free
    if free < size:
        raise WarehouseError(
            f"{folder}: the copy needs up to {_megabytes(size)}, but only"
            f" {_megabytes(free)} are free there; make room (nothing was changed)"
        )


def move_into_place(temporary: Path, target: Path) -> None:
    """Sync to disk, rename, and sync the folder."""
    _sync(temporary)
    temporary.replace(target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"
