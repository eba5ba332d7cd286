"""The descriptions of the dbt project's tables, as rendered by dbt.

A text is one line of Markdown: words and code between backticks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec


class DescribedColumn(msgspec.Struct, frozen=True):
    """A column: its name, its type and its description."""

    name: str
    type: str
    text: str


class DescribedTable(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table of the warehouse."""

    schema: str
    name: str
    text: str
    columns: list[DescribedColumn]
    folder: str = ""
    """Folder of its model; empty for seeds and raw tables."""
    keys: list[str] = []
    """Columns that form the key of a row."""
    rules: list[str] = []
    """Other constraints on its rows, a few words each."""

    @property
    def relation(self) -> str:
        """Its name in SQL."""
        return f"{self.schema}.{self.name}"

    @property
    def first_sentence(self) -> str:
        """A short description."""
        return sentence(self.text.split(". ")[0])


class Exposure(msgspec.Struct, frozen=True):
    """A reader of marts: a dbt exposure."""

    label: str
    text: str
    marts: list[str]


class Descriptions(msgspec.Struct, frozen=True):
    """The descriptions of the tables that builds create and read."""

    marts: list[DescribedTable] = []
    policy: list[DescribedTable] = []
    """The seeds: decisions, not measurements."""
    raw: dict[str, str] = {}
    """Raw table → description of a row."""
    readers: list[Exposure] = []
    """The readers of the marts: reports, commands, the gate."""


def sentence(text: str) -> str:
    """Return a description on one line, with a full stop."""
    text = " ".join(text.split()).replace("`None`", "null")
    return text if text.endswith((".", ":", "…")) or not text else text + "."


def read_descriptions(manifest: Any) -> Descriptions:
    """Read the descriptions from dbt's manifest, in the order of the YAML files."""
    keys = {
        test.attached_node: test.test_metadata.kwargs
        for test in manifest.nodes.values()
        if test.resource_type == "test" and _is_of_keys(test)
    }
    described = [
        _described(manifest.nodes[node_id], keys.get(node_id, {}))
        for _, file in sorted(manifest.files.items())
        for node_id in getattr(file, "node_patches", ())
        if manifest.nodes[node_id].schema in ("marts", "policy")
    ]
    return Descriptions(
        marts=[table for table in described if table.schema == "marts"],
        policy=[table for table in described if table.schema == "policy"],
        raw={s.name: sentence(s.description) for s in manifest.sources.values()},
        readers=[
            Exposure(one.label, sentence(one.description), [r.name for r in one.refs])
            for one in manifest.exposures.values()
        ],
    )


def _is_of_keys(test: Any) -> bool:
    """Return true for a data test of a table's key and its parents."""
    made_of = getattr(test, "test_metadata", None)
    return made_of is not None and made_of.name == "keys"


def _described(node: Any, keys: dict[str, Any]) -> DescribedTable:
    types = getattr(node.config, "column_types", {})
    columns = [
        DescribedColumn(
            column.name,
            column.data_type or types.get(column.name, ""),
            sentence(column.description),
        )
        for column in node.columns.values()
    ]
    return DescribedTable(
        node.schema,
        node.name,
        sentence(node.description),
        columns,
        folder=node.fqn[-2] if node.resource_type == "model" else "",
        keys=keys.get("key", []),
        rules=list(_rules(node, keys)),
    )


def _rules(node: Any, keys: dict[str, Any]) -> Iterator[str]:
    for rule in keys.get("belongs_to", ()):
        columns = ", ".join(f"`{name}`" for name in rule["columns"])
        yield f"{columns} is in `{rule['parent']}`"
    for constraint in getattr(node, "constraints", ()):
        if constraint.name:
            yield constraint.name.replace("_", " ")
