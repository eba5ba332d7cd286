"""Rows as a program reads them, and where a new warehouse may lie."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from promptlab.cli.output import print_rows
from promptlab.warehouse import Warehouse
from tests.ingest.test_load import task, write


def test_csv_writes_truth_values_as_json_does(capsys):
    print_rows(("a", "b", "c"), [(True, False, None)], "csv")
    assert capsys.readouterr().out == "a,b,c\ntrue,false,\n"


@pytest.mark.parametrize("folder", ["new", "new/and/deep"])
def test_the_folder_of_a_new_warehouse_is_made(tmp_path, folder):
    file = write(tmp_path / "a.json", task())
    db = tmp_path / folder / "w.duckdb"
    assert Warehouse(db).ingest(file).n_loaded == 1
    assert db.is_file()


@pytest.mark.parametrize("form", ["table", "csv"])
def test_what_models_wrote_never_steers_a_terminal(capsys, monkeypatch, form):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    print_rows(("a\x1b[2Jb",), [("\x1b]0;title\x07",)], form)
    found = capsys.readouterr().out
    assert "\x1b[2J" not in found
    assert "\x1b]" not in found


def test_a_file_of_csv_keeps_what_was_written(capsys):
    print_rows(("a",), [("\x1b",)], "csv")
    assert capsys.readouterr().out == "a\n\x1b\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("enough", ["head -1", "true"])
def test_a_reader_that_leaves_early_does_not_change_the_exit_code(
    tmp_path, unbuffered, enough
):
    db = tmp_path / "w.duckdb"
    Warehouse(db).ingest(write(tmp_path / "a.json", task()))
    query = "select * from range(100000)"
    asked = f'"{sys.executable}" -m promptlab query "{query}" --format csv --db "{db}"'
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{asked} | {enough}"],
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full disk of Linux")
def test_a_disk_without_room_for_the_output_is_no_fault_of_ours(tmp_path):
    db = tmp_path / "w.duckdb"
    Warehouse(db).ingest(write(tmp_path / "a.json", task()))
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "promptlab", "query", "select 1", "--db", str(db)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        70,
        "promptlab: standard output cannot be written: No space left on device\n",
    )
