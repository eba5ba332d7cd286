"""DuckDB files: read rows, copy them, open them, read exported marts.

A copy is written next to a path and then renamed to it: readers of the old file keep
reading it, readers that open the path later see the whole new file, and a killed copy
leaves the path unchanged.
"""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlab.errors import (
    DatabaseLocked,
    SettingsError,
    UsageError,
    WarehouseError,
)
from promptlab.messages import say
from promptlab.paths import check_regular, kind_of_file

if TYPE_CHECKING:
    import duckdb


Row = dict[str, Any]


def fetched(
    con: duckdb.DuckDBPyConnection, query: str, parameters: object = None
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run a query and return the names of its columns, and its rows."""
    cursor = con.execute(query, parameters)
    return [column[0] for column in cursor.description or ()], cursor.fetchall()


def dictionaries(
    con: duckdb.DuckDBPyConnection, query: str, parameters: object = None
) -> list[Row]:
    """Run a query and return its rows as mappings from column names."""
    names, rows = fetched(con, query, parameters)
    return [dict(zip(names, row, strict=True)) for row in rows]


# ---------- copies


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
    """Return every table of the database of *con*, or of these schemas."""
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
    remove_leftovers(target)
    beside = name_beside(target)
    check_space(target.parent, source.stat().st_size)
    try:
        with _private_files():
            _fill(con, beside, select, only)
        beside.chmod(source.stat().st_mode & 0o777 if mode is None else mode & ~umask())
        move_into_place(beside, target)
    except (OSError, duckdb.Error) as error:
        raise WarehouseError(
            f"{target}: cannot be written: {error} (what was there is as it was)"
        ) from None
    finally:
        remove_database(beside)


def files_of_copy(target: Path) -> list[Path]:
    """Return the paths of the temporary files of ``write_copy``, and of DuckDB."""
    beside = name_beside(target.resolve())
    ends = ("", ".wal", ".wal.checkpoint", ".wal.recovery")
    return [beside.with_name(beside.name + end) for end in ends]


def attach_new(con: duckdb.DuckDBPyConnection, file: Path, *, expected: int) -> None:
    """Create a database file that every client can open, and attach it as ``fresh``.

    *expected* is its likely size in bytes. Small blocks keep a small file small; large
    ones make a large file smaller by a quarter, and faster to write.
    """
    path = str(file).replace("'", "''")
    block_size = _LARGE_BLOCK if expected > _LARGE_FILE else _SMALL_BLOCK
    con.execute(
        f"attach '{path}' as fresh (read_write,"
        f" storage_version '{_STORAGE_VERSION}', block_size {block_size})"
    )


def umask() -> int:
    """Return the umask of this process."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextmanager
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
    attach_new(con, file, expected=file_of(con).stat().st_size)
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
        with suppress(Exception):
            con.rollback()
        raise
    finally:
        with suppress(Exception):
            con.execute("detach fresh")


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


def comment_sql(
    relation: str, column: str | None, text: str, kind: str = "table"
) -> str:
    """Return the ``comment on`` statement of a relation or a column."""
    of = f"{kind} {relation}" if column is None else f'column {relation}."{column}"'
    quoted = text.replace("'", "''")
    return f"comment on {of} is '{quoted}'"


def name_beside(target: Path) -> Path:
    """Return a name next to *target* for this process."""
    return target.with_name(f".{target.name}.{os.getpid()}.new")


def remove_leftovers(target: Path) -> None:
    """Remove the files and folders next to *target* that dead processes left."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.*"):
        pid, _, kind = left.name.removeprefix(f".{target.name}.").partition(".")
        ours = pid.isdecimal() and kind in ("new", "old")
        if ours and not _is_alive(int(pid)):
            remove_unfinished(left)


def remove_unfinished(path: Path) -> None:
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


# ---------- connections


_RETRY_EVERY_S = 0.1
_MAGIC = b"DUCK"
_MAGIC_AT = 8
_OTHER_FORMATS = {
    b"SQLite format 3\0": "an SQLite database",
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b": "a gzip file",
    b"{": "JSON",
    b"[": "JSON",
}
_SCHEMAS = ("raw", "live", "staging", "intermediate", "marts", "policy")


@contextmanager
def connect(
    db: Path,
    *,
    read_only: bool,
    lock_timeout: float = 10.0,
    memory_limit: str | None = None,
    threads: int | None = None,
    temp_directory: Path | None = None,
    expected: int = 0,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the warehouse for the length of a ``with`` block; times are UTC.

    Args:
        db: the DuckDB file; made if missing, unless ``read_only``.
        read_only: readers share the file with each other, but not with a writer.
        lock_timeout: seconds to wait for another process that holds the file.
        memory_limit: DuckDB's limit, such as ``4GB``.
        threads: how many DuckDB uses.
        temp_directory: folder for DuckDB's temporary files.
        expected: likely size of a new file in bytes.

    Raises:
        SettingsError: there is no such file, it is not a DuckDB file, or DuckDB
            rejects a limit.
        WarehouseError: the file is damaged, or the disk full.
        DatabaseLocked: still held by another process after ``lock_timeout``.
    """
    import duckdb

    # a link is followed once, here: files written next to the database, or renamed
    # onto it, belong to the file and not to the link
    file = resolve(db)
    check_file(db, file, read_only=read_only)
    if not file.exists():
        _create(db, file, expected)
    con = _open(db, file, read_only=read_only, lock_timeout=lock_timeout)
    try:
        con.execute("set TimeZone = 'UTC'")
        _limit(con, "memory_limit", memory_limit)
        _limit(con, "threads", threads)
        _limit(con, "temp_directory", temp_directory)
        with _interruptible(con):
            yield con
    except duckdb.Error as error:
        if not is_of_the_file(error):
            raise
        raise _broken_off(db, str(error)) from None
    finally:
        con.close()


@contextmanager
def _interruptible(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Interrupt the running statement when Ctrl-C is pressed.

    DuckDB asks Python for signals between two tasks of the calling thread. If another
    of its threads runs the statement, it does not ask until the statement has ended.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours, pythons = socket.socketpair()
    with ours, pythons:
        pythons.setblocking(False)
        before = signal.set_wakeup_fd(pythons.fileno(), warn_on_full_buffer=False)

        def interrupt() -> None:
            while number := ours.recv(1):
                if number[0] == signal.SIGINT:
                    con.interrupt()
                if before != -1:  # an event loop's, or another connection's
                    with suppress(OSError):
                        os.write(before, number)

        thread = threading.Thread(target=interrupt, name="Ctrl-C", daemon=True)
        thread.start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            pythons.shutdown(socket.SHUT_WR)
            thread.join()


def open_duckdb(
    file: Path | None = None, *, read_only: bool = False
) -> duckdb.DuckDBPyConnection:
    """Open a file, or else a database in memory, that never loads an extension.

    The settings follow the opening: DuckDB refuses a second connection of a process
    to one file if it opens the file with other settings. Only a file with a log is
    opened with a setting: to replay the log, DuckDB may need functions of an extension
    that is part of it, and would download it otherwise.
    """
    import duckdb

    name = ":memory:" if file is None else str(file)
    configs: list[dict[str, Any]] = [{}, {"autoinstall_known_extensions": False}]
    if file is not None and file.with_name(f"{file.name}.wal").exists():
        configs.reverse()
    try:
        con = duckdb.connect(name, read_only=read_only, config=configs[0])
    except duckdb.ConnectionException:  # this process opened it with the other one
        con = duckdb.connect(name, read_only=read_only, config=configs[1])
    con.execute("set autoinstall_known_extensions = false")
    con.execute("set autoload_known_extensions = false")
    return con


SMALL = 2_000
"""Number of rounds and memory answers below which planning dominates the time."""

_FOR_FEW_ROWS = ("deliminator", "filter_pushdown", "unused_columns")
"""Optimizers that shorten queries of few rows; the others take a fifth of a build."""


def plan_quickly(con: duckdb.DuckDBPyConnection) -> None:
    """Set the options for few rows, until *con* is closed."""
    con.execute("set threads = 1")
    others = con.execute(
        "select string_agg(name) from duckdb_optimizers() where name not in $1",
        [_FOR_FEW_ROWS],
    ).fetchone()
    con.execute("set disabled_optimizers = $1", others)


def shut_in(
    con: duckdb.DuckDBPyConnection,
    *,
    files: Sequence[Path] = (),
    folders: Sequence[Path] = (),
) -> None:
    """Restrict *con* to its database, these files and these folders.

    The file may be untrusted: a view or a macro in it may read other files, under
    the name of a table or of a function that our own statements use.
    """
    con.execute("set allowed_paths = $1", [[str(file) for file in files]])
    con.execute("set allowed_directories = $1", [[str(folder) for folder in folders]])
    con.execute("set enable_external_access = false")


def resolve(db: Path) -> Path:
    """Return the absolute path of the file, links followed.

    Raises:
        SettingsError: the links lead in a circle.
    """
    try:
        return db.resolve()
    except (OSError, RuntimeError) as error:
        raise SettingsError(
            f"{db}: is not a DuckDB file: its symbolic links lead in a circle, or are"
            f" too long; name the warehouse with --db ({error})"
        ) from None


def is_of_the_file(error: duckdb.Error) -> bool:
    """Return true for an I/O error, false for an error of a query.

    A commit that cannot be written is a TransactionException; a block whose checksum
    is wrong is a plain Error.
    """
    import duckdb

    kinds = (duckdb.IOException, duckdb.FatalException, duckdb.TransactionException)
    return isinstance(error, kinds) or type(error) is duckdb.Error


def has_relation(con: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Return true if a table or view of this name exists.

    Queries the relation itself, because DuckDB's list of all tables takes 15 ms.
    """
    import duckdb

    try:
        con.execute(f"from {name} limit 0")
    except duckdb.CatalogException:
        return False
    return True


def run_query(
    con: duckdb.DuckDBPyConnection, query: str, parameters: Sequence[Any] = ()
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run one statement; returns its columns and its rows.

    Raises:
        UsageError: it is invalid or fails, returns no result, or would write.
    """
    import duckdb

    try:
        statements = con.extract_statements(query)
        if len(statements) != 1:
            raise UsageError(f"expected one statement, found {len(statements)}")
        result = con.sql(query, params=list(parameters) or None)
        gives = statements[0].expected_result_type
        if duckdb.ExpectedResultType.QUERY_RESULT not in gives:
            raise UsageError("query: the statement returns no rows")
        return result.columns, result.fetchall()
    except duckdb.Error as error:
        raise UsageError(f"query: {error}") from None


def _limit(con: duckdb.DuckDBPyConnection, name: str, value: object) -> None:
    import duckdb

    if value is None:
        return
    try:
        con.execute(f"set {name} = ?", [str(value)])
    except duckdb.Error as error:
        raise SettingsError(f"{name}: DuckDB does not take {value}: {error}") from None


_LOCK = re.compile(r"\block\b", re.IGNORECASE)
"""In DuckDB's message if another process holds the file; a damaged one has blocks."""


def _open(
    db: Path, file: Path, *, read_only: bool, lock_timeout: float
) -> duckdb.DuckDBPyConnection:
    import duckdb

    deadline = time.monotonic() + lock_timeout
    is_told = False
    while True:
        try:
            return open_duckdb(file, read_only=read_only)
        except duckdb.Error as error:
            message = str(error)
            if not _LOCK.search(message):
                raise _cannot_open(db, message) from None
            if time.monotonic() >= deadline:
                raise DatabaseLocked(_who_holds(db, message, lock_timeout)) from None
            if not is_told:
                say(f"{db}: held{_holder(message)}; waiting …", "waiting")
                is_told = True
            time.sleep(_RETRY_EVERY_S)


def schema_of_name(file: Path) -> str | None:
    """Return the schema that has the name of a file, else ``None``.

    DuckDB names a database after its file, so that `raw.tasks` would be ambiguous.
    """
    name = file.name.split(".")[0].lower()
    return name if name in _SCHEMAS else None


def check_file(db: Path, file: Path, *, read_only: bool) -> None:
    """Check that *file*, to which *db* leads, can be opened, or made if to be written.

    Raises:
        SettingsError: there is no such file to read, or it is not a DuckDB file.
    """
    if file.is_dir():
        raise SettingsError(f"{db}: is a folder; --db names a DuckDB file")
    if file.exists() and not file.is_file():
        what = kind_of_file(file.stat().st_mode)
        raise SettingsError(f"{db}: is {what}; --db names a DuckDB file")
    if name := schema_of_name(file):
        raise SettingsError(
            f"{db}: a warehouse has a schema named {name}, so its file cannot be called"
            " that; name another with --db"
        )
    if not file.exists():
        if read_only:
            raise SettingsError(
                f"{db}: there is no warehouse here yet; make one with"
                f" `promptlab run PATH --db {db}`, or name another with --db"
            )
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(
                f"{db}: its folder {file.parent} cannot be made: {error.strerror}"
            ) from None
    elif file.stat().st_size == 0:
        raise SettingsError(
            f"{db}: is empty (0 bytes), so it is not a DuckDB file;"
            " delete it, or name another with --db"
        )
    else:
        _check_format(db, file)


def _check_format(db: Path, file: Path) -> None:
    """Refuse a file of another format: DuckDB would look for an extension to read it.

    For an unreadable file DuckDB reports the error.
    """
    try:
        with file.open("rb") as opened:
            head = opened.read(16)
    except OSError:
        return
    if head.startswith(_MAGIC, _MAGIC_AT):
        return
    kinds = (name for start, name in _OTHER_FORMATS.items() if head.startswith(start))
    other = next(kinds, None)
    but = f" but {other}" if other else ""
    raise SettingsError(
        f"{db}: is not a DuckDB file{but}; name the warehouse with --db"
        " (nothing was changed)"
    )


def _create(db: Path, file: Path, expected: int) -> None:
    """Create an empty warehouse atomically: a kill leaves no partial file.

    If two processes create it at once, the first file is kept.
    """
    import duckdb

    beside = name_beside(file)
    try:
        with open_duckdb() as con:
            attach_new(con, beside, expected=expected)
        with suppress(FileExistsError):
            os.link(beside, file)
    except duckdb.Error as error:
        raise _cannot_open(db, str(error)) from None
    except OSError:  # a file system without hard links
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def _cannot_open(db: Path, message: str) -> WarehouseError | SettingsError:
    if "Permission denied" in message or "Cannot open file" in message:
        return SettingsError(f"{db}: cannot be opened: {message}")
    return _broken_off(db, message)


def _broken_off(db: Path, message: str) -> WarehouseError:
    """Return the message for an error that stopped DuckDB.

    Committed data is kept: a failed write is rolled back.
    """
    text = message.lower()
    if "no space left" in text or "file too large" in text or "could not write" in text:
        return WarehouseError(
            f"{db}: the disk is full, or a limit on its size is reached; make room and"
            f" call again, what was stored before is safe ({message})"
        )
    if "checksum" in text or "corrupt" in text or "could not read" in text:
        return WarehouseError(
            f"{db}: the file is damaged: {message}\n`promptlab doctor` says where; put"
            " a backup in its place, or load the files into a new warehouse"
        )
    return WarehouseError(f"{db}: DuckDB stopped: {message}")


def _holder(message: str) -> str:
    """Return the program and its process id; DuckDB's advice does not fit here."""
    holder = re.search(r"held in (.+? \(PID \d+\))", message)
    return f" by {holder[1]}" if holder else ""


def _who_holds(db: Path, message: str, waited: float) -> str:
    return (
        f"{db}: held{_holder(message)} for more than {waited:g} s; wait for that"
        " process, end it, or give --lock-timeout more seconds (nothing was changed)"
    )


# ---------- marts that were exported as Parquet


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
