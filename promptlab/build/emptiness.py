"""Find the tables that have to be empty for a query to return no rows.

Most warehouses use a part of the models: no labels, no memory benchmarks, no re-checks.
A build knows which tables are empty and does not run what would read only those.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeAlias

import duckdb

Tables: TypeAlias = frozenset[str]
"""Quoted names of tables. The query returns no rows if all of them are empty."""


class Emptiness:
    """Reads queries as DuckDB parses them; an unknown construct may return rows."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        """Ask DuckDB for its aggregate functions; *con* parses the queries."""
        self._con = con
        names = con.execute(
            "select distinct function_name from duckdb_functions()"
            " where function_type = 'aggregate'"
        ).fetchall()
        self._aggregates = {name for (name,) in names}
        self._views: dict[str, list[Tables]] = {}

    def add_view(self, relation: str, query: str) -> None:
        """Make later queries look through a view."""
        self._views[relation] = self.of(query)

    def of(self, query: str) -> list[Tables]:
        """Return sets of tables: no rows if all tables of any one set are empty."""
        sql = "select json_serialize_sql(?)"
        (text,) = self._con.execute(sql, [query]).fetchall()[0]
        return self._node(json.loads(text)["statements"][0]["node"], {})

    def _node(self, node: Any, outer: dict[str, list[Tables]]) -> list[Tables]:
        ctes = dict(outer)
        for cte in node["cte_map"]["map"]:
            ctes[cte["key"]] = self._node(cte["value"]["query_node"], ctes)
        if node["type"] == "SELECT_NODE" and not self._is_total(node):
            return _either(
                self._source(node["from_table"], ctes)
                + self._condition(node["where_clause"], ctes)
            )
        if node["type"] == "SET_OPERATION_NODE":
            parts = [self._node(child, ctes) for child in node["children"]]
            if node["setop_type"] in {"UNION", "UNION_BY_NAME"}:
                return _all(parts)
        return []

    def _is_total(self, node: Any) -> bool:
        """Return true for a select that returns a row for no rows, as ``count(*)``."""
        if node["group_sets"] or node["group_expressions"]:
            return not all(node["group_sets"])
        return self._aggregate_in([node["select_list"], node["having"]])

    def _aggregate_in(self, tree: Any) -> bool:
        if isinstance(tree, list):
            return any(map(self._aggregate_in, tree))
        if not isinstance(tree, dict) or tree.get("class") == "SUBQUERY":
            return False
        is_function = tree.get("class") == "FUNCTION"
        return (is_function and tree["function_name"] in self._aggregates) or any(
            map(self._aggregate_in, tree.values())
        )

    def _source(self, source: Any, ctes: dict[str, list[Tables]]) -> list[Tables]:
        match source["type"]:
            case "BASE_TABLE" if not source["schema_name"]:
                return ctes.get(source["table_name"], [])
            case "BASE_TABLE":
                name = f'"{source["schema_name"]}"."{source["table_name"]}"'
                return self._views.get(name, [frozenset({name})])
            case "SUBQUERY":
                return self._node(source["subquery"]["node"], ctes)
            case "JOIN":
                left = self._source(source["left"], ctes)
                right = self._source(source["right"], ctes)
                match source["join_type"]:
                    case "INNER" | "SEMI" if source["ref_type"] != "POSITIONAL":
                        return left + right
                    case "LEFT" | "ANTI":
                        return left
                    case "FULL":
                        return _all([left, right])
        return []

    def _condition(self, test: Any, ctes: dict[str, list[Tables]]) -> list[Tables]:
        """Return the sets of ``in (select …)`` and ``exists (…)``."""
        match test:
            case {"type": "CONJUNCTION_AND", "children": children}:
                return [each for one in children for each in self._condition(one, ctes)]
            case {"type": "CONJUNCTION_OR", "children": children}:
                return _all([self._condition(one, ctes) for one in children])
            case {"type": "SUBQUERY", "subquery_type": "ANY" | "EXISTS"}:
                return self._node(test["subquery"]["node"], ctes)
        return []


def _either(groups: Iterable[Tables]) -> list[Tables]:
    """Return the groups without those that contain another."""
    least: list[Tables] = []
    for group in sorted(set(groups), key=lambda group: (len(group), sorted(group))):
        if not any(other <= group for other in least):
            least.append(group)
    return least


def _all(parts: list[list[Tables]]) -> list[Tables]:
    """Return the groups of a query that is empty if all its parts are."""
    groups: list[Tables] = [frozenset()]
    for part in parts:
        groups = _either(group | other for group in groups for other in part)
    return groups
