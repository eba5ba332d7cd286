"""A DuckDB file of another program is never changed."""

from __future__ import annotations

import duckdb
import pytest

from promptlab.errors import SettingsError
from promptlab.operations.purge import purge
from promptlab.warehouse import Warehouse
from tests.conftest import EXAMPLES


@pytest.mark.parametrize("table", ["main.x", "raw.tasks"])
@pytest.mark.parametrize(
    "call",
    [
        lambda warehouse: warehouse.ingest(EXAMPLES),
        lambda warehouse: warehouse.build(),
        lambda warehouse: warehouse.result(),
        lambda warehouse: purge(warehouse, tasks=["x"]),
    ],
    ids=["ingest", "build", "result", "purge"],
)
def test_a_foreign_database_is_refused_and_left_as_it_is(tmp_path, table, call):
    db = tmp_path / "theirs.duckdb"
    with duckdb.connect(str(db)) as con:
        con.execute(f"create schema if not exists {table.split('.')[0]}")
        con.execute(f"create table {table} (a int)")
    before = db.read_bytes()
    with pytest.raises(SettingsError, match="a database of something else"):
        call(Warehouse(db))
    assert db.read_bytes() == before
