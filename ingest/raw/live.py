"""The schema `live`: what counts of the raw tables, as dbt's models of it say.

A build writes it, and every load, so that it can be read before a build. Its tables are
computed whole each time: a load that is killed leaves nothing to put right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from promptlab.ingest.raw.catalogue import RawTable
from promptlab.relations import has_relation, transaction

if TYPE_CHECKING:
    import duckdb


class LiveModel(Protocol):
    """A compiled model of the schema."""

    @property
    def kind(self) -> str:
        """Return ``table`` or ``view``."""

    @property
    def relation(self) -> str:
        """Return its quoted name."""

    @property
    def query(self) -> str:
        """Return its SQL."""


def ensure_live(con: duckdb.DuckDBPyConnection, models: Sequence[LiveModel]) -> None:
    """Create the schema if it is missing, and compute what a killed load has not."""
    if not has_relation(con, "live.objects"):
        with transaction(con):
            con.execute("create schema if not exists live")
            for model in models:
                con.execute(
                    f"create or replace {model.kind} {model.relation} as {model.query}"
                )
        return
    [(is_stale,)] = con.execute(
        "select (select max(load_id) from raw.objects)"
        " is distinct from (select max(load_id) from live.objects)"
    ).fetchall()
    if is_stale:
        refresh(con, models)


def refresh(con: duckdb.DuckDBPyConnection, models: Sequence[LiveModel]) -> None:
    """Compute the tables of the schema after raw tables have changed."""
    for model in models:
        if model.kind == "table":
            con.execute(f"delete from {model.relation}")
            con.execute(f"insert into {model.relation} by name {model.query}")


def is_live(table: RawTable) -> str:
    """Return the condition of the rows of a raw table that count."""
    if table.owner is None:
        return _WITHOUT_OWNER.get(table.name, "true")
    kind = table.owner.kind
    if kind not in ("task", "scores"):  # each of its loads has one object
        return _IS_OF_LIVE_LOAD
    condition = (
        "(load_id, task_id) in (select (load_id, object_id) from live.objects"
        f" where kind = '{kind}')"
    )
    if key := _SUPERSEDED_BY.get(table.name):
        is_case = "is" if table.name == "cases" else "is not"
        condition += (
            f" and ({key}) not in (select ({key}) from live.superseded"
            f" where round_id {is_case} null)"
        )
    return condition


_IS_OF_LIVE_LOAD = "load_id in (select load_id from live.objects)"

_WITHOUT_OWNER = {
    "judged_answers": _IS_OF_LIVE_LOAD,
    # the newest version of a file may be rejected as a whole
    "rejects": f"({_IS_OF_LIVE_LOAD} or load_id in"
    " (select max(load_id) from raw.loads group by file_uri))",
}

_SUPERSEDED_BY = {
    "cases": "load_id, task_id, case_id",
    "rounds": "load_id, task_id, case_id, round_id",
}
"""Table of which a newer file may have a row, too → its key."""
