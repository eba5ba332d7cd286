"""Ownership of the rows of each table: declared once, matched only by equal ids.

For raw tables it is in their catalogue, for models in the models themselves: their key,
their batch, and the columns that refer to others. The plan contains a copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from promptlab.build import plan
from promptlab.database.copying import StoredTable
from promptlab.ingest.raw.catalogue import RAW_TABLES, Ids


@dataclass(frozen=True)
class PurgeRule:
    """The rows of a table that a purge deletes."""

    owners: tuple[Ids, ...] = ()
    """Rows are deleted if one of these is purged; the first is the table's key."""
    mentions: tuple[Ids, ...] = ()
    """References to other objects, which are cleared in rows that stay."""


STAYS = PurgeRule()

_OF_TASKS = "purged_tasks"

OF_RAW = {
    table.name: PurgeRule(table.purged_by, table.mentions) for table in RAW_TABLES
}
"""Raw table → the rows that a purge deletes."""

# Batch and key of a model → the kind of ids to purge.
_OF_BATCHES = {
    ("tasks", "task_id"): _OF_TASKS,
    ("tasks", "run_id"): _OF_TASKS,
    ("titles", "title"): "touched_titles",
    ("comparisons", "task_id"): "tasks_to_compare",
    ("comparisons", "candidate_task_id"): "tasks_to_compare",
}


@cache
def of_models() -> dict[str, PurgeRule]:
    """``schema.table`` → the rows that a purge deletes."""
    return {
        f"{node.schema}.{node.name}": PurgeRule(
            owners=((node.key, _OF_BATCHES[node.batch, node.key]),),
            mentions=tuple((column, _OF_TASKS) for column in node.mentions),
        )
        for node in plan.load().nodes
        if node.key is not None and node.batch is not None
    }


def rule_of(table: StoredTable) -> PurgeRule | None:
    """Return the rows to delete; ``None`` for a table that is not promptlab's."""
    if table.schema == "raw":
        return OF_RAW.get(table.name)
    rule = of_models().get(str(table))
    columns = () if rule is None else (*rule.owners, *rule.mentions)
    return rule if {column for column, _ in columns} <= set(table.columns) else None


@cache
def _tables_of_every_build() -> frozenset[str]:
    return frozenset(
        f"{node.schema}.{node.name}"
        for node in plan.load().nodes
        if node.kind == "table"
    )


def is_step(table: StoredTable) -> bool:
    """Return true if every build recomputes it completely, so that no row has to stay.

    These are intermediate results, and marts whose rows belong to no task, such as
    aggregates over the labels of all tasks.
    """
    if rule_of(table) is not None:
        return False
    return table.schema == "intermediate" or str(table) in _tables_of_every_build()


def is_unknown(table: StoredTable) -> bool:
    """True for a table without declared ownership, such as a user's own table."""
    return not (table.schema == "policy" or is_step(table) or rule_of(table))
