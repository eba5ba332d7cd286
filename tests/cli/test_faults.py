"""Ctrl-C and what the machine refuses: an exit code and a sentence, no fault of ours."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
import types
from concurrent.futures import ThreadPoolExecutor

import click
import duckdb
import pytest

from promptlab import cli
from promptlab.__main__ import main
from promptlab.cli import run_cli
from promptlab.database import connect
from promptlab.errors import storage_error
from promptlab.reports.files import write_file
from promptlab.warehouse import Warehouse
from tests.ingest.test_load import task, write

# a statement without an end, so that the signal finds DuckDB at work
ENDLESS = "select count(*) from range(1000000000) a, range(1000000000) b"


def _fails_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    @click.command()
    def command() -> None:
        raise error

    monkeypatch.setattr(cli._LazyGroup, "get_command", lambda *_: command)
    return run_cli(["runs"])


def test_ctrl_c_in_a_statement_of_duckdb_ends_quietly_with_130(tmp_path, capfd):
    db = tmp_path / "w.duckdb"
    Warehouse(db).ingest(write(tmp_path / "a.json", task()))
    capfd.readouterr()
    # a shell that puts its jobs into the background ignores the signal for them
    signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    assert run_cli(["query", ENDLESS, "--db", str(db)]) == 130
    timer.join()
    out, err = capfd.readouterr()
    assert (out, err.strip()) == ("", "")  # at most the line feed after ^C
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_reaches_a_statement_that_another_thread_runs(tmp_path):
    # DuckDB asks for signals in the calling thread only, and not while it waits there
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with (
        connect(tmp_path / "a.duckdb", read_only=False) as con,
        connect(tmp_path / "b.duckdb", read_only=False),  # does not keep it for itself
        ThreadPoolExecutor(1) as thread,
    ):
        stopped = thread.submit(con.execute, ENDLESS)
        with pytest.raises(KeyboardInterrupt):
            while not stopped.running():
                time.sleep(0.01)
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        with pytest.raises(duckdb.InterruptException):
            stopped.result(timeout=60)
    assert signal.set_wakeup_fd(-1) == -1


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Query interrupted"),
        duckdb.InterruptException("INTERRUPT Error: Interrupted!"),
        OSError(errno.EINTR, "Interrupted system call"),
        ValueError("half a file"),
    ],
)
def test_whatever_a_library_raises_after_ctrl_c_is_130(monkeypatch, capsys, error):
    @click.command()
    def command() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise error from None

    monkeypatch.setattr(cli._LazyGroup, "get_command", lambda *_: command)
    assert run_cli(["runs"]) == 130
    assert capsys.readouterr() == ("", "")


def test_the_same_error_without_ctrl_c_is_a_defect(monkeypatch, capsys):
    assert _fails_with(monkeypatch, RuntimeError("Query interrupted")) == 70
    assert "internal error" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "a/b"), "a/b: the disk is full"),
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "the disk quota is used up"),
        (OSError(errno.EROFS, "Read-only file system"), "the file system is read-only"),
        (PermissionError(errno.EACCES, "Permission denied", b"c"), "c: permission denied"),
        (OSError("No space left on device (os error 28)"), "the disk is full"),
        (duckdb.IOException("IO Error: Could not write: No space left on device"), "the disk is full"),
        (ValueError("x: Read-only file system (os error 30)"), "the file system is read-only"),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory", "f/g"), "f/g: a part of the path is not a folder"),
    ],
)  # fmt: skip
def test_what_a_disk_refuses_is_reported_in_plain_words(
    monkeypatch, capsys, error, said
):
    assert _fails_with(monkeypatch, error) == 70
    err = capsys.readouterr().err
    assert err.startswith(f"promptlab: {said}")
    assert "internal error" not in err
    assert "fault of promptlab" not in err


def test_an_error_of_another_kind_is_not_a_disks():
    for error in (
        ValueError("x"),
        OSError("?"),
        OSError(errno.EDOM, "?"),
        KeyError(28),
    ):
        assert storage_error(error) is None


def test_a_report_on_a_full_disk_names_the_file(tmp_path, monkeypatch):
    write_file(tmp_path, "t", "report.html", b"old")

    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.open", lambda *_: Full())
    with pytest.raises(OSError, match="No space left") as raised:
        write_file(tmp_path, "t", "report.html", b"new")
    monkeypatch.undo()
    assert raised.value.filename == str(tmp_path / "t" / "report.html")
    assert (tmp_path / "t" / "report.html").read_bytes() == b"old"


def test_an_interrupt_while_modules_are_imported_is_an_interrupt(monkeypatch):
    def interrupted(name):
        raise KeyboardInterrupt

    module = types.ModuleType("promptlab.cli")
    module.__getattr__ = interrupted
    monkeypatch.setitem(sys.modules, "promptlab.cli", module)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 130
