"""Compare one task with another: request a pair, name a baseline.

The marts compute the numbers. A request is a row in ``raw``; then only the models that
depend on it are rebuilt.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from promptlab.build import build
from promptlab.database.connection import has_relation
from promptlab.errors import NothingToDo, UsageError
from promptlab.ingest.raw.requests import name_baseline, request_comparison
from promptlab.messages import say
from promptlab.reports.queries.comparisons import comparison, is_compared
from promptlab.task_ids import resolve_task, to_compare_again

if TYPE_CHECKING:
    import duckdb

    from promptlab.contracts.comparison import Comparison
    from promptlab.warehouse_file import WarehouseFile


@dataclass(frozen=True)
class TaskSeries:
    """The scope of a baseline: tasks of one title and testset."""

    title: str
    testset_id: str | None

    def __str__(self) -> str:
        """Return a description for messages."""
        testset = (
            "no testset" if self.testset_id is None else f"testset {self.testset_id}"
        )
        return f"{self.title!r} with {testset}"


def compare(
    warehouse: WarehouseFile,
    baseline: str,
    candidate: str,
    *,
    lang: str,
    cases: int | None = None,
) -> Comparison:
    """Compare two tasks; a pair that is not in the marts yet is built and stored.

    Args:
        warehouse: the warehouse of both.
        baseline: the "before": an id, a unique prefix, ``latest``; ``baseline`` and
            ``previous`` are those of the candidate.
        candidate: the "after": an id, a unique prefix, ``latest`` or ``previous``.
        lang: language of the sentences, ``zh`` or ``en``.
        cases: number of listed cases, the worst first; all by default.

    Raises:
        UsageError: no such task, or one task twice.
        NothingToDo: nothing is built, or the candidate has no baseline.
    """
    with warehouse.built() as con:
        after = _resolved(con, candidate)
        before = _resolved(con, baseline, of=after)
        if before == after:
            raise UsageError(f"{before}: a task cannot be compared with itself")
        if is_compared(con, before, after):
            return comparison(con, before, after, lang=lang, cases=cases)
    say(f"{before} and {after} have not been compared yet; building …")
    build(warehouse, request=lambda con: request_comparison(con, before, after))
    with warehouse.built() as con:
        return comparison(con, before, after, lang=lang, cases=cases)


def set_baseline(warehouse: WarehouseFile, task: str) -> tuple[str, TaskSeries]:
    """Name a task the baseline of its title and testset, until another is named.

    Returns:
        The task's whole id, and the scope of the baseline.

    Raises:
        UsageError: no such task.
    """
    with warehouse.built() as con:
        task_id = _resolved(con, task)
        series = _series_of(con, task_id)
    _name(warehouse, series, task_id)
    return task_id, series


def clear_baseline(warehouse: WarehouseFile, task: str) -> tuple[str, TaskSeries]:
    """Remove the baseline of the title and testset of a task.

    Returns:
        The id of the task that was the baseline, and the scope.

    Raises:
        NothingToDo: no baseline is named.
    """
    with warehouse.built() as con:
        series = _series_of(con, _resolved(con, task))
        named = {(row[0], row[1]): str(row[2]) for row in named_baselines(con)}
    task_id = named.get((series.title, series.testset_id))
    if task_id is None:
        raise NothingToDo(f"no baseline is named for {series}")
    _name(warehouse, series, None)
    return task_id, series


def named_baselines(
    con: duckdb.DuckDBPyConnection,
) -> list[tuple[str, str | None, str, str, datetime]]:
    """Return all named baselines.

    Returns:
        Title, testset, task, state (``ok``; ``changed``: it, its scores or its testset
        were loaded since; ``gone``: no longer in the warehouse), and the time at
        which it was set (UTC).
    """
    return con.execute(
        "select title, testset_id, task_id, state, set_at"
        " from marts.dim_named_baselines order by title, testset_id"
    ).fetchall()


def baseline_of(
    con: duckdb.DuckDBPyConnection, task: str
) -> tuple[str, str | None, str, str | None, datetime | None]:
    """Return the baseline of a task.

    Returns:
        The task's whole id; its baseline's; where that comes from (``named``,
        ``previous``, ``gone``, ``none``); state and time of a named one.

    Raises:
        UsageError: no such task.
        NothingToDo: its baseline was purged, and nothing is built since.
    """
    task_id = _resolved(con, task)
    row = con.execute(
        "select task_id, baseline_task_id, baseline_source,"
        " case when is_baseline_changed then 'changed'"
        " when baseline_source = 'gone' then 'gone'"
        " when baseline_source = 'named' then 'ok' end, baseline_set_at"
        " from marts.dim_task_baselines where task_id = ?",
        [task_id],
    ).fetchone()
    if row is None:
        raise to_compare_again(task_id)
    return row


def _resolved(
    con: duckdb.DuckDBPyConnection, wanted: str, *, of: str | None = None
) -> str:
    if not has_relation(con, "marts.fct_task_pairs"):
        raise NothingToDo(
            "this warehouse was built before tasks could be compared; `promptlab build`"
        )
    return resolve_task(con, wanted, of=of)


def _series_of(con: duckdb.DuckDBPyConnection, task_id: str) -> TaskSeries:
    row = con.execute(
        "select title, testset_id from marts.dim_tasks where task_id = ?", [task_id]
    ).fetchone()
    assert row is not None  # resolved above
    return TaskSeries(*row)


def _name(warehouse: WarehouseFile, series: TaskSeries, task_id: str | None) -> None:
    say("comparing anew …")
    build(
        warehouse,
        request=lambda con: name_baseline(
            con, series.title, series.testset_id, task_id
        ),
    )
