"""The export: every table, unchanged, in files that any engine reads."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from promptlab import relations
from promptlab.errors import UsageError, WarehouseError
from promptlab.ingest.raw import SCHEMA_VERSION
from promptlab.operations.export import export_parquet
from promptlab.task_ids import selected_tasks
from promptlab.warehouse import Warehouse

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def read(folder: Path, db: Path) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute("set TimeZone = 'UTC'")
    con.execute(f"attach '{db}' as w (read_only)")
    con.execute("use w")
    return con


@pytest.fixture(scope="module")
def exported(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export; tests only read it."""
    folder = tmp_path_factory.mktemp("exported") / "parquet"
    export_parquet(Warehouse(built), folder, schemas=("marts", "raw"), exported_at=NOW)
    return folder


@pytest.fixture
def own_export(exported: Path, tmp_path: Path) -> Path:
    """A copy for one test."""
    return Path(shutil.copytree(exported, tmp_path / "parquet"))


def test_every_table_reads_back_equal(built, exported):
    con = read(exported, built)
    manifest = json.loads((exported / "manifest.json").read_text("utf-8"))
    listed = {f"{t['schema']}.{t['name']}": t for t in manifest["tables"]}
    tables = relations.tables_of(con, "marts", "raw", views=True)
    assert set(listed) == {str(table) for table in tables}
    for table in tables:
        columns = ", ".join(f'"{c}"' for c in table.columns)
        files = (
            f"(select {columns} from read_parquet('{exported}/{listed[str(table)]['files']}',"
            " hive_partitioning = true, union_by_name = true))"
        )
        rows = con.execute(f"select count(*) from {table.sql}").fetchone()
        assert con.execute(f"select count(*) from {files}").fetchone() == rows
        assert listed[str(table)]["rows"] == rows[0]
        for one, other in ((files, table.sql), (table.sql, files)):
            query = f"(select {columns} from {one}) except all (select {columns} from {other})"
            assert con.execute(query).fetchall() == [], table
        described = con.execute(f"describe select {columns} from {files}").fetchall()
        assert [{"name": name, "type": kind} for name, kind, *_ in described] == listed[
            str(table)
        ]["columns"]


def test_what_belongs_to_a_task_lies_in_the_month_of_its_creation(exported):
    months = {p.name for p in (exported / "marts" / "fct_rounds").iterdir()}
    assert months == {"created_month=2026-01", "created_month=2025-01"}
    assert [p.name for p in (exported / "marts" / "dim_memory_runs").iterdir()] == [
        "data_0.parquet"
    ]


def test_the_manifest_names_versions_and_time(exported):
    manifest = json.loads((exported / "manifest.json").read_text("utf-8"))
    assert manifest["exported_at"] == "2026-05-01T00:00:00+00:00"
    assert manifest["duckdb"] == duckdb.__version__
    assert manifest["schema_version"] == SCHEMA_VERSION
    assert manifest["format_version"] == "1.0"


def test_an_export_is_replaced_whole(run, warehouse, own_export):
    (own_export / "marts" / "gone.parquet").write_bytes(b"old")
    code, out, _ = run(
        "export", "--parquet", own_export, "--db", warehouse.settings.db, "--quiet"
    )
    assert code == 0
    assert "marts.fct_rounds" in out
    assert {p.name for p in own_export.iterdir()} == {"marts", "manifest.json"}
    assert not (own_export / "marts" / "gone.parquet").exists()
    assert {p.name for p in own_export.parent.iterdir()} == {"db", "parquet"}


def test_a_folder_of_something_else_is_left_alone(warehouse, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work", "utf-8")
    with pytest.raises(UsageError, match="holds something that is no export"):
        export_parquet(warehouse, tmp_path / "mine", exported_at=NOW)
    assert (tmp_path / "mine" / "thesis.txt").read_text("utf-8") == "years of work"


def test_an_export_that_fails_leaves_the_one_before(warehouse, own_export, monkeypatch):
    before = sorted(p for p in own_export.rglob("*"))
    from promptlab.operations import export

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export, "_write", full)
    with pytest.raises(WarehouseError, match="No space left"):
        export_parquet(warehouse, own_export, exported_at=NOW)
    assert sorted(p for p in own_export.rglob("*")) == before
    assert {p.name for p in own_export.parent.iterdir()} == {"db", "parquet"}


def test_an_export_of_the_marts_alone_has_a_latest_run(warehouse, tmp_path):
    marts = tmp_path / "alone"
    export_parquet(warehouse, marts, exported_at=NOW)
    with Warehouse(exported=marts).built() as con:
        assert selected_tasks(con, "latest") == ["other"]
        assert selected_tasks(con, "shared") == ["after"]
