"""Two at one file: they wait for each other, or say who holds it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from promptlab.cli import run_cli
from promptlab.warehouse import Warehouse
from tests.faults.conftest import contents, finish, start, write_many

HOLDER = """
import duckdb, sys
con = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "read")
print("holds", flush=True)
sys.stdin.readline()
"""


def hold(db: Path, how: str) -> subprocess.Popen:
    """A process that has the file open until its stdin ends."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, db, how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "holds\n"
    return child


@pytest.fixture
def loaded(tmp_path: Path) -> Warehouse:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(write_many(tmp_path / "in", files=2, cases=2))
    return warehouse


def test_two_ingests_at_once_both_end_and_nothing_is_lost(tmp_path):
    one = write_many(tmp_path / "one", files=30, cases=4)
    two = tmp_path / "two"
    for path in write_many(two, files=60, cases=4).iterdir():
        if int(path.stem[1:]) < 30:
            path.unlink()
    db = tmp_path / "w.duckdb"
    children = [
        start("ingest", folder, "--db", db, "--lock-timeout", 60)
        for folder in (one, two)
    ]
    for child in children:
        code, _, err = finish(child)
        assert code == 0, err
    tables = contents(db)
    assert len(tables["raw.tasks"]) == 60
    assert len(tables["raw.rounds"]) == 60 * 4
    assert len({row[0] for row in tables["raw.loads"]}) == 60


@pytest.mark.parametrize(
    ("command", "how"),
    [
        (("ingest", "in"), "read"),
        (("ingest", "in"), "write"),
        (("build",), "read"),
        (("purge", "--task", "t000", "--yes"), "read"),
        (("runs",), "write"),
        (("export", "--file", "copy.duckdb"), "write"),
        (("export", "--parquet", "p"), "write"),
    ],
)
def test_who_holds_the_file_is_reported_and_nothing_is_changed(
    loaded, tmp_path, monkeypatch, capsys, command, how
):
    monkeypatch.chdir(tmp_path)
    holder = hold(loaded.settings.db, how)
    before = loaded.settings.db.read_bytes() if how == "read" else None
    code = run_cli([*command, "--db", "w.duckdb", "--lock-timeout", "0.2"])
    err = capsys.readouterr().err
    assert code == 70, err
    assert f"(PID {holder.pid}) for more than 0.2 s; wait for that process" in err
    assert f"(PID {holder.pid}); waiting …" in err
    assert "nothing was changed" in err
    if before is not None:
        assert loaded.settings.db.read_bytes() == before
    holder.communicate()


def test_the_doctor_only_warns_of_a_file_that_is_held(loaded, capsys):
    holder = hold(loaded.settings.db, "write")
    db = str(loaded.settings.db)
    assert run_cli(["doctor", "--db", db, "--lock-timeout", "0.2"]) == 0
    assert f"PID {holder.pid}" in capsys.readouterr().out
    holder.communicate()


def test_an_ingest_goes_on_as_soon_as_the_reader_is_gone(loaded, tmp_path):
    holder = hold(loaded.settings.db, "read")
    more = write_many(tmp_path / "more", files=3, cases=3)
    child = start("ingest", more, "--db", loaded.settings.db, "--lock-timeout", 60)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(timeout=3)
    holder.communicate()
    code, _, err = finish(child)
    assert code == 0, err
    assert len({row[1] for row in contents(loaded.settings.db)["raw.tasks"]}) == 3


def test_two_runs_at_once_wait_for_each_other_and_both_end(tmp_path):
    db = tmp_path / "w.duckdb"
    children = [
        start(
            "run", write_many(tmp_path / name, files, cases=2),
            "--db", db, "--out", tmp_path / f"out-{name}", "--lock-timeout", 120,
        )
        for name, files in (("one", 1), ("two", 3))
    ]  # fmt: skip
    for child in children:
        code, _, err = finish(child)
        assert code == 0, err
    tables = contents(db)
    assert len(tables["raw.tasks"]) == 3
    assert len(tables["marts.fct_task_summaries"]) == 3


@pytest.mark.parametrize("command", ["build", "run"])
def test_a_build_waits_for_the_file_or_says_who_holds_it(
    loaded, tmp_path, capsys, command
):
    db = loaded.settings.db
    more = [tmp_path / "in", "--out", tmp_path / "out"] if command == "run" else []
    holder = hold(db, "read")
    call = [command, *map(str, more), "--db", str(db), "--lock-timeout", "0.2"]
    assert run_cli(call) == 70
    assert f"(PID {holder.pid})" in capsys.readouterr().err
    waiting = start(command, *more, "--db", db, "--lock-timeout", 60)
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(timeout=2)
    holder.communicate()
    code, _, err = finish(waiting)
    assert code == 0, err
    assert len(contents(db)["marts.fct_task_summaries"]) == 2
