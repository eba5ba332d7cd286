"""Whose the rows of each table are: declared once, and looked up by equal ids alone.

Of raw tables their catalogue says it; of models the models themselves: their key, their
batch, and the columns that mention others, which the plan repeats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from promptlab.build import plan
from promptlab.database.copying import StoredTable
from promptlab.ingest.raw.catalogue import RAW_TABLES, Ids


@dataclass(frozen=True)
class PurgeRule:
    """What of a table goes."""

    owners: tuple[Ids, ...] = ()
    """Rows go where one of these is among the ids; the table's key is the first."""
    mentions: tuple[Ids, ...] = ()
    """Ids of others: in a row that stays they are cleared."""


STAYS = PurgeRule()

_OF_TASKS = "purged_tasks"

OF_RAW = {
    table.name: PurgeRule(table.purged_by, table.mentions) for table in RAW_TABLES
}
"""Raw table → what of it goes."""

# Batch and key of a model → the ids whose rows go.
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
    """What of a table goes; ``None`` where it is not one that we make."""
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
    """Return whether every build computes it from nothing, so that no row has to stay.

    Steps of a build, and marts whose rows belong to no task, such as those that sum up
    the labels of all tasks.
    """
    if rule_of(table) is not None:
        return False
    return table.schema == "intermediate" or str(table) in _tables_of_every_build()


def is_unknown(table: StoredTable) -> bool:
    """Whether nobody has declared whose its rows are: somebody's own table."""
    return not (table.schema == "policy" or is_step(table) or rule_of(table))
