"""A ``promptlab`` or ``dbt`` for shells whose calls are forks of one process.

Most of the time of a short command goes into imports. ``python -m tests.forks FOLDER
NAME…`` imports once, writes FOLDER/NAME, and runs every call of it in a fork, with the
arguments, the folder, the environment and the streams of the caller.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from promptlab.__main__ import main as promptlab
from promptlab.cli import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ("duckdb", "promptlab.warehouse", "reports", "rich.table")
"""Without polars, which starts threads: a fork would not have them."""

PROGRAM = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    call = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(call).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(call)
    sys.exit(int(server.recv(3)))
"""


@contextmanager
def started(folder: Path, *names: str) -> Iterator[Path]:
    """Have these programs in the folder, for as long as it takes."""
    call = [sys.executable, "-m", "tests.forks", str(folder), *names]
    pipe = subprocess.PIPE  # a closed stdin ends it
    with subprocess.Popen(call, cwd=ROOT, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield folder


def serve(folder: Path, *names: str) -> None:
    """Write the programs, say so, and run their calls until stdin is closed."""
    for name in (*LIBRARIES, *(f"promptlab.cli.{name}" for name in COMMANDS.values())):
        import_module(name)
    mains: dict[str, Callable[[], object]] = {"promptlab": promptlab}
    if "dbt" in names:
        mains["dbt"] = import_module("dbt.cli.main").cli
        import_module("dbt.adapters.duckdb.impl")
    gc.set_threshold(50_000)  # as the program does
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks that end are not waited for
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address := str(folder / "calls"))
        server.listen()
        for name in names:
            program = folder / name
            program.write_text(PROGRAM.format(python=sys.executable, address=address))
            program.chmod(0o755)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
            caller, _ = server.accept()
            if os.fork() == 0:
                server.close()
                run(caller, mains)
            caller.close()


def run(caller: socket.socket, mains: dict[str, Callable[[], object]]) -> None:
    """Run a call in this process, answer with its exit code, and end."""
    code = 1
    try:
        size, streams, _, _ = socket.recv_fds(caller, 4, 3)
        call = caller.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
        sys.argv, folder, environment = json.loads(call)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        # Python has kept of its own streams whether they are files
        sys.stdout = sys.__stdout__ = os.fdopen(1, "w", closefd=False)
        sys.stderr = sys.__stderr__ = os.fdopen(
            2, "w", 1, errors="backslashreplace", closefd=False
        )
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        mains[Path(sys.argv[0]).name]()
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        caller.sendall(str(code).encode())
        os._exit(code)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), *sys.argv[2:])
