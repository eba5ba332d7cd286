"""Killed at any moment: whole files only, and the next run ends where it would have."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

import duckdb
import pytest

from promptlab.warehouse import Warehouse
from tests.faults.conftest import FULL, contents, finish, start, write_many

CASES = 40


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_many(tmp_path_factory.mktemp("kills") / "in", files=60, cases=CASES)


@pytest.fixture(scope="module")
def undisturbed(files: Path, tmp_path_factory: pytest.TempPathFactory):
    """The result of an ingest without a kill, and its seconds."""
    db = tmp_path_factory.mktemp("whole") / "w.duckdb"
    started = time.monotonic()
    code, _, err = finish(start("ingest", files, "--db", db))
    assert code == 0, err
    return contents(db), time.monotonic() - started


def kill_after(child, seconds: float) -> None:
    time.sleep(seconds)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()


@pytest.mark.parametrize("seed", range(50 if FULL else 2))
def test_a_killed_ingest_leaves_whole_files_and_the_next_completes(
    files, undisturbed, tmp_path, monkeypatch, seed
):
    expected, seconds = undisturbed
    db = tmp_path / "w.duckdb"
    child = start("ingest", files, "--db", db)
    kill_after(child, random.Random(seed).uniform(0.3, 1.0) * seconds)
    if db.exists():
        with duckdb.connect(str(db)) as con:
            made = con.execute(
                "select count(*) from duckdb_tables() where schema_name = 'raw'"
            ).fetchone()
            if made != (0,):
                loads, cases, rounds, tasks = con.execute(
                    "select (select count(*) from raw.loads),"
                    " (select count(*) from raw.cases),"
                    " (select count(*) from raw.rounds),"
                    " (select count(*) from raw.tasks)"
                ).fetchone()
                assert (tasks, cases, rounds) == (loads, loads * CASES, loads * CASES)
    code, _, err = finish(start("ingest", files, "--db", db))
    assert code == 0, err
    assert contents(db) == expected


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, float]:
    """A warehouse built once and loaded again since; the same, built; its seconds."""
    folder = tmp_path_factory.mktemp("builds")
    warehouse = Warehouse(folder / "w.duckdb")
    warehouse.ingest(write_many(folder / "first", files=3, cases=2))
    warehouse.build()
    warehouse.ingest(write_many(folder / "second", files=6, cases=3))
    before = Path(shutil.copy(folder / "w.duckdb", folder / "before.duckdb"))
    started = time.monotonic()
    code, _, err = finish(start("build", "--db", folder / "w.duckdb"))
    assert code == 0, err
    return before, folder / "w.duckdb", time.monotonic() - started


@pytest.mark.parametrize("seed", range(50 if FULL else 2))
def test_a_killed_build_leaves_the_marts_of_before_or_of_after(history, tmp_path, seed):
    before, built, seconds = history
    db = Path(shutil.copy(before, tmp_path / "w.duckdb"))
    child = start("build", "--db", db)
    kill_after(child, random.Random(seed).uniform(0.2, 1.05) * seconds)
    left = contents(db, ["marts"])
    assert left in (contents(before, ["marts"]), contents(built, ["marts"]))
    Warehouse(db).build()
    assert contents(db, ["marts"]) == contents(built, ["marts"])
