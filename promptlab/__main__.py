"""``python -m promptlab`` and the ``promptlab`` command."""

from __future__ import annotations

import atexit
import gc
import os
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    # importing makes many objects and no garbage
    gc.set_threshold(50_000)
    end = _End()
    atexit.register(end)  # the first one registered is called last
    try:
        from promptlab.cli import run_cli
        from promptlab.cli.streams import guard_stderr, outlast_readers
    except KeyboardInterrupt:  # run_cli handles all later ones
        sys.exit(130)
    outlast_readers()
    guard_stderr()
    end.code = run_cli()
    sys.exit(end.code)


class _End:
    """Ends the process, which Python would do by freeing each object, in 0.1 s."""

    code: int | None = None
    """The exit code, once there is one."""

    def __call__(self) -> None:
        """Write what is printed, and leave the memory to the system."""
        if self.code is not None:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            os._exit(self.code)


if __name__ == "__main__":
    main()
