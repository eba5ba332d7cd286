"""A progress bar on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def file_progress(
    files: int, size: int, *, shown: bool
) -> Iterator[Callable[[Path, int], None]]:
    """A bar over ``files`` files and ``size`` bytes; yields what to call per file."""
    if not shown or not sys.stderr.isatty():
        yield lambda _path, _size: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TransferSpeedColumn,
    )

    with Progress(
        TextColumn("{task.fields[done]}/{task.fields[files]} files"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task("ingest", total=size, done=0, files=files)
        done = 0

        def advance(_path: Path, n_bytes: int) -> None:
            nonlocal done
            done += 1
            progress.update(task, advance=n_bytes, done=done)

        yield advance
