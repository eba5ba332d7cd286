"""A file of schema version 1: refused in words by readers, upgraded by writers."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from promptlab.errors import WarehouseError
from promptlab.ingest import raw
from promptlab.ingest.raw import upgrades
from promptlab.warehouse import Warehouse
from tests.ingest.test_load import task, write
from tests.scoring.tasks import case, dimension
from tests.scoring.tasks import task as scored_task

FIRST = Path(__file__).with_name("raw_v1.sql")
"""The raw tables as version 1 made them."""


@pytest.fixture
def old(tmp_path: Path) -> Warehouse:
    """A warehouse of version 1 with a loaded task and one that it replaced."""
    new = Warehouse(tmp_path / "new.duckdb")
    new.ingest(write(tmp_path / "a.json", task(answer="before")))
    new.ingest(write(tmp_path / "a.json", task(answer="after")))
    with duckdb.connect(str(tmp_path / "w.duckdb")) as con:
        con.execute(FIRST.read_text("utf-8"))
        con.execute(f"attach '{tmp_path / 'new.duckdb'}' as new (read_only)")
        tables = con.execute(
            "select table_name, string_agg('\"' || column_name || '\"', ', ')"
            " from duckdb_columns() where schema_name = 'raw'"
            " and database_name = 'w' group by all"
        ).fetchall()
        for name, columns in tables:
            con.execute(
                f"insert into raw.{name} by name select {columns} from new.raw.{name}"
            )
        con.execute("update raw.schema_versions set version = 1")
    return Warehouse(tmp_path / "w.duckdb")


def columns_of(db: Path) -> list[tuple]:
    with duckdb.connect(str(db), read_only=True) as con:
        return con.execute(
            "select table_name, column_name, data_type, is_nullable, column_default"
            " from duckdb_columns() where schema_name = 'raw'"
            " order by table_name, column_index"
        ).fetchall()


def test_an_upgraded_file_has_the_tables_of_a_new_one(old, tmp_path):
    with old.writable():
        pass
    assert columns_of(old.settings.db) == columns_of(tmp_path / "new.duckdb")


def test_an_upgrade_keeps_every_row_and_knows_what_live_loads_brought(old):
    with old.writable() as con:
        assert con.execute("select raw_output from raw.rounds").fetchall() == [
            ("after",)
        ]
        assert con.execute(
            "select status, objects from raw.loads order by load_id"
        ).fetchall() == [("replaced", None), ("loaded", '["t1"]')]
        assert raw.schema_version(con) == raw.SCHEMA_VERSION


def test_golden_answers_loaded_before_are_flattened_by_the_upgrade(tmp_path):
    golden = {"text": [{"a": ["regex: \\w", 1.5]}, "literal:x"]}
    asked = dimension("accuracy", match_rule="json") | {"weight": 1.0}
    exact = dimension("accuracy") | {"weight": 1.0}
    new = Warehouse(tmp_path / "w.duckdb")
    for task_id, one in (("json", asked), ("exact", exact)):
        document = scored_task(task_id, [case("x", golden=golden["text"])], [one])
        new.ingest(write(tmp_path / f"{task_id}.json", document))
    with duckdb.connect(str(tmp_path / "w.duckdb")) as con:
        before = con.execute("from raw.golden_checks").fetchall()
        con.execute("drop table raw.golden_checks")
        con.execute("update raw.schema_versions set version = 3")
    with new.writable() as con:
        after = con.execute("from raw.golden_checks").fetchall()
    assert after == before
    assert [row[6:9] for row in after] == [
        ("$", "", "object"),
        ('$."a"', "/a", "array"),
        ('$."a"[0]', "/a/0", "regex"),
        ('$."a"[1]', "/a/1", "number"),
        ("$", "", "text"),
    ]


def test_an_upgrade_puts_a_copy_beside_the_file_and_says_so(old, capsys, monkeypatch):
    from promptlab.cli import run_cli

    before = old.settings.db.with_name("w.duckdb.v1.bak")
    monkeypatch.chdir(before.parent)
    assert run_cli(["ingest", "a.json", "--db", "w.duckdb"]) == 0
    err = capsys.readouterr().err
    assert (
        f"upgraded the warehouse from schema version 1 to {raw.SCHEMA_VERSION}" in err
    )
    assert "w.duckdb.v1.bak" in err
    with duckdb.connect(str(before), read_only=True) as con:
        assert raw.schema_version(con) == 1
        assert con.execute("select count(*) from raw.loads").fetchone() == (2,)
    assert run_cli(["ingest", "a.json", "--db", "w.duckdb"]) == 0
    assert "upgraded" not in capsys.readouterr().err


def test_an_upgrade_that_fails_changes_nothing(old, monkeypatch):
    before = columns_of(old.settings.db)
    steps = (*upgrades.UPGRADES[raw.SCHEMA_VERSION], "select no_such_column")
    monkeypatch.setitem(upgrades.UPGRADES, raw.SCHEMA_VERSION, steps)
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
    assert f"schema version 1, this promptlab works with {raw.SCHEMA_VERSION}:" in err
    assert old.settings.db.read_bytes() == before


def test_the_doctor_reads_an_old_file_and_says_how_to_upgrade_it(old, capsys):
    from promptlab.cli import run_cli

    assert run_cli(["doctor", "--db", str(old.settings.db)]) == 0
    assert "`promptlab build` upgrades it" in capsys.readouterr().out


def test_every_version_has_its_steps():
    assert sorted(upgrades.UPGRADES) == list(range(2, raw.SCHEMA_VERSION + 1))


def test_a_newer_file_is_refused_by_readers_too(old):
    with duckdb.connect(str(old.settings.db)) as con:
        con.execute("insert into raw.schema_versions values (999, now(), 'future')")
    with pytest.raises(WarehouseError, match="install a newer promptlab"):
        old.sql("select 1")
