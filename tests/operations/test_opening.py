"""Opening a warehouse, also of another program or of an older schema version."""

from __future__ import annotations

import gzip
import os
import re
import socket
import sqlite3
import subprocess
import zipfile
from pathlib import Path

import duckdb
import polars as pl
import pytest
import yaml

from promptlab.cli import run_cli
from promptlab.database import open_duckdb
from promptlab.errors import SettingsError
from promptlab.ingest import raw
from promptlab.operations.purge import purge
from promptlab.paths import dbt_project
from promptlab.warehouse import Warehouse
from tests.conftest import EXAMPLES
from tests.faults.conftest import contents
from tests.ingest.test_load import query, task, write
from tests.marts import only

# ---------- opening a warehouse: whatever the path leads to, nothing hangs, loads or splits


ROOT = Path(__file__).parents[2]
_EXTENSION_SETTINGS = ("autoinstall_known_extensions", "autoload_known_extensions")


def _sqlite(path: Path) -> None:
    with sqlite3.connect(path) as con:
        con.execute("create table t (a)")
    con.close()


def _zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a", "b")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


FILES = {
    "sqlite": (_sqlite, "is not a DuckDB file but an SQLite database"),
    "parquet": (lambda p: pl.DataFrame({"a": [1]}).write_parquet(p), "but a Parquet file"),
    "zip": (_zip, "is not a DuckDB file but a ZIP archive"),
    "gzip": (lambda p: p.write_bytes(gzip.compress(b"x" * 99)), "but a gzip file"),
    "json": (lambda p: p.write_text('{"a": 1}'), "is not a DuckDB file but JSON"),
    "text": (lambda p: p.write_text("a,b\n1,2\n"), "is not a DuckDB file;"),
    "short": (lambda p: p.write_bytes(b"DUCK"), "is not a DuckDB file;"),
    "empty": (lambda p: p.touch(), "is empty (0 bytes)"),
    "pipe": (os.mkfifo, "is a pipe; --db names a DuckDB file"),
    "socket": (_socket, "is a socket; --db names a DuckDB file"),
    "folder": (Path.mkdir, "is a folder; --db names a DuckDB file"),
    "loop": (_loop, "symbolic links lead in a circle"),
}  # fmt: skip


@pytest.mark.parametrize(
    "command", [("runs",), ("ingest", "in"), ("build",), ("doctor", "--format", "csv")]
)
@pytest.mark.parametrize("kind", FILES)
def test_what_is_no_warehouse_is_named_at_once(
    kind, command, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "in" / "a.json", task())
    make, said = FILES[kind]
    make(tmp_path / "w")
    for name in ("w", "link"):
        if name == "link":
            (tmp_path / "link").symlink_to("w")
        code = run_cli([*command, "--db", name])
        told = "".join("".join(capsys.readouterr()).split())  # a table folds texts
        assert code in (2, 70), told
        assert said.replace(" ", "") in told
        assert "xtension" not in told
        assert "internalerror" not in told


