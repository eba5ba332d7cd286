"""The raw tables, one line each; all other code derives from it.

Columns are in ``raw.sql``; what rows belong to is here. From this is derived what a
build writes, what counts as a record, what a purge deletes and what the doctor checks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SCHEMA_VERSION = 1
"""Raised with every change of ``raw.sql``; files of another version are refused."""

Ids = tuple[str, str]
"""A column, and the temporary table of a purge with the ids for it."""

EVERY_ROW = "every row"


@dataclass(frozen=True)
class RawObject:
    """An object of files; what of its loads counts is in the schema `live`."""

    kind: str
    """First part of a reader's key."""
    key: tuple[str, ...] = ()
    """Columns with the other parts, before the file if that is one; empty if it is the
    only one."""
    on_purge: tuple[Ids, ...] = ()
    """Its rows are deleted if one of these is purged; empty: they stay."""


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
    on_purge: tuple[Ids, ...] = ()
    """Its rows are deleted if one of these is purged; empty: like its owner's."""
    mentions: tuple[Ids, ...] = ()
    """References to other objects, which a purge clears in rows that stay."""
    has_file: bool = False
    """True if its rows contain the path of their file."""
    by_build: bool = False
    """True if builds write it: it is always in the warehouse file."""

    @property
    def row_key(self) -> tuple[str, ...]:
        """Return the key columns of a row."""
        return (*self.owner.key, *self.key) if self.owner else self.key

    @property
    def purged_by(self) -> tuple[Ids, ...]:
        """Return the ids that decide whether a purge deletes a row."""
        return self.on_purge or (self.owner.on_purge if self.owner else ())


_BY_TASK = (("task_id", "purged_tasks"),)
_BY_RUN = (("run_id", "purged_tasks"),)

_TESTSET = RawObject("testset", ("testset_id",))
_PIPELINE = RawObject("pipeline", ("pipeline_id",))
_TASK = RawObject("task", ("task_id",), _BY_TASK)
_MEMORY = RawObject("memory", ("run_id", "task_id"), _BY_RUN)
_SCORES = RawObject("scores", ("task_id",), _BY_TASK)
_LABELS = RawObject("labels", on_purge=_BY_TASK)

_OF_ANALYSES = "source_kind = 'analysis'"
_OF_OTHERS = "source_kind <> 'analysis'"

# The first table of an object has one row per object, or is the only table.
RAW_TABLES = (
    RawTable("schema_versions", by_build=True),
    # promptlab/operations/purge.py says which of their rows go, also of rejects
    RawTable("loads"),
    RawTable("objects"),
    RawTable("judged_answers", on_purge=_BY_TASK),
    RawTable("rejects"),
    RawTable("redactions", on_purge=(("load_id", "purged_loads"),)),
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
        on_purge=(
            ("baseline_task_id", "purged_tasks"),
            ("candidate_task_id", "purged_tasks"),
        ),
    ),
    RawTable("accepts", on_purge=_BY_TASK, by_build=True),
    RawTable("settings", by_build=True),
    RawTable("memory_runs", _MEMORY),
    RawTable("memory_tests", _MEMORY),
    RawTable("memory_answers", _MEMORY, parent="memory_runs", records=EVERY_ROW),
    RawTable("memory_invalid_questions", _MEMORY),
    RawTable("memory_timings", _MEMORY),
    RawTable("builds", by_build=True),
    RawTable("task_builds", on_purge=(("task_id", "tasks_to_build"),), by_build=True),
    RawTable(
        "comparison_builds",
        on_purge=(("candidate_task_id", "tasks_to_compare"),),
        by_build=True,
    ),
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
