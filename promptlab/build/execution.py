"""Run a plan: one connection, one transaction, data tests before the commit.

Readers see either the old or the new marts. A failed test, a kill or a full disk leaves
the warehouse unchanged. DuckDB's options depend on the amount of data. If a row
violates a contract, DuckDB only names the rule and aborts the transaction: the parents
of the model are computed again, and each rule is run as a test that returns the rows.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
import msgspec

from promptlab.build import plan
from promptlab.build.comments import comments_in
from promptlab.build.plan import STEPS, Node
from promptlab.database import is_of_the_file, plan_quickly, write_quickly
from promptlab.errors import BuildError
from promptlab.ingest.raw import is_small
from promptlab.ingest.raw.requests import are_settings_kept
from promptlab.relations import comment_sql, dictionaries, has_relation
from promptlab.version import __version__

if TYPE_CHECKING:
    from promptlab.build.plan import Plan
    from promptlab.settings import Settings


OnNode = Callable[[str, int, int], None]
"""Called before each node with its name, its position from 1, and their number."""

_ROWS_SHOWN = 3


def execute(
    con: duckdb.DuckDBPyConnection,
    plan: Plan,
    *,
    full_refresh: bool = False,
    lang: str = "en",
    on_node: OnNode = lambda _name, _place, _of: None,
) -> None:
    """Run a plan inside the transaction that *con* is in, and record the build.

    *lang* is that of the comments on tables that the build makes.

    Raises:
        BuildError: names the model or test that failed, with its first rows; or the
            stored tables were built by a different version of the models.
        BrokenContract: a row violates a model's contract; the transaction accepts no
            more statements.
    """
    relations = _relations(con)
    existing = {name: kind for name, kind, _ in relations}
    rebuild = full_refresh or _is_first(con, plan, existing)
    if rebuild:
        for statement in plan.forget:
            con.execute(statement)
    for schema in {node.schema for node in plan.nodes if node.schema} - {STEPS}:
        con.execute(f'create schema if not exists "{schema}"')
    queries = _Queries(plan)
    # only raw tables may have got rows in this transaction
    rows = _Rows(
        con,
        {
            name: has_rows
            for name, kind, has_rows in relations
            if has_rows or (kind == "table" and not name.startswith('"raw".'))
        },
    )
    for place, node in enumerate(plan.nodes, 1):
        is_empty = any(not any(map(rows.has_rows, tables)) for tables in node.empty_if)
        on_node(node.name, place, len(plan.nodes))
        try:
            if node.kind == "test":
                if not is_empty:
                    _test(con, node, queries.sql(node))
            else:
                _write(
                    con,
                    node,
                    queries.sql(node),
                    existing.get(node.relation),
                    rows,
                    rebuild=rebuild,
                    is_empty=is_empty,
                )
        except duckdb.ConstraintException as error:
            raise BrokenContract(node, str(error)) from None
        except duckdb.Error as error:
            if is_of_the_file(error):
                raise
            raise BuildError(f"{node.kind} {node.name}: {error}") from None
    _comment(con, plan, lang)
    _remember(con, plan, full_refresh=full_refresh)
    _drop_steps(con, plan, existing)


class _Queries:
    """The queries of a plan, with the query of a view of steps in place of its name."""

    def __init__(self, plan: Plan) -> None:
        self._views = {
            node.name: node
            for node in plan.nodes
            if node.is_step and node.kind == "view"
        }

    def sql(self, node: Node) -> str:
        """Return the query of a node."""
        return _STEP.sub(self._in_place, node.query)

    def _in_place(self, name: re.Match[str]) -> str:
        view = self._views.get(name[1])
        return name[0] if view is None else f"({self.sql(view)})"


_STEP = re.compile(rf'"{STEPS}"\."(\w+)"')


def _drop_steps(
    con: duckdb.DuckDBPyConnection, plan: Plan, existing: dict[str, str]
) -> None:
    """Drop the tables of steps, and those that dbt wrote to the file."""
    for node in plan.nodes:
        if node.is_step:
            if node.kind == "table":
                con.execute(f"drop table {node.relation}")
            stored = f'"intermediate"."{node.name}"'
            if kind := existing.get(stored):
                con.execute(f"drop {kind} {stored}")


def store_steps(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Create the tables of steps without rows, and their views, as dbt expects them.

    The next build by a plan drops them.
    """
    con.execute("create schema if not exists intermediate")
    for node in plan.nodes:
        if node.is_step:
            name = f'"intermediate"."{node.name}"'
            if node.kind == "table":
                columns = ", ".join(node.columns)
                con.execute(f"create table if not exists {name} ({columns})")
            else:
                query = _STEP.sub(r'"intermediate"."\1"', node.query)
                con.execute(f"create view if not exists {name} as {query}")


