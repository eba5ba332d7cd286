"""A disk that is full: said in words, and nothing that was stored is lost."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptlab.warehouse import Warehouse
from tests.faults.conftest import contents, finish, start, write_many
from tests.ingest.test_load import task, write

ROOM = 4_000_000
"""Bytes that the file may have at most: enough for the first load only."""


@pytest.fixture
def loaded(tmp_path: Path) -> Warehouse:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(write(tmp_path / "first.json", task("first")))
    return warehouse


def much(folder: Path) -> Path:
    """More data than fits on the disk, in text that does not compress."""
    for n in range(6):
        document = task(f"big{n}", "", cases=20)
        for case in document["cases"]:
            case["rounds"][0]["raw_output"] = os.urandom(60_000).hex()
        write(folder / f"{n}.json", document)
    return folder


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))


def test_a_limit_on_the_files_size_is_reported_and_loses_nothing(loaded, tmp_path):
    before = contents(loaded.settings.db)
    db = loaded.settings.db
    code, _, err = finish(
        start("ingest", much(tmp_path / "in"), "--db", db, preexec_fn=limited)
    )
    assert code == 70, err
    assert "the disk is full, or a limit on its size is reached" in err
    assert "Traceback" not in err
    after = contents(db)
    assert set(before["raw.tasks"]) <= set(after["raw.tasks"])
    assert len(after["raw.rounds"]) == 1 + 20 * (len(after["raw.tasks"]) - 1)
    code, _, err = finish(start("ingest", tmp_path / "in", "--db", db))
    assert code == 0, err
    assert len(contents(db)["raw.tasks"]) == 7


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can make a file system of its own")
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this system lets nobody mount")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_reported_and_loses_nothing(small_disk, tmp_path):
    warehouse = Warehouse(small_disk / "w.duckdb")
    warehouse.ingest(write(tmp_path / "first.json", task("first")))
    before = contents(warehouse.settings.db)
    code, _, err = finish(
        start("ingest", much(tmp_path / "in"), "--db", warehouse.settings.db)
    )
    assert code == 70, err
    assert "the disk is full" in err
    assert "Traceback" not in err
    after = contents(warehouse.settings.db)
    assert set(before["raw.rounds"]) <= set(after["raw.rounds"])
    assert len(after["raw.rounds"]) == 1 + 20 * (len(after["raw.tasks"]) - 1)


@pytest.mark.parametrize("command", [("purge", "--task", "t000", "--yes")])
def test_no_room_for_the_new_file_keeps_the_old(small_disk, tmp_path, command):
    db = small_disk / "w.duckdb"
    Warehouse(db).ingest(write_many(tmp_path / "in", files=3, cases=2))
    before = contents(db)
    free = shutil.disk_usage(small_disk).free
    (small_disk / "filler").write_bytes(b"x" * (free - db.stat().st_size // 2))
    code, _, err = finish(start(*command, "--db", db))
    assert code == 70
    assert "make room (nothing was changed)" in err
    assert contents(db) == before
    assert {p.name for p in small_disk.iterdir()} <= {"w.duckdb", "filler"}


def test_a_report_on_a_full_disk_says_so_and_keeps_the_old(small_disk, tmp_path):
    db = tmp_path / "w.duckdb"
    Warehouse(db).ingest(write_many(tmp_path / "in", files=2, cases=2))
    Warehouse(db).build()
    call = ("report", "--all", "--db", db, "--out", small_disk / "out")
    code, _, err = finish(start(*call))
    assert code == 0, err
    before = {p: p.read_bytes() for p in small_disk.rglob("*") if p.is_file()}
    (small_disk / "filler").write_bytes(b"x" * shutil.disk_usage(small_disk).free)
    code, _, err = finish(start(*call))
    assert code == 70
    assert "the disk is full; make room" in err
    assert "internal error" not in err
    assert {p: p.read_bytes() for p in before} == before
