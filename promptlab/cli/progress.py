"""One progress bar for a whole command, only on terminals."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from promptlab.cli.terminal import in_one_line

if TYPE_CHECKING:
    from rich.progress import Progress


class ProgressBar:
    """Progress of a command over phases, each with its share of the total."""

    def __init__(self, progress: Progress | None, shares: Sequence[float]) -> None:
        """Draw on a rich progress, or not at all."""
        self._progress = progress
        self._shares = list(shares)
        self._before = self._share = 0.0
        self._done = self._total = 0.0
        self._task = progress.add_task("", total=sum(shares)) if progress else None

    def begin(self, total: float) -> None:
        """Start the next phase, with *total* steps."""
        self._before += self._share
        self._share = self._shares.pop(0)
        self._done, self._total = 0.0, total

    def advance(self, what: str, amount: float = 1) -> None:
        """Count a step; *what* is its name."""
        self._done += amount
        self.put(what, self._done, self._total)

    def put(self, what: str, done: float, total: float) -> None:
        """Show the progress of the phase."""
        if self._progress is not None and self._task is not None:
            share = self._share * (done / total if total else 1)
            self._progress.update(
                self._task,
                completed=self._before + share,
                description=in_one_line(what),
            )


@contextmanager
def progress(*shares: float, shown: bool) -> Iterator[ProgressBar]:
    """Show a bar for the length of a ``with`` block.

    Args:
        shares: the share of each phase, in order.
        shown: true if it is shown on terminals.
    """
    if not shown or not sys.stderr.isatty():
        yield ProgressBar(None, shares)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    with RichProgress(
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
        console=Console(stderr=True),
        transient=True,
    ) as drawn:
        yield ProgressBar(drawn, shares)