class _Rows:
    """Writes the rows of tables, and knows which tables have any.

    *known* are tables, and whether they have rows. Others are queried once, and after
    a deletion.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, known: dict[str, bool]) -> None:
        self._con = con
        self._known = known

    def has_rows(self, relation: str) -> bool:
        """Return true if a table has rows."""
        if relation not in self._known:
            row = self._con.execute(f"select 1 from {relation} limit 1").fetchone()
            self._known[relation] = row is not None
        return self._known[relation]

    def create(self, relation: str, columns: list[str], kind: str = "table") -> None:
        """Create a table without rows, or replace it."""
        definition = ",\n".join(columns)
        self._con.execute(f"create or replace {kind} {relation} ({definition})")
        self._known[relation] = False

    def insert(self, relation: str, query: str) -> None:
        """Add the rows of a query to a table."""
        statement = f"insert into {relation} by name {query}"
        (count,) = self._con.execute(statement).fetchall()[0]
        if count:
            self._known[relation] = True

    def delete(self, relation: str, condition: str) -> None:
        """Delete some rows of a table."""
        if self.has_rows(relation):
            statement = f"delete from {relation} where {condition}"
            (count,) = self._con.execute(statement).fetchall()[0]
            if count:
                del self._known[relation]

    def clear(self, relation: str) -> None:
        """Delete all rows of a table."""
        if self.has_rows(relation):
            self._con.execute(f"truncate table {relation}")
            self._known[relation] = False


def _relations(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str, bool]]:
    """Return the existing relations.

    Returns:
        Quoted name; ``table`` or ``view``; true for a table with stored rows. Rows
        that the current transaction added are not counted yet.
    """
    rows = con.execute(
        "select schema_name, table_name, 'table', estimated_size > 0"
        " from duckdb_tables()"
        " where database_name = current_database() union all"
        " select schema_name, view_name, 'view', false from duckdb_views()"
        " where database_name = current_database() and not internal"
    ).fetchall()
    return [(f'"{schema}"."{name}"', *rest) for schema, name, *rest in rows]


def _is_first(
    con: duckdb.DuckDBPyConnection, plan: Plan, existing: dict[str, str]
) -> bool:
    """Return true if nothing was built; otherwise require tables of the same logic."""
    last = con.execute(
        "select project_hash from raw.builds order by rowid desc limit 1"
    ).fetchone()
    if last is None:
        return True
    if last[0] != plan.project_hash:
        raise BuildError(
            "the models, seeds or macros have changed since this warehouse was built:"
            " build it again from its raw tables with --full-refresh"
        )
    missing = [
        node.name
        for node in plan.nodes
        if node.kind == "incremental" and node.relation not in existing
    ]
    if missing:
        raise BuildError(
            f"these tables are gone: {', '.join(missing)}."
            " Build them again from the raw tables with --full-refresh"
        )
    return False


def _write(
    con: duckdb.DuckDBPyConnection,
    node: Node,
    query: str,
    existing: str | None,
    rows: _Rows,
    *,
    rebuild: bool,
    is_empty: bool,
) -> None:
    """Write a view, or the rows of a seed, a model or a step to its table."""
    kind = "view" if node.kind == "view" else "table"
    name = node.relation
    is_kept = existing == kind and not rebuild
    if node.is_step and kind == "view":
        return
    if is_kept and node.kind in {"seed", "view"}:
        return
    if existing not in (None, kind):
        con.execute(f"drop {existing} {name}")
    if kind == "view":
        con.execute(f"create or replace view {name} as {query}")
        return
    if node.is_step:
        rows.create(name, node.columns, "temporary table")
    elif not is_kept:
        rows.create(name, node.columns)
    elif node.kind == "incremental":
        assert node.replaced is not None
        rows.delete(name, node.replaced)
    else:
        rows.clear(name)
    if not is_empty:
        rows.insert(name, query)


def _test(con: duckdb.DuckDBPyConnection, node: Node, query: str) -> None:
    (count,) = con.execute(f"select count(*) from ({query})").fetchall()[0]
    if count:
        rows = dictionaries(con, f"from ({query}) limit {_ROWS_SHOWN}")
        raise BuildError(
            "\n".join(
                [f"data test {node.name} fails for {count} row(s)", *map(str, rows)]
            )
        )


def _comment(con: duckdb.DuckDBPyConnection, plan: Plan, lang: str) -> None:
    """Add comments to marts and columns; a table that was replaced has none."""
    rows = con.execute(
        "select table_name, comment, 'table' from duckdb_tables()"
        " where schema_name = 'marts' union all"
        " select view_name, comment, 'view' from duckdb_views()"
        " where schema_name = 'marts'"
    ).fetchall()
    kinds = {name: kind for name, comment, kind in rows if comment is None}
    translations = comments_in(lang) if kinds else {}
    for mart in plan.comments:
        if kind := kinds.get(mart.name):
            relation = f'"marts"."{mart.name}"'
            text = translations.get(mart.text, mart.text)
            con.execute(comment_sql(relation, None, text, kind))
            for column, english in mart.columns.items():
                text = translations.get(english, english)
                con.execute(comment_sql(relation, column, text))


def _remember(
    con: duckdb.DuckDBPyConnection, plan: Plan, *, full_refresh: bool
) -> None:
    facts = {
        "is_full_refresh": full_refresh,
        "promptlab_version": __version__,
        "build_id": str(uuid.uuid4()),
    }
    for statement in plan.remember:
        con.execute(statement, {k: v for k, v in facts.items() if f"${k}" in statement})


def tune(con: duckdb.DuckDBPyConnection) -> None:
    """Set options until *con* is closed, which writes the result to disk."""
    con.execute("set preserve_insertion_order = false")
    if is_small(con):
        plan_quickly(con)
        write_quickly(con)


_ROW_RULE = re.compile(r"(?:constraint (?P<name>\w+) )?check \((?P<rule>.*)\)")
_COLUMN_DEFINITION = re.compile(
    r"(?P<column>\w+) .*?(?P<not_null> not null)?(?: check \((?P<rule>.*)\))?"
)


class BrokenContract(BuildError):
    """A row of a model violates a rule of its contract."""

    def __init__(self, node: Node, message: str) -> None:
        """Store the model and DuckDB's message."""
        super().__init__(f"{node.kind} {node.name}: {message}")
        self.node = node


