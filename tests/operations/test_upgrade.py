"""A file of an older schema version: refused by readers, upgraded by writers."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from promptlab.cli import run_cli
from promptlab.errors import WarehouseError
from promptlab.ingest import raw
from promptlab.ingest.raw.catalogue import UPGRADES
from promptlab.warehouse import Warehouse
from tests.ingest.test_load import task, write

VERSION = raw.SCHEMA_VERSION


@pytest.fixture
def old(tmp_path: Path, monkeypatch) -> Warehouse:
    """A warehouse with one task, of the schema version before ours."""
    steps = ("alter table if exists raw.scores add column scorer_version varchar",)
    monkeypatch.setitem(UPGRADES, VERSION, steps)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(write(tmp_path / "a.json", task()))
    with duckdb.connect(str(tmp_path / "w.duckdb")) as con:
        con.execute("alter table raw.scores drop column scorer_version")
        con.execute("drop table raw.memory_timings")
        con.execute("update raw.schema_versions set version = ?", [VERSION - 1])
    return warehouse


def columns_of(db: Path) -> list[tuple]:
    with duckdb.connect(str(db), read_only=True) as con:
        return con.execute(
            "select table_name, column_name, data_type from duckdb_columns()"
            " where schema_name = 'raw' order by all"
        ).fetchall()


def test_a_write_upgrades_the_tables_and_keeps_every_row(old, tmp_path):
    new = Warehouse(tmp_path / "new.duckdb")
    for warehouse in (old, new):
        with warehouse.writable():
            pass
    assert columns_of(old.settings.db) == columns_of(new.settings.db)
    with old.writable() as con:
        assert con.execute("select count(*) from raw.tasks").fetchone() == (1,)
        assert raw.schema_version(con) == VERSION


def test_an_upgrade_writes_a_copy_next_to_the_file_and_says_so(
    old, capsys, monkeypatch
):
    from promptlab.cli import run_cli

    before = old.settings.db.with_name(f"w.duckdb.v{VERSION - 1}.bak")
    monkeypatch.chdir(before.parent)
    assert run_cli(["ingest", "a.json", "--db", "w.duckdb"]) == 0
    err = capsys.readouterr().err
    assert f"from schema version {VERSION - 1} to {VERSION}" in err
    assert before.name in err
    with duckdb.connect(str(before), read_only=True) as con:
        assert raw.schema_version(con) == VERSION - 1
        assert con.execute("select count(*) from raw.loads").fetchone() == (1,)
    assert run_cli(["ingest", "a.json", "--db", "w.duckdb"]) == 0
    assert "upgraded" not in capsys.readouterr().err


def test_an_upgrade_that_fails_changes_nothing(old, monkeypatch):
    before = columns_of(old.settings.db)
    monkeypatch.setitem(
        UPGRADES, VERSION, (*UPGRADES[VERSION], "select no_such_column")
    )
    with pytest.raises(duckdb.Error), old.writable():
        pass
    assert columns_of(old.settings.db) == before


@pytest.mark.parametrize(
    "args",
    [
        ("runs",),
        ("show",),
        ("report",),
        ("query", "select 1"),
        ("trends",),
        ("flaky",),
        ("leaderboard",),
        ("memory",),
        ("compare",),
        ("gate",),
        ("baseline", "show"),
        ("export", "--parquet", "p"),
        ("publish", "p.duckdb"),
        ("purge", "--task", "t1", "--dry-run"),
    ],
)
def test_reading_commands_say_what_to_do(old, capsys, monkeypatch, args):
    from promptlab.cli import run_cli

    monkeypatch.chdir(old.settings.db.parent)
    before = old.settings.db.read_bytes()
    assert run_cli([*args, "--db", "w.duckdb"]) == 70
    err = capsys.readouterr().err
    said = f"schema version {VERSION - 1}, this promptlab works with {VERSION}:"
    assert said in err
    assert old.settings.db.read_bytes() == before


def test_the_doctor_reads_an_old_file_and_says_how_to_upgrade_it(old, capsys):
    from promptlab.cli import run_cli

    assert run_cli(["doctor", "--db", str(old.settings.db)]) == 0
    assert "`promptlab build` upgrades it" in capsys.readouterr().out


def test_a_newer_file_is_refused_by_readers_too(old):
    with duckdb.connect(str(old.settings.db)) as con:
        con.execute("insert into raw.schema_versions values (999, now(), 'future')")
    with pytest.raises(WarehouseError, match="install a newer promptlab"):
        old.sql("select 1")


@pytest.mark.parametrize("command", ["gate", "show"])
def test_marts_of_another_version_are_to_be_built_again(
    writable_example_db, capsys, command
):
    with duckdb.connect(str(writable_example_db)) as con:
        con.execute("drop view marts.fct_power")
        con.execute("drop table marts.fct_drift cascade")
    assert run_cli([command, "latest", "--db", str(writable_example_db)]) == 70
    told = capsys.readouterr().err
    assert "promptlab build --full-refresh" in told
    assert "internal error" not in told