def test_a_device_is_no_warehouse(capsys):
    code = run_cli(["runs", "--db", "/dev/null"])
    assert (code, "is a device" in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize(
    "name", ["md:x", "sqlite:x.db", "postgres:x", ":memory:", ":default:"]
)
def test_a_name_that_duckdb_reads_as_an_address_is_a_file(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Warehouse(name).ingest(write(tmp_path / "in" / "a.json", task()))
    assert (tmp_path / name).is_file()


@pytest.mark.parametrize("of_a_file", [True, False])
def test_a_connection_loads_no_extension(of_a_file, tmp_path):
    with open_duckdb(tmp_path / "w.duckdb" if of_a_file else None) as con:
        for name in _EXTENSION_SETTINGS:
            assert con.execute(f"select current_setting('{name}')").fetchone() == (
                False,
            )
        with pytest.raises(duckdb.Error, match="xtension"):
            con.execute("attach 'x.db' (type sqlite)")


def test_every_connection_is_opened_in_one_place():
    found = [
        file.relative_to(ROOT).as_posix()
        for folder in ("promptlab", "ingest", "reports")
        for file in (ROOT / folder).rglob("*.py")
        if re.search(r"duckdb\.(connect|sql|query|execute)\(", file.read_text("utf-8"))
    ]
    assert found == ["promptlab/database.py"]


def test_a_build_by_dbt_loads_no_extension():
    profile = yaml.safe_load((dbt_project() / "profiles.yml").read_text("utf-8"))
    output = profile["promptlab"]["outputs"]["duckdb"]
    assert output["config_options"]["autoinstall_known_extensions"] == "false"
    assert output["settings"]["autoload_known_extensions"] is False
    assert not {"extensions", "plugins", "attach"} & set(output)


@pytest.mark.parametrize(
    "command",
    [
        ("init", "--table", "pipe"),
        ("validate", "pipe"),
        ("ingest", "pipe"),
        ("ingest", "folder"),
        ("report", "--all", "--from", "export"),
    ],
)
def test_an_input_that_is_a_pipe_is_refused_and_not_waited_for(
    programs, command, tmp_path
):
    for name in ("pipe", "folder/pipe.json", "export/manifest.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        os.mkfifo(tmp_path / name)
    done = subprocess.run(
        [programs / "promptlab", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,  # it would hang for ever
    )
    assert done.returncode in (2, 5, 6), done.stderr
    assert "internal error" not in done.stderr


@only("dim_tasks")
def test_a_purge_through_links_changes_the_file_and_keeps_the_links(tmp_path):
    real = tmp_path / "real" / "warehouse.duckdb"
    write(tmp_path / "in" / "a.json", task("t1", "SECRETANSWER"))
    write(tmp_path / "in" / "b.json", task("t2"))
    Warehouse(real).ingest(tmp_path / "in")
    link = real
    for n in range(3):
        (tmp_path / f"d{n}").mkdir()
        link, target = tmp_path / f"d{n}" / f"link{n}.duckdb", link
        link.symlink_to(os.path.relpath(target, link.parent))
    assert run_cli(["purge", "--task", "t1", "--yes", "--db", str(link)]) == 0
    assert link.is_symlink()
    assert link.samefile(real)
    assert query(Warehouse(real), "select task_id from raw.tasks") == [("t2",)]
    assert b"SECRETANSWER" not in real.read_bytes()
    Warehouse(link).build()
    assert Warehouse(real).last_build() is not None
    left = {p.name for p in tmp_path.rglob("*") if p.is_file() and not p.is_symlink()}
    assert left == {"warehouse.duckdb", "a.json", "b.json"}


def test_a_new_warehouse_behind_a_dangling_link_is_made_where_it_leads(tmp_path):
    link = tmp_path / "w.duckdb"
    link.symlink_to("elsewhere/real.duckdb")
    Warehouse(link).ingest(write(tmp_path / "in" / "a.json", task()))
    assert link.is_symlink()
    assert (tmp_path / "elsewhere" / "real.duckdb").is_file()


def test_a_copy_and_an_export_go_where_a_link_leads(writable_small_db, tmp_path):
    (tmp_path / "old.duckdb").write_bytes(b"old")
    (tmp_path / "public.duckdb").symlink_to("old.duckdb")
    (tmp_path / "exported").mkdir()
    (tmp_path / "export").symlink_to("exported")
    for _ in range(2):
        for options in (
            ("--file", str(tmp_path / "public.duckdb")),
            ("--schema", "raw", "--parquet", str(tmp_path / "export")),
        ):
            assert run_cli(["export", *options, "--db", str(writable_small_db)]) == 0
    assert (tmp_path / "public.duckdb").is_symlink()
    assert (tmp_path / "export").is_symlink()
    assert (tmp_path / "exported" / "manifest.json").is_file()
    assert contents(tmp_path / "old.duckdb") == contents(writable_small_db)
    left = {p.name for p in tmp_path.iterdir()} - {"public.duckdb", "export"}
    assert {name for name in left if name.startswith(".")} == set()


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_publish_replaces_nothing_but_a_file(kind, writable_small_db, tmp_path, capsys):
    FILES[kind][0](tmp_path / "target")
    before = (tmp_path / "target").stat().st_mode
    target = str(tmp_path / "target")
    call = ["export", "--file", target, "--db", str(writable_small_db)]
    assert run_cli(call) == 2
    assert "is not a regular file" in capsys.readouterr().err
    assert (tmp_path / "target").stat().st_mode == before


@pytest.mark.parametrize(
    ("mask", "mode"), [(0o077, 0o400), (0o027, 0o440), (0o022, 0o444), (0, 0o444)]
)
def test_a_published_copy_is_for_those_that_the_umask_lets_in(
    mask, mode, writable_small_db, tmp_path
):
    before = os.umask(mask)
    try:
        copy = str(tmp_path / "p.duckdb")
        assert run_cli(["export", "--file", copy, "--db", str(writable_small_db)]) == 0
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert (tmp_path / "p.duckdb").stat().st_mode & 0o777 == mode


def test_a_purge_keeps_the_permissions_of_the_file(tmp_path):
    db = tmp_path / "w.duckdb"
    Warehouse(db).ingest(write(tmp_path / "in" / "a.json", task("t1")))
    db.chmod(0o640)
    assert run_cli(["purge", "--task", "t1", "--yes", "--db", str(db)]) == 0
    assert db.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "command",
    [
        ("export", "--parquet", "out"),
        ("report", "--all", "--out", "out"),
        ("compare", "baseline", "latest", "--out", "out"),
        ("send", "--to", "a@b.cn", "--dry-run", "--out", "out"),
    ],
)
def test_every_file_that_a_command_writes_honours_the_umask(
    command, example_db, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o077)
    try:
        code = run_cli([*command, "--db", str(example_db)])
    finally:
        os.umask(before)
    written = list(tmp_path.rglob("*"))
    assert written, code
    assert {path.stat().st_mode & 0o077 for path in written} == {0}


@pytest.mark.parametrize("read_only", [True, False])
def test_a_log_is_replayed_without_an_extension_from_the_network(tmp_path, read_only):
    file = tmp_path / "w.duckdb"
    with duckdb.connect(file) as con:
        # as where the process was killed, or the disk was full
        con.execute("pragma disable_checkpoint_on_shutdown")
        con.execute("create table t as select -1 as x")
        con.execute("alter table t alter x type double using abs(x)")
    assert file.with_name("w.duckdb.wal").exists()
    with open_duckdb(file, read_only=read_only) as con:
        assert con.execute("from t").fetchall() == [(1,)]
        with open_duckdb(file, read_only=read_only) as again:
            assert again.execute("from t").fetchall() == [(1.0,)]


# ---------- a DuckDB file of another program is never changed


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


# ---------- a file of another schema version


@pytest.mark.parametrize("version", [0, 999], ids=["older", "newer"])
def test_a_file_of_another_schema_version_is_refused_in_words_and_left_as_it_is(
    tmp_path, monkeypatch, capsys, version
):
    monkeypatch.chdir(tmp_path)
    file = write(tmp_path / "a.json", task())
    Warehouse(tmp_path / "w.duckdb").ingest(file)
    with duckdb.connect("w.duckdb") as con:
        con.execute("update raw.schema_versions set version = ?", [version])
    before = (tmp_path / "w.duckdb").read_bytes()
    told = (
        f"schema version {version}, this promptlab works with {raw.SCHEMA_VERSION}:"
        " install the promptlab that wrote it, or load the files into a new warehouse"
    )
    for args in (
        ("ingest", "a.json"),
        ("build",),
        ("runs",),
        ("query", "select 1"),
        ("export", "--parquet", "p"),
        ("purge", "--task", "t1", "--yes"),
    ):
        assert run_cli([*args, "--db", "w.duckdb"]) == 70, args
        assert told in " ".join(capsys.readouterr().err.split()), args
        assert (tmp_path / "w.duckdb").read_bytes() == before
    assert run_cli(["doctor", "--db", "w.duckdb", "--format", "json"]) == 70
    assert "install the promptlab that wrote it" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["gate", "show"])
def test_marts_of_another_version_are_to_be_built_again(
    writable_example_db, capsys, command
):
    with duckdb.connect(str(writable_example_db)) as con:
        con.execute("drop view marts.fct_power")
        con.execute("drop table marts.fct_gate_facts cascade")
    assert run_cli([command, "latest", "--db", str(writable_example_db)]) == 70
    told = capsys.readouterr().err
    assert "promptlab build --full-refresh" in told
    assert "internal error" not in told
