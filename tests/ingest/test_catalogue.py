"""The catalogue of the raw tables says of each table of ``raw.sql`` what it is."""

from __future__ import annotations

import duckdb
import pytest

from promptlab.ingest import raw
from promptlab.ingest.raw.catalogue import RAW_TABLES


@pytest.fixture(scope="module")
def columns() -> dict[str, list[str]]:
    """Raw table → its columns, in the order of ``raw.sql``."""
    with duckdb.connect() as con:
        raw.ensure_schema(con, ingest_version="test")
        tables = con.execute(
            "select table_name, list(column_name order by column_index)"
            " from duckdb_columns() where schema_name = 'raw'"
            " group by table_name, table_oid order by table_oid"
        ).fetchall()
    return dict(tables)


def test_every_table_has_its_line_in_the_order_of_the_file(columns):
    assert [table.name for table in RAW_TABLES] == list(columns)


@pytest.mark.parametrize("table", RAW_TABLES, ids=lambda table: table.name)
def test_a_line_speaks_of_columns_that_are_there(columns, table):
    assert {*table.row_key, *table.tasks} <= set(columns[table.name])
    if table.owner:
        assert "load_id" in columns[table.name]
        assert table.has_file == ("file_uri" in columns[table.name])
    if table.records:
        assert "load_id" in columns[table.name]


@pytest.mark.parametrize("table", RAW_TABLES, ids=lambda table: table.name)
def test_a_row_names_its_parent_by_the_parents_key(columns, table):
    parents = [each for each in RAW_TABLES if each.name == table.parent]
    assert len(parents) == (table.parent is not None)
    for parent in parents:
        assert parent.owner == table.owner
        assert set(parent.row_key) <= set(columns[table.name])
