"""The times of runs whose files contain no time, or a time in the future.

A run whose file contains no time gets the start of its load. Starts of loads increase,
so a run that is loaded later is newer. The modification time of a file is not used:
``git checkout``, ``unzip`` and ``cp`` change it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from promptlab.ingest.files.dates import source_pattern
from promptlab.ingest.raw.rows import Reading
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.json_text.writing import shown

TIME_MISSING = "time_missing"
TIME_IN_FUTURE = "time_in_future"

_A_DAY = timedelta(days=1)
_TICK = timedelta(microseconds=1)
_FIXES = {
    "table": 'Name the column that holds the time in the mapping: time = "…"',
    "results": "Write `created_at` or `executed_at` into the records",
}
_MOST_ROWS = 100
_FIX = "Ingest such files in the order in which they were made"


def load_starts(after: datetime | None = None) -> Iterator[datetime]:
    """Yield the start of each load: later than *after* and all earlier ones.

    The clock may be put back.
    """
    while True:
        now = datetime.now(UTC)
        after = now if after is None or now > after else after + _TICK
        yield after


def date_runs(reading: Reading, moment: datetime) -> list[str]:
    """Set *moment* as the time of tasks without a time; return their ids.

    Memory runs are not among the ids: their reader reports the time from their path.
    """
    undated: list[str] = []
    for table in ("tasks", "memory_runs"):
        tasks = reading.rows.get(table)
        if tasks is None or None not in (times := list(tasks["created_at"])):
            continue
        dated = [time or moment for time in times]
        reading.rows[table] = {**tasks, "created_at": dated}
        if table == "tasks":
            undated += [
                task_id
                for task_id, time in zip(tasks["task_id"], times, strict=True)
                if time is None
            ]
    return undated


def undated_problem(
    kind: str, name: str, task_ids: list[str], columns: Sequence[str] = ()
) -> Problem:
    """Return a warning that tasks are ordered by loading, and how to set a time.

    Args:
        kind: The kind of the file.
        name: The name of the file.
        task_ids: The tasks.
        columns: Columns of a table that seem to hold the time.
    """
    fix = _FIXES.get(kind, _FIX)
    if columns:
        fix = f"Write time = {shown(columns[0])} into the mapping"
        others = ", ".join(map(shown, columns[1:]))
        fix += f" (or one of {others})" * bool(others)
    elif pattern := source_pattern(name):
        fix += f'; the date in its name counts with [[sources]] path = "{pattern}"'
    more = f" and {len(task_ids) - 1} more" if task_ids[1:] else ""
    return warning(
        TIME_MISSING,
        f"the file does not say when {task_ids[0]}{more} ran: the time of this load is"
        " used, so that runs without a time are ordered as they are loaded."
        f" {fix}",
        record_id=task_ids[0],
    )


def future_problem(reading: Reading, now: datetime) -> Problem | None:
    """Return a warning of the task that is dated a day or more after *now*, if any.

    Args:
        reading: Tasks or memory runs with their times, and other rows.
        now: The time of the load.
    """
    for table, of_run in (("tasks", "task_id"), ("memory_runs", "memory_system")):
        rows = reading.rows.get(table, {"created_at": ()})
        dated = [(time, at) for at, time in enumerate(rows["created_at"])]
        if dated and (latest := max(dated))[0] >= now + _A_DAY:
            time, at = latest
            return warning(
                TIME_IN_FUTURE,
                f"{rows[of_run][at]} is dated {time:%Y-%m-%d}, after today: until then"
                " it is the newest run, and others are compared with older ones."
                " Correct the time and load the file again",
                record_id=rows[of_run][at],
            )
    return None


def columns_of_times(reading: Reading) -> list[str]:
    """Return the columns of a table without a meaning whose cells are times."""
    from promptlab.ingest.foreign.table.cells import are_times

    rows = reading.rows.get("rounds", {}).get("metadata", ())[:_MOST_ROWS]
    cells = [json.loads(row) for row in rows]
    names = dict.fromkeys(name for row in cells for name in row)
    return [name for name in names if are_times(row.get(name) for row in cells)]
