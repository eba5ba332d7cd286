"""Copy the warehouse next to a path, then rename the copy to the path.

Readers of the old file keep reading it; readers that open the path later see the whole
new file. A killed copy leaves the path unchanged.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.errors import PromptlabError, UsageError, WarehouseError

if TYPE_CHECKING:
    import duckdb


# Any DuckDB since 1.3 opens the file, views too. Small blocks, since a warehouse of a
# few runs would be mostly empty ones: 2.7 MB for the examples instead of 31 MB.
_STORAGE_VERSION = "v1.2.0"
_SMALL_BLOCK = 16 << 10
_LARGE_BLOCK = 256 << 10
_LARGE_FILE = 64 << 20


@dataclass(frozen=True)
class StoredTable:
    """A table of the warehouse and its columns, in their order."""

    schema: str
    name: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        """``schema.name``, for people."""
        return f"{self.schema}.{self.name}"

    @property
    def sql(self) -> str:
        """``"schema"."name"``, for queries."""
        return f'"{self.schema}"."{self.name}"'


Select = Callable[[StoredTable], str]
"""Return the query for the rows of a table that the copy keeps."""


def all_rows(table: StoredTable) -> str:
    """Return a query for all rows."""
    return f"select * from {table.sql}"


def tables_of(
    con: duckdb.DuckDBPyConnection, *schemas: str, views: bool = False
) -> list[StoredTable]:
    """Return every table of the database of *con*, or of these schemas.

    Args:
        con: a connection.
        schemas: default: all.
        views: include views.
    """
    relations = "select database_oid, schema_name, table_name from duckdb_tables()"
    if views:
        relations += (
            " union all select database_oid, schema_name, view_name"
            " from duckdb_views() where not internal"
        )
    rows = con.execute(
        "select schema_name, table_name, list(column_name order by column_index)"
        f" from duckdb_columns() semi join ({relations}) as relations"
        " using (database_oid, schema_name, table_name)"
        " where database_name = current_database() and not internal"
        " group by all order by all"
    ).fetchall()
    return [
        StoredTable(schema, name, tuple(columns))
        for schema, name, columns in rows
        if not schemas or schema in schemas
    ]


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
    import duckdb

    source = file_of(con)
    target = target.resolve()  # a link stays a link
    if target.exists() and not target.is_file():
        raise UsageError(f"{target}: is not a regular file; name another path")
    beside = name_beside(target)
    check_space(target.parent, source.stat().st_size)
    try:
        with _private_files():
            _fill(con, beside, select, only)
        beside.chmod(source.stat().st_mode & 0o777 if mode is None else mode & ~umask())
        move_into_place(beside, target)
    except (OSError, duckdb.Error) as error:
        raise _not_written(target, error) from None
    finally:
        remove_database(beside)


def files_of_copy(target: Path) -> list[Path]:
    """Return the temporary files of ``write_copy`` to *target* and of DuckDB."""
    beside = name_beside(target.resolve())
    ends = ("", ".wal", ".wal.checkpoint", ".wal.recovery")
    return [beside.with_name(beside.name + end) for end in ends]


def attach_new(
    con: duckdb.DuckDBPyConnection, file: Path, name: str, *, expected: int
) -> None:
    """Create a database file that every client can open, and attach it.

    Args:
        con: a connection.
        file: its path.
        name: its name in *con*.
        expected: its likely size in bytes. Small blocks keep a small file small; large
            ones make a large file smaller by a quarter, and faster to write.
    """
    path = str(file).replace("'", "''")
    block_size = _LARGE_BLOCK if expected > _LARGE_FILE else _SMALL_BLOCK
    con.execute(
        f"attach '{path}' as {name} (read_write,"
        f" storage_version '{_STORAGE_VERSION}', block_size {block_size})"
    )


def umask() -> int:
    """Return the umask of this process."""
    found = os.umask(0o077)
    os.umask(found)
    return found


@contextlib.contextmanager
def _private_files() -> Iterator[None]:
    """Create files in a ``with`` block without read permission for other users."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def _fill(
    con: duckdb.DuckDBPyConnection, file: Path, select: Select, only: str | None
) -> None:
    attach_new(con, file, "fresh", expected=file_of(con).stat().st_size)
    try:
        row = con.execute("select current_database()").fetchone()
        assert row is not None
        if only is None:
            con.execute(f'copy from database "{row[0]}" to fresh (schema)')
        else:
            con.execute(f'create schema fresh."{only}"')
        con.begin()
        for table in (
            tables_of(con) if only is None else tables_of(con, only, views=True)
        ):
            if only is None:
                con.execute(f"insert into fresh.{table.sql} by name {select(table)}")
            else:
                con.execute(f"create table fresh.{table.sql} as {select(table)}")
                _copy_comments(con, table)
        con.commit()
        con.execute("checkpoint fresh")
    except BaseException:
        with contextlib.suppress(Exception):
            con.rollback()
        raise
    finally:
        with contextlib.suppress(Exception):
            con.execute("detach fresh")


def _copy_comments(con: duckdb.DuckDBPyConnection, table: StoredTable) -> None:
    """Copy the comments of a table or view."""
    found = con.execute(
        "select null, comment from duckdb_tables() where database_name ="
        " current_database() and schema_name = $1 and table_name = $2 union all"
        " select null, comment from duckdb_views() where database_name ="
        " current_database() and schema_name = $1 and view_name = $2 union all"
        " select column_name, comment from duckdb_columns() where database_name ="
        " current_database() and schema_name = $1 and table_name = $2",
        [table.schema, table.name],
    ).fetchall()
    for column, comment in found:
        if comment is not None:
            con.execute(comment_sql(f"fresh.{table.sql}", column, comment))


def comment_sql(
    relation: str, column: str | None, text: str, kind: str = "table"
) -> str:
    """Return the ``comment on`` statement of a relation or a column."""
    of = f"{kind} {relation}" if column is None else f'column {relation}."{column}"'
    quoted = text.replace("'", "''")
    return f"comment on {of} is '{quoted}'"


def name_beside(target: Path) -> Path:
    """Return a name next to *target* for this process; delete those of dead ones."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.*"):
        pid, _, kind = left.name.removeprefix(f".{target.name}.").partition(".")
        ours = pid.isdecimal() and kind in ("new", "old")
        if ours and not _is_alive(int(pid)):
            remove_left(left)
    return target.with_name(f".{target.name}.{os.getpid()}.new")


def remove_left(path: Path) -> None:
    """Remove an unfinished file or folder."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        remove_database(path)


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


def file_of(con: duckdb.DuckDBPyConnection) -> Path:
    """Return the file that *con* reads."""
    row = con.execute(
        "select path from duckdb_databases() where database_name = current_database()"
    ).fetchone()
    assert row is not None
    return Path(row[0])


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


def move_into_place(beside: Path, target: Path) -> None:
    """Sync to disk, rename, and sync the folder."""
    _sync(beside)
    beside.replace(target)
    _sync(target.parent)


def remove_database(file: Path) -> None:
    """Remove a database file and its temporary files."""
    file.unlink(missing_ok=True)
    file.with_name(f"{file.name}.wal").unlink(missing_ok=True)
    shutil.rmtree(file.with_name(f"{file.name}.tmp"), ignore_errors=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"


def _not_written(target: Path, error: Exception) -> PromptlabError:
    return WarehouseError(
        f"{target}: cannot be written: {error} (what was there is as it was)"
    )
