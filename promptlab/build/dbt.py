"""Run the bundled dbt project in this process, and compile it into a plan.

Importing dbt takes more than a second, so it is imported on first use. To compile is
the only step of a build that needs dbt: it resolves names, renders templates, orders
nodes and writes constraints.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TextIO, TypeAlias

import duckdb

from promptlab import spark
from promptlab.build.comments import read_comments
from promptlab.build.plan import STEPS, Node, Plan, sources_hash
from promptlab.build.spark_models import compiled_for, rules_hash
from promptlab.database import open_duckdb
from promptlab.errors import BuildError, UsageError
from promptlab.messages import LinesAsEvents
from promptlab.paths import dbt_project, dbt_target, prune_dbt_targets
from promptlab.relations import literal
from promptlab.settings import ENV_PREFIX, Settings
from promptlab.version import __version__


def run_dbt(
    settings: Settings,
    args: Sequence[str] = (),
    *,
    command: str = "build",
    verbose: bool = False,
    output: TextIO | None = None,
) -> Path:
    """Run a dbt command on the warehouse; return the folder of the files it writes.

    What dbt prints goes to stderr, or to *output*.

    Raises:
        BuildError: names every node that failed.
        UsageError: dbt does not understand ``args``.
    """
    if settings.target != "duckdb":
        spark.check(settings.target)
    db = settings.db.resolve()
    target = dbt_target(db, settings.target)
    if settings.target == "duckdb":
        prune_dbt_targets(target, db)
    call = [*command.split(), *([] if verbose else ["--quiet"])]
    if command == "build":
        call.append("--no-write-json")  # takes a second and is unused; `args` may ask
    call += args
    invoke(settings, call, target=target, output=output)
    return target


def invoke(
    settings: Settings,
    call: Sequence[str],
    *,
    target: Path,
    manifest: Any = None,
    output: TextIO | None = None,
) -> Any:
    """Run a dbt command and return its result.

    *target* is the folder for dbt's parse cache and logs; *manifest* the project, if it
    is already parsed; what dbt prints goes to *output*, by default stderr.

    Raises:
        BuildError: names every node that failed.
        UsageError: dbt does not understand the command.
    """
    from dbt.adapters.duckdb.connections import DuckDBConnectionManager
    from dbt.cli.main import dbtRunner

    project = str(dbt_project())
    options = ["--project-dir", project, "--profiles-dir", project]
    options += ["--target-path", str(target), "--log-path", str(target)]
    options += ["--target", settings.target]
    is_text = settings.log_format == "text"
    stream = output or (sys.stderr if is_text else LinesAsEvents("dbt"))
    with (
        _environment(environment_of(settings)),
        compiled_for(settings.target),
        contextlib.redirect_stdout(stream),
    ):
        try:
            result = dbtRunner(manifest=manifest).invoke([*call, *options])
        finally:
            # dbt keeps the file open and locked until the process ends
            DuckDBConnectionManager.close_all_connections()
    if not result.success:
        raise _failure(result, target)
    return result


def environment_of(settings: Settings) -> dict[str, str]:
    """Return the settings for profiles.yml and the models, as environment variables."""
    environment = {
        "PROMPTLAB_DB": str(settings.db.resolve()),
        "PROMPTLAB_VERSION": __version__,
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        ENV_PREFIX + "RAW": "",
        ENV_PREFIX + "RULES": "" if settings.target == "duckdb" else rules_hash(),
    }
    for name in ("threads", "memory_limit", "temp_directory"):
        value = getattr(settings, name)
        if value is not None:
            environment[ENV_PREFIX + name.upper()] = str(value)
    if settings.raw is not None:
        from promptlab.ingest.parquet import ParquetLayer

        environment[ENV_PREFIX + "RAW"] = ParquetLayer.from_address(
            settings.raw
        ).address
    return environment


def _failure(result: Any, target: Path) -> BuildError | UsageError:
    log = target / "dbt.log"
    where = f"\nits log: {log}" if log.exists() else ""
    if result.exception is not None and result.result is None:
        kind = type(result.exception).__name__
        if "Usage" in kind or "NoSuchOption" in kind:
            return UsageError(f"dbt: {result.exception}")
        return BuildError(f"dbt stopped: {result.exception}{where}")
    failed = [
        f"  {r.node.resource_type} {r.node.name}: {' '.join(str(r.message).split())}"
        for r in getattr(result.result, "results", [])
        if str(r.status) in {"error", "fail", "runtime error"}
    ]
    return BuildError(
        "\n".join([f"dbt: {len(failed)} node(s) failed", *failed]) + where
    )


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


# ---------- tables that have to be empty for a query to return no rows


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
        self._views[relation] = self.table_sets(query)

    def table_sets(self, query: str) -> list[Tables]:
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
        if node["aggregate_handling"] == "FORCE_AGGREGATES":  # group by all
            return all(map(self._aggregate_in, node["select_list"]))
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
                return [
                    tables
                    for child in children
                    for tables in self._condition(child, ctes)
                ]
            case {"type": "CONJUNCTION_OR", "children": children}:
                return _all([self._condition(child, ctes) for child in children])
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


# ---------- the plan


# A name that occurs nowhere in the project, so it can be removed from every relation.
_DATABASE = "promptlab_compiles_its_plan"

_RUN = {"seed", "model", "test"}
_TABLES = {"table", "incremental"}


def compile_plan(project: Path) -> Plan:
    """Let dbt compile the project, with an empty database.

    Raises:
        BuildError: dbt rejects the project.
    """
    from promptlab.ingest.raw.tables import ensure_schema

    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(db=Path(folder) / f"{_DATABASE}.duckdb")
        with open_duckdb(settings.db) as con:
            ensure_schema(con, ingest_version=__version__)

        def dbt(*call: str, manifest: Any = None) -> Any:
            options = ["--quiet", "--no-write-json"]
            return invoke(
                settings, [*call, *options], target=Path(folder), manifest=manifest
            )

        manifest = dbt("parse").result
        dbt("seed", manifest=manifest)
        compiled = dbt("compile", manifest=manifest).result.results
        nodes = dict(manifest.nodes) | {r.node.unique_id: r.node for r in compiled}
        analysis = json.loads(
            _unqualified(nodes["analysis.promptlab.plan"].compiled_code)
        )
        nodes = {k: node for k, node in nodes.items() if node.resource_type in _RUN}
        steps = Steps()
        return Plan(
            sources_hash=sources_hash(project),
            nodes=list(_nodes(_Graph(nodes), analysis, settings.db, steps)),
            project_hash=analysis["project_hash"],
            forget=analysis["forget"],
            remember=[steps.renamed(sql) for sql in analysis["remember"]],
            comments=read_comments(manifest),
        )


_INTERMEDIATE = re.compile(r'"intermediate"\."(\w+)"')


class Steps:
    """Intermediate models whose rows no later build reads.

    These are tables without a key, and views of them.
    """

    def __init__(self) -> None:
        self._names: set[str] = set()

    def add(self, node: Any, sql: str) -> bool:
        """Return true if a model is a step, and rename it in the SQL that follows."""
        is_view = node.config.materialized == "view"
        if node.schema != "intermediate" or (
            f'"{STEPS}".' not in sql if is_view else node.config.unique_key
        ):
            return False
        self._names.add(node.alias)
        return True

    def renamed(self, sql: str) -> str:
        """Return SQL with the names that the steps have in a plan."""
        return _INTERMEDIATE.sub(
            lambda name: (
                f'"{STEPS}"."{name[1]}"' if name[1] in self._names else name[0]
            ),
            sql,
        )


class _Graph:
    """The nodes by id, and their parents."""

    def __init__(self, nodes: dict[str, Any]) -> None:
        self.nodes = nodes

    def parents(self, key: str) -> list[str]:
        """Return the nodes that it reads, in order of name."""
        return sorted(p for p in self.nodes[key].depends_on_nodes if p in self.nodes)

    def is_of_seeds(self, key: str) -> bool:
        """Return true if it reads nothing but seeds."""
        kinds = {self.nodes[parent].resource_type for parent in self.parents(key)}
        return kinds == {"seed"}

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


def _nodes(
    graph: _Graph, analysis: dict[str, Any], db: Path, steps: Steps
) -> Iterator[Node]:
    with open_duckdb(db) as con:
        emptiness = Emptiness(con)
        for key in graph.ordered():
            node = graph.nodes[key]
            kind: Literal["seed", "view", "table", "incremental", "test"]
            if node.resource_type == "seed":
                kind, sql = "seed", _rows_of_seed(con, node)
            elif node.resource_type == "test":
                _check_plain(node)
                if graph.is_of_seeds(key):
                    _check_seeds(con, node)
                    continue
                kind, sql = "test", node.compiled_code
            else:
                kind, sql = node.config.materialized, node.compiled_code
            sql = steps.renamed(_unqualified(sql).strip())
            schema = None if kind == "test" else node.schema
            temporary = ""
            if node.resource_type == "model" and steps.add(node, sql):
                schema, temporary = STEPS, "temporary "
            elif schema is not None:
                con.execute(f'create schema if not exists "{schema}"')
            relation = f'"{schema}"."{node.alias}"'
            columns: list[str] = []
            if kind == "view":
                emptiness.add_view(relation, sql)
                con.execute(f"create {temporary}view {relation} as {sql}")
            elif kind in _TABLES:
                columns = _contract(node) or _columns(con, sql)
                definition = ", ".join(columns)
                con.execute(f"create {temporary}table {relation} ({definition})")
            elif kind == "seed":
                columns = _columns(con, sql)
            empty_if = emptiness.table_sets(sql) if kind not in {"seed", "view"} else []
            yield Node(
                name=node.name if kind == "test" else node.alias,
                kind=kind,
                sql=sql.splitlines(),
                schema=schema,
                empty_if=[sorted(tables) for tables in empty_if],
                columns=columns,
                key=node.config.get("unique_key") if kind in _TABLES else None,
                batch=node.config.meta.get("batch") if kind in _TABLES else None,
                mentions=node.config.meta.get("mentions", []),
                replaced=steps.renamed(analysis["replaced"].get(node.name, "")) or None,
            )


def _columns(con: duckdb.DuckDBPyConnection, sql: str) -> list[str]:
    """Return names and types of the columns of a query."""
    described = con.execute(f"describe {sql}").fetchall()
    return [f'"{name}" {data_type}' for name, data_type, *_ in described]


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
    config = {name: getattr(test.config, name) for name in plain}
    assert config == plain and test.config.limit is None, f"{test.name}: {config}"


def _check_seeds(con: duckdb.DuckDBPyConnection, test: Any) -> None:
    """Run a data test of seeds now: no build changes the rows of a plan."""
    query = _unqualified(test.compiled_code)
    if rows := con.execute(query).fetchall():
        raise BuildError(f"data test {test.name} fails for {len(rows)} row(s)")


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
        return literal(value)
    return str(value)


def _unqualified(sql: str) -> str:
    return sql.replace(f'"{_DATABASE}".', "").replace(f'\\"{_DATABASE}\\".', "")
