"""The raw tables, one line each; all other code derives from it.

Columns are in ``raw.sql``; what rows belong to is here. From this is derived what a
build writes, what counts as a record, what a purge deletes and what the doctor checks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SCHEMA_VERSION = 1
"""Raised with every change of ``raw.sql``; files of another version are refused."""

EVERY_ROW = "every row"


@dataclass(frozen=True)
class RawObject:
    """An object of files; what of its loads counts is in the schema `live`."""

    kind: str
    """First part of a reader's key."""
    key: tuple[str, ...] = ()
    """Columns with the other parts, before the file if that is one; empty if it is the
    only one."""
    tasks: tuple[str, ...] = ()
    """Columns with the tasks and memory runs that its rows are of; a purge of one
    deletes the row."""


@dataclass(frozen=True)
class RawTable:
    """A raw table."""

    name: str
    owner: RawObject | None = None
    """Object that its rows belong to; None: they are of no file, or of any."""
    key: tuple[str, ...] = ()
    """Key of a row within its owner, if other tables refer to it."""
    parent: str | None = None
    """Parent table: each row must have its row there."""
    records: str | None = None
    """Rows that count as records of a load: ``EVERY_ROW``, or those of some tasks."""
    of_tasks: tuple[str, ...] = ()
    """The same columns where it has no owner."""
    has_file: bool = False
    """True if its rows contain the path of their file."""
    by_build: bool = False
    """True if builds write it: it is always in the warehouse file."""

    @property
    def row_key(self) -> tuple[str, ...]:
        """Return the key columns of a row."""
        return (*self.owner.key, *self.key) if self.owner else self.key

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the columns with tasks and memory runs that a row is of."""
        return self.owner.tasks if self.owner else self.of_tasks


_TESTSET = RawObject("testset", ("testset_id",))
_PIPELINE = RawObject("pipeline", ("pipeline_id",))
_TASK = RawObject("task", ("task_id",), ("task_id",))
_MEMORY = RawObject("memory", ("run_id", "task_id"), ("run_id",))
_SCORES = RawObject("scores", ("task_id",), ("task_id",))
_LABELS = RawObject("labels")

_OF_ANALYSES = "source_kind = 'analysis'"
_OF_OTHERS = "source_kind <> 'analysis'"

# The first table of an object has one row per object, or is the only table.
RAW_TABLES = (
    RawTable("schema_versions", by_build=True),
    # of these, and of labels and builds, the purge says which rows go
    RawTable("loads"),
    RawTable("objects"),
    RawTable("judged_answers", of_tasks=("task_id",)),
    RawTable("rejects"),
    RawTable("redactions"),
    RawTable("testsets", _TESTSET, has_file=True),
    RawTable("test_cases", _TESTSET, key=("case_id",), records=EVERY_ROW),
    RawTable("expectations", _TESTSET, parent="test_cases"),
    RawTable("pipelines", _PIPELINE, records=EVERY_ROW, has_file=True),
    RawTable("pipeline_steps", _PIPELINE),
    RawTable("tasks", _TASK),
    RawTable("cases", _TASK, key=("case_id",), parent="tasks", records=_OF_ANALYSES),
    RawTable("rounds", _TASK, parent="cases", records=_OF_OTHERS),
    RawTable("baselines", _TASK),
    RawTable("rules", _TASK),
    RawTable("golden_checks", _TASK),
    RawTable("dimension_configs", _TASK),
    RawTable("judges", _TASK),
    RawTable("reported_checks", _TASK),
    RawTable("reported_scores", _TASK),
    RawTable("claims", _TASK),
    RawTable("scores", _SCORES, records=EVERY_ROW),
    RawTable("labels", _LABELS, records=EVERY_ROW),
    RawTable(
        "requested_comparisons",
        of_tasks=("baseline_task_id", "candidate_task_id"),
    ),
    RawTable("accepts", of_tasks=("task_id",), by_build=True),
    RawTable("settings", by_build=True),
    RawTable("memory_runs", _MEMORY),
    RawTable("memory_tests", _MEMORY),
    RawTable("memory_answers", _MEMORY, parent="memory_runs", records=EVERY_ROW),
    RawTable("memory_invalid_questions", _MEMORY),
    RawTable("memory_timings", _MEMORY),
    RawTable("builds", by_build=True),
    RawTable("task_builds", by_build=True),
    RawTable("comparison_builds", by_build=True),
    RawTable("reported_runs", by_build=True),
)

BY_NAME = {table.name: table for table in RAW_TABLES}


def count_records(condition: Callable[[RawTable], str] = lambda _table: "true") -> str:
    """Return a query for the number of records of each load: ``load_id`` and ``n``.

    *condition* returns that of the rows of a table that are counted.
    """
    queries = []
    for table in RAW_TABLES:
        if table.records:
            rows = f"select load_id from raw.{table.name} where ({condition(table)})"
            if table.records != EVERY_ROW:
                tasks = f"select task_id from raw.tasks where {table.records}"
                rows += f" and task_id in ({tasks})"
            queries.append(rows)
    rows = " union all ".join(queries)
    return f"select load_id, count(*) as n from ({rows}) group by load_id"


OF_BUILDS = frozenset(table.name for table in RAW_TABLES if table.by_build)
