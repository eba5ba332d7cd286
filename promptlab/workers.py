"""Who does work that can be done anywhere: this process, others, or Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from promptlab.errors import UsageError

Map = Callable[..., Any]
"""Like ``map``: a function and a sequence of items; results in order."""


@contextmanager
def mapping(workers: str) -> Iterator[Map]:
    """A ``map`` for the length of a ``with`` block.

    Args:
        workers: how many processes, ``1`` for this one alone; or ``spark``.

    Raises:
        UsageError: it is neither.
        SettingsError: there is no Spark.
    """
    if workers == "spark":
        from promptlab.spark import map_on_spark

        yield map_on_spark
    elif workers == "1":
        yield map
    elif workers.isdecimal() and int(workers) > 0:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        # not forked: this process may have threads already
        with ProcessPoolExecutor(int(workers), get_context("spawn")) as pool:
            yield pool.map
    else:
        raise UsageError(
            f"--workers {workers}: expected a number of processes, or spark"
        )
