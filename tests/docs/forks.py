"""A ``promptlab`` for shells whose calls are forks of one process.

Most of the time of a short command goes into imports. ``python -m tests.docs.forks
FOLDER`` imports once, writes FOLDER/promptlab, and runs every call of it in a fork,
with the arguments, the folder, the environment and the streams of the caller.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
from importlib import import_module
from pathlib import Path

from promptlab.__main__ import main
from promptlab.cli import COMMANDS

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


def serve(folder: Path) -> None:
    """Write the program, say so, and run its calls until stdin is closed."""
    for name in (*LIBRARIES, *(f"promptlab.cli.{name}" for name in COMMANDS.values())):
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks that end are not waited for
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address := str(folder / "calls"))
        server.listen()
        program = folder / "promptlab"
        program.write_text(PROGRAM.format(python=sys.executable, address=address))
        program.chmod(0o755)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
            caller, _ = server.accept()
            if os.fork() == 0:
                server.close()
                run(caller)
            caller.close()


def run(caller: socket.socket) -> None:
    """Run a call in this process, answer with its exit code, and end."""
    code = 1
    try:
        size, streams, _, _ = socket.recv_fds(caller, 4, 3)
        call = caller.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
        sys.argv, folder, environment = json.loads(call)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        main()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdout.flush()
        caller.sendall(str(code).encode())
        os._exit(code)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
