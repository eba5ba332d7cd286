"""The schema `live`: what counts of the raw tables, as dbt's models of it say.

A build writes it, and every load, so that it can be read before a build. Its tables are
computed whole each time: a load that is killed leaves nothing to put right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from promptlab.database import has_relation
from promptlab.ingest.raw.tables import roll_back

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


class Live:
    """The models of the schema in one warehouse."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, models: Sequence[LiveModel]
    ) -> None:
        """Create what is missing, and compute what a killed load has not."""
        self._con = con
        self._models = models
        if not has_relation(con, "live.objects"):
            self._create()
        elif self._is_stale():
            self.refresh()

    def _create(self) -> None:
        """Create all of them, or none."""
        self._con.begin()
        try:
            self._con.execute("create schema if not exists live")
            for model in self._models:
                self._con.execute(
                    f"create or replace {model.kind} {model.relation} as {model.query}"
                )
            self._con.commit()
        except BaseException:
            roll_back(self._con)
            raise

    def _is_stale(self) -> bool:
        row = self._con.execute(
            "select (select max(load_id) from raw.objects)"
            " is distinct from (select max(load_id) from live.objects)"
        ).fetchone()
        return bool(row and row[0])

    def refresh(self) -> None:
        """Compute the tables after raw tables have changed."""
        for model in self._models:
            if model.kind == "table":
                self._con.execute(f"delete from {model.relation}")
                self._con.execute(f"insert into {model.relation} by name {model.query}")
