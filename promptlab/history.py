"""One task against another: asking for a pair, naming a baseline.

The numbers are the marts'. What a person asks for is a row in ``raw``; the models that
hang on it are then built anew, and nothing else is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from promptlab.errors import NothingToDo, UsageError

if TYPE_CHECKING:
    import duckdb

    from promptlab.contracts.comparison import Comparison
    from promptlab.pipeline import Warehouse

Say = Callable[[str], None]


def say_nothing(_message: str) -> None:
    """What is told of progress where nobody asked for it."""


@dataclass(frozen=True)
class Subject:
    """What a baseline is named for: tasks of one title and testset."""

    title: str
    testset_id: str | None

    def __str__(self) -> str:
        """In words, for messages."""
        testset = (
            "no testset" if self.testset_id is None else f"testset {self.testset_id}"
        )
        return f"{self.title!r} with {testset}"


def compare(
    warehouse: Warehouse,
    baseline: str,
    candidate: str,
    *,
    lang: str,
    cases: int | None = None,
    say: Say = say_nothing,
) -> Comparison:
    """Compare two tasks; a pair that the marts do not hold yet is built and kept.

    Args:
        warehouse: the warehouse of both.
        baseline: the "before": an id, a unique prefix, ``latest``; ``baseline`` and
            ``previous`` are those of the candidate.
        candidate: the "after": an id, a unique prefix, ``latest`` or ``previous``.
        lang: language of the sentences, ``zh`` or ``en``.
        cases: how many cases are listed, the worst first; all by default.
        say: told what takes time.

    Raises:
        UsageError: no such task, or one task twice.
        NothingToDo: nothing is built, or the candidate has no baseline.
    """
    from reports.comparison_queries import comparison, is_compared

    with warehouse.built() as con:
        after = _known(con, candidate)
        before = _known(con, baseline, of=after)
        if before == after:
            raise UsageError(f"{before}: a task cannot be compared with itself")
        if is_compared(con, before, after):
            return comparison(con, before, after, lang=lang, cases=cases)
    say(f"{before} and {after} have not been compared yet; building …")
    _answer(
        warehouse,
        "insert into raw.requested_comparisons values (?, ?, ?)",
        [before, after, datetime.now(UTC)],
    )
    with warehouse.built() as con:
        return comparison(con, before, after, lang=lang, cases=cases)


def set_baseline(
    warehouse: Warehouse, task: str, *, say: Say = say_nothing
) -> tuple[str, Subject]:
    """Name a task the baseline of its title and testset, until another is named.

    Returns:
        The task's whole id, and what it is the baseline of.

    Raises:
        UsageError: no such task.
    """
    with warehouse.built() as con:
        task_id = _known(con, task)
        subject = _subject(con, task_id)
    _record(warehouse, subject, task_id, say)
    return task_id, subject


def clear_baseline(
    warehouse: Warehouse, task: str, *, say: Say = say_nothing
) -> tuple[str, Subject]:
    """Take back the baseline named for the title and testset of a task.

    Returns:
        The id of the task that was the baseline, and what of.

    Raises:
        NothingToDo: none is named.
    """
    with warehouse.built() as con:
        subject = _subject(con, _known(con, task))
        named = {(row[0], row[1]): str(row[2]) for row in named_baselines(con)}
    task_id = named.get((subject.title, subject.testset_id))
    if task_id is None:
        raise NothingToDo(f"no baseline is named for {subject}")
    _record(warehouse, subject, None, say)
    return task_id, subject


def named_baselines(
    con: duckdb.DuckDBPyConnection,
) -> list[tuple[str, str | None, str, str, datetime]]:
    """Every baseline that is named now.

    Returns:
        Title, testset, task, state (``ok``; ``changed``: it, its scores or its testset
        were loaded since; ``gone``: not in the warehouse any more), and when it was
        set (UTC).
    """
    return con.execute(
        "select title, testset_id, task_id, state, set_at"
        " from marts.dim_named_baselines order by title, testset_id"
    ).fetchall()


def baseline_of(
    con: duckdb.DuckDBPyConnection, task: str
) -> tuple[str, str | None, str, str | None, datetime | None]:
    """What a task is compared with.

    Returns:
        The task's whole id; its baseline's; where that comes from (``named``,
        ``previous``, ``gone``, ``none``); state and time of a named one.

    Raises:
        UsageError: no such task.
        NothingToDo: its baseline was purged, and nothing is built since.
    """
    from promptlab.task_ids import to_compare_again

    task_id = _known(con, task)
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


def _known(
    con: duckdb.DuckDBPyConnection, wanted: str, *, of: str | None = None
) -> str:
    from promptlab.task_ids import resolve_task

    there = con.execute(
        "select 1 from duckdb_tables()"
        " where schema_name = 'marts' and table_name = 'fct_task_pairs'"
    ).fetchone()
    if there is None:
        raise NothingToDo(
            "this warehouse was built before tasks could be compared; `promptlab build`"
        )
    return resolve_task(con, wanted, of=of)


def _subject(con: duckdb.DuckDBPyConnection, task_id: str) -> Subject:
    row = con.execute(
        "select title, testset_id from marts.dim_tasks where task_id = ?", [task_id]
    ).fetchone()
    assert row is not None  # resolved just now
    return Subject(*row)


def _record(
    warehouse: Warehouse, subject: Subject, task_id: str | None, say: Say
) -> None:
    say("comparing anew …")
    _answer(
        warehouse,
        "insert into raw.named_baselines values (?, ?, ?, ?)",
        [subject.title, subject.testset_id, task_id, datetime.now(UTC)],
    )


def _answer(warehouse: Warehouse, statement: str, parameters: Sequence[object]) -> None:
    """Write down what a person asks for and build what hangs on it: both or neither."""
    from promptlab.build import build

    build(warehouse, request=(statement, parameters))
