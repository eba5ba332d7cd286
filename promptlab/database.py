"""Open a DuckDB file, and say why it cannot be opened or written."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlab.copies import attach_new, temporary_path
from promptlab.errors import DatabaseLocked, SettingsError, WarehouseError
from promptlab.messages import say
from promptlab.paths import kind_of_file

if TYPE_CHECKING:
    import duckdb


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
"""Number of rounds and memory answers below which fixed costs dominate the time."""

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


def write_quickly(con: duckdb.DuckDBPyConnection) -> None:
    """Store what *con* changed without a search for the best compression."""
    con.execute("set force_compression = 'uncompressed'")


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
    is_reported = False
    while True:
        try:
            return open_duckdb(file, read_only=read_only)
        except duckdb.Error as error:
            message = str(error)
            if not _LOCK.search(message):
                raise _cannot_open(db, message) from None
            if time.monotonic() >= deadline:
                raise DatabaseLocked(_who_holds(db, message, lock_timeout)) from None
            if not is_reported:
                say(f"{db}: held{_holder(message)}; waiting …", "waiting")
                is_reported = True
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
        kind = kind_of_file(file.stat().st_mode)
        raise SettingsError(f"{db}: is {kind}; --db names a DuckDB file")
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

    temporary = temporary_path(file)
    try:
        with open_duckdb() as con:
            attach_new(con, temporary, expected=expected)
        with suppress(FileExistsError):
            os.link(temporary, file)
    except duckdb.Error as error:
        raise _cannot_open(db, str(error)) from None
    except OSError:  # a file system without hard links
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


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
