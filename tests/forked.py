"""``promptlab`` in shells of tests: each call is a fork of a process that has imported it.

To start Python and import promptlab takes a second of CPU, and pages of the docs call
it dozens of times. ``folder()`` is for the front of PATH: its ``promptlab`` hands its
arguments, folder, environment and streams over, and ends with the exit code.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

SOCKET = "promptlab.socket"
HEAVY = ("duckdb", "polars", "msgspec", "pydantic", "jinja2", "rich.console")
"""Modules that most commands import when they need them."""

CLIENT = f"""#!{sys.executable} -SE
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect(os.path.join(os.path.dirname(os.path.realpath(sys.argv[0])), "{SOCKET}"))
call = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [call], [0, 1, 2])
sys.exit((server.recv(1) or b"\\xff")[0])
"""


@functools.cache
def folder() -> Path:
    """Return a folder with ``promptlab``; its process ends with this one."""
    found = Path(tempfile.mkdtemp(prefix="promptlab-forked-"))
    (found / "promptlab").write_text(CLIENT, "utf-8")
    (found / "promptlab").chmod(0o755)
    child = subprocess.Popen(
        [sys.executable, __file__, str(found / SOCKET)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"listening\n"
    _ALIVE.append(child)
    return found


_ALIVE: list[subprocess.Popen[bytes]] = []
"""Processes that end when their stdin, which this list keeps open, is closed."""


def serve(path: str) -> None:
    """Fork for each call, until stdin ends."""
    import importlib

    from promptlab import cli  # noqa: F401

    for name in HEAVY:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(path)
        server.listen()
        os.write(1, b"listening\n")
        while True:
            ready, _, _ = select.select([server, 0], [], [])
            if 0 in ready:
                return
            caller, _ = server.accept()
            if os.fork() == 0:
                server.close()
                run(caller)
            caller.close()


def run(caller: socket.socket) -> None:
    """Be the command that was called, and end."""
    code = 70
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        text, streams, _, _ = socket.recv_fds(caller, 1 << 20, 3)
        arguments, place, environment = json.loads(text)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        # those of the server know whether its own could be sought; with two names each,
        # as the command replaces one
        sys.stdin = sys.__stdin__ = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = sys.__stderr__ = open(  # noqa: SIM115
            2, "w", 1, errors="backslashreplace", closefd=False
        )
        os.chdir(place)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["promptlab", *arguments]
        from promptlab.__main__ import main

        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        caller.send(bytes([code]))
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
