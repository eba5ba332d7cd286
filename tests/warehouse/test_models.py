"""Every unit test of the models, by the SQL that a build runs.

dbt takes a quarter of a second for each. Here a model reads temporary tables in place
of its inputs, as ``promptlab dbt build --selector everything`` does it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from promptlab.build import plan
from promptlab.paths import dbt_project

UNIT_TESTS: list[dict[str, Any]] = [
    unit_test
    for file in sorted((dbt_project() / "models").rglob("*.yml"))
    for unit_test in yaml.load(file.read_bytes(), yaml.CSafeLoader).get(
        "unit_tests", []
    )
]
RELATION = re.compile(r'"(\w+)"\."(\w+)"')
OF_A_BUILD = re.compile(r"\S+ in \(select to_build\.\w+ from \S+ as to_build\)")
"""`in_this_build`, which is true in a unit test."""


@pytest.fixture(scope="module")
def con(example_db: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The types of columns are those of a warehouse; its rows are not read."""
    with duckdb.connect(str(example_db), read_only=True) as con:
        con.execute("set TimeZone = 'UTC'")
        con.execute("set threads = 1")
        yield con


@pytest.fixture(scope="module")
def nodes() -> dict[str, plan.Node]:
    return {
        f"live_{node.name}" if node.schema == "live" else node.name: node
        for node in plan.load().nodes
        if node.schema is not None
    }


@pytest.fixture(scope="module")
def types(con) -> dict[str, dict[str, str]]:
    """Models → types of their columns: of steps, and of those that a test asked."""
    steps = [node for node in plan.load().nodes if node.is_step]
    with con.cursor() as cursor:
        for step in steps:
            what = (
                f"view {step.relation} as {step.query}"
                if step.kind == "view"
                else f"table {step.relation} ({', '.join(step.columns)})"
            )
            cursor.execute(f"create temporary {what}")
        return {step.name: types_of(cursor, f"from {step.relation}") for step in steps}


@pytest.mark.parametrize(
    "unit_test",
    [
        pytest.param(unit_test, id=f"{unit_test['model']}: {unit_test['name']}")
        for unit_test in UNIT_TESTS
    ],
)
def test_a_model_gives_what_its_unit_test_expects(con, nodes, types, unit_test):
    query = OF_A_BUILD.sub("true", nodes[unit_test["model"]].query)
    given = {re.findall(r"'(\w+)'", g["input"])[-1]: g for g in unit_test["given"]}
    with con.cursor() as cursor:
        for schema, name in {*RELATION.findall(query)}:
            node = f"live_{name}" if schema == "live" else name
            if "rows" in given.get(node, {}):
                if node not in types:
                    types[node] = types_of(cursor, f'from "{schema}"."{name}"')
                fill(cursor, node, types[node], given[node])
                query = query.replace(f'"{schema}"."{name}"', f'temp."{node}"')
            else:
                assert nodes[name].kind == "seed", f"{name} needs rows"
        cursor.execute(f"create or replace temp table actual as {query}")
        found = types_of(cursor, "from temp.actual")
        columns = fill(cursor, "expected", found, unit_test["expect"])
        names = ", ".join(f'"{column}"' for column in columns)
        actual, expected = (
            cursor.execute(f"select {names} from temp.{table} order by all").fetchall()
            for table in ("actual", "expected")
        )
    assert actual == expected


def types_of(con: duckdb.DuckDBPyConnection, query: str) -> dict[str, str]:
    return {
        name: kind for name, kind, *_ in con.execute(f"describe {query}").fetchall()
    }


def fill(
    con: duckdb.DuckDBPyConnection, table: str, types: dict[str, str], rows: Any
) -> list[str]:
    """Make a table of rows as a unit test writes them, and return the columns that
    they name."""
    columns = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
    con.execute(f'create or replace temp table "{table}" ({columns})')
    lines = rows["rows"]
    if rows.get("format") == "sql":
        con.execute(f'insert into temp."{table}" by name {lines}')
        return list(types_of(con, lines))
    if rows.get("format") == "csv":
        lines = [
            {name: value or None for name, value in line.items()}
            for line in csv.DictReader(io.StringIO(lines))
        ]
    for line in lines:
        names = ", ".join(f'"{name}"' for name in line)
        values = ", ".join(f"cast(? as {types[name]})" for name in line)
        con.execute(
            f'insert into temp."{table}" ({names}) values ({values})',
            list(line.values()),
        )
    return list(lines[0]) if lines else list(types)
