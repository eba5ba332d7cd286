"""``python -m promptlab`` and the ``promptlab`` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its code."""
    from promptlab.cli import run_cli
    from promptlab.cli.stdout import guard_stderr, outlast_readers

    outlast_readers()
    guard_stderr()
    sys.exit(run_cli())


if __name__ == "__main__":
    main()
