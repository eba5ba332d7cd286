"""Publishing: a copy for readers, replaced under their hands without their noticing."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from promptlab import copies
from promptlab.errors import NothingToDo, UsageError, WarehouseError
from promptlab.operations.publish import publish
from promptlab.warehouse import Warehouse
from tests.marts import from_nothing
from tests.operations.conftest import contents


def test_a_copy_holds_everything_and_is_read_only(warehouse, tmp_path):
    copy = publish(warehouse, tmp_path / "copy.duckdb")
    assert contents(copy) == contents(warehouse.settings.db)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o444
    assert Warehouse(copy).result("after").task.task_id == "after"
    assert Warehouse(copy).sql("select * from live.tasks").height == 5


def test_into_a_folder_it_has_the_name_of_the_warehouse(run, warehouse, tmp_path):
    (tmp_path / "public").mkdir()
    code, out, _ = run("export", "--file", "public", "--db", warehouse.settings.db)
    assert code == 0
    assert "public/w.duckdb" in out
    assert [p.name for p in (tmp_path / "public").iterdir()] == ["w.duckdb"]


READER = """
import duckdb, sys
con = duckdb.connect(sys.argv[1], read_only=True)
count = "select count(*) from raw.rounds"
print(con.execute(count).fetchone()[0], flush=True)
sys.stdin.readline()
print(con.execute(count).fetchone()[0], flush=True)
"""


def test_a_reader_keeps_the_old_copy_and_a_new_one_sees_the_new(warehouse, tmp_path):
    copy = publish(warehouse, tmp_path / "copy.duckdb")
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, copy],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    before = int(reader.stdout.readline())
    with warehouse.writable() as con:  # no reader of the copy is in its way
        con.execute("delete from raw.rounds where task_id = 'first'")
    publish(warehouse, copy)
    reader.stdin.write("\n")
    reader.stdin.flush()
    assert int(reader.stdout.readline()) == before
    reader.communicate()
    assert len(contents(copy)["raw.rounds"]) == before - 8


def test_a_copy_takes_in_what_a_killed_writer_left_in_the_log(warehouse, tmp_path):
    script = (
        "import duckdb, os, sys; con = duckdb.connect(sys.argv[1]);"
        "con.execute(\"update raw.tasks set model = 'late'\"); os.kill(os.getpid(), 9)"
    )
    db = warehouse.settings.db
    subprocess.run([sys.executable, "-c", script, db], check=False)
    assert Path(f"{db}.wal").exists()
    copy = publish(warehouse, tmp_path / "copy.duckdb")
    with duckdb.connect(str(copy), read_only=True) as con:
        assert con.execute("select distinct model from raw.tasks").fetchall() == [
            ("late",)
        ]


def test_the_warehouse_is_not_published_over_itself(warehouse):
    with pytest.raises(UsageError, match="the warehouse itself"):
        publish(warehouse, warehouse.settings.db.parent)


@pytest.mark.parametrize(
    "name",
    ["marts.duckdb", "Marts.db", "raw", "staging.v2.duckdb", "policy", "intermediate"],
)
def test_a_copy_called_like_a_schema_is_refused(run, warehouse, tmp_path, name):
    code, _, err = run(
        "export", "--file", tmp_path / name, "--db", warehouse.settings.db
    )
    schema = name.split(".")[0].lower()
    assert code == 2
    assert f"a warehouse has a schema named {schema}" in err
    assert f"promptlab_{schema}.duckdb" in err
    assert not (tmp_path / name).exists()


@from_nothing()
def test_what_is_not_built_is_not_published(tmp_path):
    warehouse = Warehouse(tmp_path / "w.duckdb")
    with warehouse.writable():
        pass
    with pytest.raises(NothingToDo, match="nothing has been built yet"):
        publish(warehouse, tmp_path / "copy.duckdb")


def test_a_copy_that_fails_leaves_the_one_before(warehouse, tmp_path, monkeypatch):
    copy = publish(warehouse, tmp_path / "copy.duckdb")
    before = copy.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(copies, "move_into_place", full)
    with pytest.raises(WarehouseError, match="No space left"):
        publish(warehouse, copy)
    assert copy.read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {"copy.duckdb", "db"}


def test_a_missing_folder_is_made_as_export_and_run_make_theirs(
    run, warehouse, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(
        "export", "--file", "no/where.duckdb", "--db", warehouse.settings.db
    )
    assert (code, err) == (0, "")
    assert (tmp_path / "no" / "where.duckdb").is_file()


def comments(file):
    with duckdb.connect(str(file), read_only=True) as con:
        return con.execute(
            "select count(*), count(comment) from duckdb_columns()"
            " where schema_name = 'marts'"
        ).fetchone()


def test_every_column_of_the_marts_is_described_in_the_file(warehouse, tmp_path):
    n_columns, n_described = comments(warehouse.settings.db)
    assert n_columns == n_described > 0


def test_a_copy_of_the_marts_has_nothing_else_and_is_described(warehouse, tmp_path):
    target = tmp_path / "copy.duckdb"
    publish(warehouse, target, marts_only=True)
    n_columns, n_described = comments(target)
    assert n_columns == n_described > 0
    with duckdb.connect(str(target), read_only=True) as con:
        schemas = con.execute(
            "select distinct schema_name from duckdb_tables()"
        ).fetchall()
        assert schemas == [("marts",)]
        assert con.execute("select count(*) from marts.dim_variants").fetchone()[0] > 0
        [(comment,)] = con.execute(
            "select comment from duckdb_tables() where table_name = 'dim_variants'"
        ).fetchall()
        assert "variant" in comment.lower()
