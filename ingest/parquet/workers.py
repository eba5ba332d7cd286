"""Workers of the Parquet layer: this process, several processes, or Spark."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from typing import Any

from promptlab.errors import UsageError, WarehouseError

Map = Callable[..., Any]
"""Like ``map``: a function and a sequence of items; results in order."""


@contextmanager
def mapping(workers: str) -> Iterator[Map]:
    """Provide a ``map`` for the length of a ``with`` block.

    Args:
        workers: the number of processes, ``1`` for only this one; or ``spark``.

    Raises:
        UsageError: it is neither.
        SettingsError: Spark is not installed.
        WarehouseError: a process was killed.
    """
    if workers == "spark":
        from promptlab.spark import map_on_spark

        yield map_on_spark
    elif workers == "1":
        yield map
    elif workers.isdecimal() and int(workers) > 0:
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import get_context

        # not forked: this process may have threads already
        context = get_context("spawn")
        with ProcessPoolExecutor(int(workers), context, _end_with_parent) as pool:
            try:
                yield pool.map
            except BrokenProcessPool:
                raise WarehouseError(
                    f"--workers {workers}: a worker was killed, perhaps for want of"
                    " memory; the same call with fewer completes what is missing"
                ) from None
    else:
        raise UsageError(
            f"--workers {workers}: expected a number of processes, or spark"
        )


def _end_with_parent() -> None:
    """End this worker when its parent ends, even if killed."""

    def watch() -> None:
        parent = parent_process()
        assert parent is not None  # workers have one
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
