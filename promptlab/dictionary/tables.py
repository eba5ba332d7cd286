"""The tables of a warehouse, as raw.sql, the contracts and the dbt project tell them.

Descriptions are Markdown of one line: text with code between backticks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from promptlab.dictionary.raw_texts import CONTRACTS, TEXTS
from promptlab.paths import dbt_project

GROUPS = {
    "core": "Tasks, cases, rounds",
    "matching": "Expectations and what came",
    "scoring": "Scores, alerts, evidence",
    "history": "One task against another",
    "memory": "The memory benchmark",
}
"""Folder of models/marts → heading, in this order; other folders follow."""


class DescribedColumn(NamedTuple):
    """A column: its name, its type, and what it holds."""

    name: str
    type: str
    text: str


@dataclass(frozen=True)
class DescribedTable:
    """A table of the warehouse."""

    schema: str
    name: str
    text: str
    columns: list[DescribedColumn]
    group: str = ""
    """Heading that it stands under; empty for a schema of one list."""
    keys: list[str] = field(default_factory=list)
    """Columns whose values name one row."""
    rules: list[str] = field(default_factory=list)
    """What else holds of its rows, each as a few words."""

    @property
    def relation(self) -> str:
        """Its name in SQL."""
        return f"{self.schema}.{self.name}"

    @property
    def first_sentence(self) -> str:
        """What it is, in short."""
        return sentence(self.text.split(". ")[0])


class Exposure(NamedTuple):
    """What reads marts: a dbt exposure."""

    label: str
    text: str
    marts: list[str]


def marts() -> list[DescribedTable]:
    """Every mart that a YAML file describes, by group, dimensions before facts."""
    docs = _docs_blocks()
    found: dict[str, list[DescribedTable]] = {}
    for file in sorted((dbt_project() / "models" / "marts").rglob("*.yml")):
        folder = file.parent.name
        group = GROUPS.get(folder, folder.capitalize())
        for model in _yaml(file).get("models", ()):
            if "columns" in model:
                table = _described(model, docs, schema="marts", group=group)
                found.setdefault(folder, []).append(table)
    order = [folder for folder in [*GROUPS, *sorted(found)] if folder in found]
    return [
        table
        for folder in dict.fromkeys(order)
        for table in sorted(found[folder], key=lambda each: each.name)
    ]


def policy() -> list[DescribedTable]:
    """Every seed: what is decided, not measured."""
    docs = _docs_blocks()
    return [
        _described(seed, docs, schema="policy")
        for file in sorted((dbt_project() / "seeds").rglob("*.yml"))
        for seed in _yaml(file)["seeds"]
    ]


def raw() -> list[DescribedTable]:
    """Every table that raw.sql makes, in its order."""
    sql = resources.files("ingest.raw").joinpath("raw.sql").read_text("utf-8")
    texts = _source_texts()
    tables = []
    for comment, name, body in _RAW_TABLE.findall(sql):
        text = " ".join(line.lstrip("- ") for line in comment.splitlines())
        columns = [
            DescribedColumn(
                found["name"],
                found["type"],
                _raw_text(name, found["name"], found["comment"]),
            )
            for found in _RAW_COLUMN.finditer(body)
        ]
        tables.append(
            DescribedTable("raw", name, sentence(text or texts[name]), columns)
        )
    return tables


def readers() -> list[Exposure]:
    """What reads the marts: reports, commands, the gate."""
    exposures = _yaml(dbt_project() / "models" / "exposures.yml")["exposures"]
    return [
        Exposure(
            one["label"],
            sentence(one["description"]),
            [_REF.sub(r"\1", name) for name in one["depends_on"]],
        )
        for one in exposures
    ]


def sentence(text: str) -> str:
    """A description on one line, with a full stop."""
    text = " ".join(text.split()).replace("`None`", "null")
    return text if text.endswith((".", ":", "…")) or not text else text + "."


_REF = re.compile(r"ref\(['\"](\w+)['\"]\)")
_RAW_TABLE = re.compile(
    r"((?:^-- [^\n]*\n)*)create table if not exists raw\.(\w+) \(\n(.*?)\n\);",
    re.MULTILINE | re.DOTALL,
)
_RAW_COLUMN = re.compile(
    r'^ +"?(?P<name>\w+)"? (?P<type>\w+)(?: not null)?,?(?: +-- (?P<comment>.*))?$',
    re.MULTILINE,
)


def _raw_text(table: str, column: str, comment: str | None) -> str:
    own = TEXTS.get(f"{table}.{column}")
    if comment or own:
        return sentence(comment or own or "")
    for contract in CONTRACTS.get(table, ()):
        found = contract.model_fields.get(column)
        if found is not None and found.description:
            text = found.description.removeprefix("Ours: ")
            return sentence(text.replace("``", "`"))
    return sentence(TEXTS.get(column, ""))


def _source_texts() -> dict[str, str]:
    file = dbt_project() / "models" / "staging" / "_raw__sources.yml"
    tables = _yaml(file)["sources"][0]["tables"]
    own = {"schema_versions": "One version of the raw layer."}
    return own | {table["name"]: table["description"] for table in tables}


def _described(
    node: dict[str, Any], docs: Mapping[str, str], *, schema: str, group: str = ""
) -> DescribedTable:
    types = node.get("config", {}).get("column_types", {})
    columns = [
        DescribedColumn(
            column["name"],
            column.get("data_type") or types.get(column["name"], ""),
            sentence(_with_docs(column.get("description", ""), docs)),
        )
        for column in node["columns"]
    ]
    return DescribedTable(
        schema,
        node["name"],
        sentence(node["description"]),
        columns,
        group,
        keys=_key_test(node).get("key", []),
        rules=list(_rules(node)),
    )


def _key_test(node: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the data test of its key and its parents."""
    found = (test["keys"] for test in node.get("data_tests", ()) if "keys" in test)
    return next((test["arguments"] for test in found), {})


def _rules(node: dict[str, Any]) -> Iterator[str]:
    for rule in _key_test(node).get("belongs_to", ()):
        columns = ", ".join(f"`{name}`" for name in rule["columns"])
        yield f"{columns} is in `{rule['parent']}`"
    for constraint in node.get("constraints", ()):
        if "name" in constraint:
            yield constraint["name"].replace("_", " ")


def _docs_blocks() -> dict[str, str]:
    """Name → text of every ``{% docs %}`` block of the project."""
    pattern = re.compile(r"{% docs (\w+) %}\n(.*?)\n{% enddocs %}", re.DOTALL)
    files = sorted((dbt_project() / "models").rglob("*.md"))
    texts = (file.read_text("utf-8") for file in files)
    return dict(pair for text in texts for pair in pattern.findall(text))


def _with_docs(text: str, docs: Mapping[str, str]) -> str:
    reference = re.compile(r"{{ doc\([\"'](\w+)[\"']\) }}")
    return reference.sub(lambda found: docs[found[1]], text)


def _yaml(file: Path) -> dict[str, Any]:
    loaded = yaml.safe_load(file.read_text("utf-8"))
    assert isinstance(loaded, dict), file
    return loaded
