"""Compile the dbt project into a plan: the only step of a build that needs dbt.

dbt resolves names, renders templates, orders nodes and writes constraints. This module
reads its output and removes the name of the database from it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import duckdb

from promptlab.build.dbt import invoke
from promptlab.build.descriptions import read_descriptions
from promptlab.build.emptiness import Emptiness
from promptlab.build.plan import Node, Plan, sources_hash
from promptlab.database.connection import open_duckdb
from promptlab.settings import Settings

# A name that occurs nowhere in the project, so it can be removed from every relation.
_DATABASE = "promptlab_compiles_its_plan"

_RUN = {"seed", "model", "test"}
_TABLES = {"table", "incremental"}


def compile_plan(project: Path) -> Plan:
    """Let dbt compile the project, with an empty database.

    Raises:
        BuildError: dbt rejects the project.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(db=Path(folder) / f"{_DATABASE}.duckdb")

        def dbt(*call: str, manifest: Any = None) -> Any:
            return invoke(
                settings, [*call, "--quiet"], target=Path(folder), manifest=manifest
            )

        manifest = dbt("parse").result
        dbt("seed", manifest=manifest)
        compiled = dbt("compile", manifest=manifest).result.results
        nodes = dict(manifest.nodes) | {r.node.unique_id: r.node for r in compiled}
        words = json.loads(_unqualified(nodes["analysis.promptlab.plan"].compiled_code))
        nodes = {k: node for k, node in nodes.items() if node.resource_type in _RUN}
        return Plan(
            sources_hash=sources_hash(project),
            project_hash=words["project_hash"],
            forget=words["forget"],
            remember=words["remember"],
            nodes=list(_nodes(_Graph(nodes), words, settings.db)),
            descriptions=read_descriptions(manifest),
        )


class _Graph:
    """The nodes by id, and their parents."""

    def __init__(self, nodes: dict[str, Any]) -> None:
        self.nodes = nodes

    def parents(self, key: str) -> list[str]:
        """Return the nodes that it reads, in order of name."""
        return sorted(p for p in self.nodes[key].depends_on_nodes if p in self.nodes)

    def ordered(self) -> list[str]:
        """Return the nodes in order: parents first, tests as early as possible."""
        models = [k for k, n in sorted(self.nodes.items()) if n.resource_type != "test"]
        tests = [k for k, n in sorted(self.nodes.items()) if n.resource_type == "test"]
        placed: dict[str, None] = {}

        def place(key: str) -> None:
            if key in placed:
                return
            for parent in self.parents(key):
                place(parent)
            placed[key] = None
            for test in tests:
                if test not in placed and placed.keys() >= set(self.parents(test)):
                    placed[test] = None

        for key in models:
            place(key)
        assert placed.keys() == self.nodes.keys()
        return list(placed)


def _nodes(graph: _Graph, words: dict[str, Any], db: Path) -> Iterator[Node]:
    with open_duckdb(db, read_only=True) as seeds:
        emptiness = Emptiness(seeds)
        for key in graph.ordered():
            node = graph.nodes[key]
            kind: Literal["seed", "view", "table", "incremental", "test"]
            if node.resource_type == "seed":
                kind, sql = "seed", _rows_of_seed(seeds, node)
            elif node.resource_type == "test":
                _check_plain(node)
                kind, sql = "test", node.compiled_code
            else:
                kind, sql = node.config.materialized, node.compiled_code
            sql = _unqualified(sql).strip()
            if kind == "view":
                emptiness.add_view(f'"{node.schema}"."{node.alias}"', sql)
            empty_if = emptiness.of(sql) if kind not in {"seed", "view"} else []
            yield Node(
                name=node.name if kind == "test" else node.alias,
                kind=kind,
                sql=sql.splitlines(),
                schema=None if kind == "test" else node.schema,
                empty_if=[sorted(tables) for tables in empty_if],
                is_of_one_build=kind == "table"
                and node.schema == "intermediate"
                and not node.config.unique_key,
                contract=_contract(node) if kind in _TABLES else [],
                key=node.config.get("unique_key") if kind in _TABLES else None,
                batch=node.config.meta.get("batch") if kind in _TABLES else None,
                mentions=node.config.meta.get("mentions", []),
                replaced=words["replaced"].get(node.name),
            )


def _contract(node: Any) -> list[str]:
    """Return the definition of its columns, as dbt's adapter writes it."""
    if not node.config.contract.enforced:
        return []
    from dbt.adapters.duckdb.impl import DuckDBAdapter

    columns = {name: column.to_dict() for name, column in node.columns.items()}
    rules = [constraint.to_dict() for constraint in node.constraints]
    return [
        *DuckDBAdapter.render_raw_columns_constraints(raw_columns=columns),
        *DuckDBAdapter.render_raw_model_constraints(raw_constraints=rules),
    ]


def _check_plain(test: Any) -> None:
    """Check that a test expects no rows, the only kind of test in a plan."""
    plain = {"severity": "ERROR", "fail_calc": "count(*)", "error_if": "!= 0"}
    found = {name: getattr(test.config, name) for name in plain}
    assert found == plain and test.config.limit is None, f"{test.name}: {found}"


def _rows_of_seed(con: duckdb.DuckDBPyConnection, node: Any) -> str:
    """Return a query for the rows of a seed with the types that dbt loaded."""
    table = con.table(f'"{node.schema}"."{node.alias}"')
    columns = [
        f'cast("{name}" as {data_type}) as "{name}"'
        for name, data_type in zip(table.columns, table.types, strict=True)
    ]
    rows = ",\n".join(f"({', '.join(map(_literal, row))})" for row in table.fetchall())
    names = ", ".join(f'"{name}"' for name in table.columns)
    return f"select {', '.join(columns)}\nfrom (values\n{rows}\n) as t ({names})"


def _literal(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)


def _unqualified(sql: str) -> str:
    return sql.replace(f'"{_DATABASE}".', "").replace(f'\\"{_DATABASE}\\".', "")
