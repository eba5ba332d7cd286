"""Runs whose files contain no time are ordered by loading.

Such a run gets the start of its load. Starts of loads increase, so a run that is loaded
later is newer. The modification time of a file is not used: ``git checkout``, ``unzip``
and ``cp`` change it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from promptlab.ingest.raw.rows import Reading
from promptlab.ingest.reading.problems import Problem

CODE = "time_missing"

_TICK = timedelta(microseconds=1)
_FIXES = {
    "table": 'Name the column that holds the time in the mapping: time = "…"',
    "results": "Write `created_at` or `executed_at` into the records",
}
_FIX = "Ingest such files in the order in which they were made"


class LoadOrder:
    """The start of each load: later than all earlier ones, whatever the clock.

    Args:
        after: The start of the last load so far.
    """

    def __init__(self, after: datetime | None = None) -> None:
        self._last = after

    def next(self) -> datetime:
        """Return the start of a load that begins now."""
        now = datetime.now(UTC)
        if self._last is not None and now <= self._last:
            now = self._last + _TICK
        self._last = now
        return now


def date_runs(reading: Reading, moment: datetime) -> list[str]:
    """Set *moment* as the time of tasks without a time; return their ids.

    Memory runs are not among the ids: their reader reports the time from their path.
    """
    undated: list[str] = []
    for table in ("tasks", "memory_runs"):
        tasks = reading.rows.get(table)
        if tasks is None or None not in (times := list(tasks["created_at"])):
            continue
        dated: Mapping[str, Any] = {
            **tasks,
            "created_at": pl.Series(
                [time or moment for time in times], dtype=pl.Datetime("us", "UTC")
            ),
        }
        reading.rows[table] = dated
        if table == "tasks":
            undated += [
                task_id
                for task_id, time in zip(tasks["task_id"], times, strict=True)
                if time is None
            ]
    return undated


def undated_problem(kind: str, task_ids: list[str]) -> Problem:
    """Return a warning that tasks are ordered by loading, and how to set a time.

    Args:
        kind: The kind of their file.
        task_ids: At least one.
    """
    more = f" and {len(task_ids) - 1} more" if task_ids[1:] else ""
    return Problem(
        CODE,
        f"the file does not say when {task_ids[0]}{more} ran: the time of this load is"
        " used, so that runs without a time are ordered as they are loaded."
        f" {_FIXES.get(kind, _FIX)}",
        severity="warning",
        record_id=task_ids[0],
    )
