"""``python -m promptlab`` and the ``promptlab`` command."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    # importing makes many objects and no garbage
    gc.set_threshold(50_000)
    try:
        from promptlab.cli import run_cli
        from promptlab.cli.streams import guard_stderr, outlast_readers
    except KeyboardInterrupt:  # run_cli handles all later ones
        sys.exit(130)
    outlast_readers()
    guard_stderr()
    sys.exit(run_cli())


if __name__ == "__main__":
    main()