def plan_that_names_rows(plan: Plan, node: Node) -> Plan:
    """Return the plan up to a model, with each rule of its contract as a data test."""
    before = plan.nodes[: plan.nodes.index(node)]
    return msgspec.structs.replace(plan, nodes=[*before, *_rules_as_tests(node)])


def _rules_as_tests(node: Node) -> Iterator[Node]:
    for name, rule in _rules(node.columns):
        yield Node(
            name=f"{name} of {node.name}",
            kind="test",
            sql=["select * from (", *node.sql, f") where not ({rule})"],
        )


def _rules(columns: list[str]) -> Iterator[tuple[str, str]]:
    """Return name and condition of each rule; the default name is the condition."""
    for line in columns:
        if match := _ROW_RULE.fullmatch(line):
            yield match["name"] or f"`{match['rule']}`", match["rule"]
        elif match := _COLUMN_DEFINITION.fullmatch(line):
            if match["not_null"]:
                rule = f"{match['column']} is not null"
                yield f"`{rule}`", rule
            if match["rule"]:
                yield f"`{match['rule']}`", match["rule"]


# ---------- the record that each build writes at its end


_LAST_BUILD = """
    with

    last as (

        select *
        from raw.builds
        order by rowid desc
        limit 1

    ),

    compared as (

        select
            built_at,
            project_hash,
            last_load_id >= coalesce((select max(load_id) from raw.loads), 0)
            and (select count(*) from raw.comparison_builds) = n_tasks
            and (select count(*) from raw.task_builds) = n_tasks as has_tasks,
            not exists (from raw.accepts where accepted_at > built_at)
            and not exists (
                from raw.requested_comparisons where requested_at > built_at
            ) as has_comparisons

        from last
        cross join (
            select count(*) as n_tasks
            from (
                select task_id from live.tasks
                union
                select run_id
                from raw.memory_runs semi join live.objects using (load_id)
            )
        )

    )

    select
        project_hash,
        has_tasks and has_comparisons as has_all

    from compared
"""


@dataclass(frozen=True)
class LastBuild:
    """The newest build of a warehouse."""

    has_all: bool
    """True if nothing to build was added or deleted since."""
    is_of_this_project: bool
    """True if it ran the current models, seeds and macros."""


def last_build(con: duckdb.DuckDBPyConnection, settings: Settings) -> LastBuild | None:
    """Return the newest finished build, or ``None``."""
    if not has_relation(con, "live.tasks"):
        return None
    row = con.execute(_LAST_BUILD).fetchone()
    if row is None:
        return None
    project_hash, has_all = row
    return LastBuild(
        has_all=has_all and are_settings_kept(con, settings),
        is_of_this_project=project_hash == plan.load().project_hash,
    )
