"""Which reports a run writes, and where their mails link to."""

from __future__ import annotations

import shutil
from email import message_from_bytes
from email.policy import default

import duckdb
import pytest

from promptlab.cli import run_cli
from promptlab.pipeline import Warehouse
from promptlab.settings import Settings

pytestmark = pytest.mark.slow

RUNS = ["travel_diary/250615_2100", "travel_diary/250601_2100"]


@pytest.fixture
def warehouse(example_db, tmp_path):
    db = tmp_path / "examples.duckdb"
    shutil.copy(example_db, db)
    return Warehouse(db)


def loaded_anew(warehouse, table, column, identifier):
    """As if this task or run came with a load of its own; the load before it."""
    before = warehouse.last_build().load_id
    with duckdb.connect(str(warehouse.settings.db)) as con:
        con.execute(
            f"update marts.{table} set load_id = ? where {column} = ?",
            [before + 1, identifier],
        )
    return before


def test_nothing_is_new_after_the_last_load(warehouse):
    last = warehouse.last_build().load_id
    assert warehouse.tasks_after(last) == []
    assert warehouse.memory_runs_after(last) == []
    assert warehouse.memory_runs_after(0) == RUNS


def test_a_task_whose_baseline_changed_is_reported_too(warehouse):
    before = loaded_anew(warehouse, "dim_tasks", "task_id", "cs-regression-v3.1")
    assert warehouse.tasks_after(before) == ["cs-regression-v3.1", "cs-regression-v3.2"]


@pytest.mark.parametrize(
    ("changed", "reported"), [(RUNS[0], RUNS[:1]), (RUNS[1], RUNS)]
)
def test_a_memory_run_is_reported_with_the_one_that_follows_it(
    warehouse, changed, reported
):
    before = loaded_anew(warehouse, "dim_memory_tasks", "run_id", changed)
    assert warehouse.memory_runs_after(before) == reported


@pytest.mark.parametrize(("which", "n"), [("latest", 0), ("--all", 4)])
def test_one_report_leaves_the_memory_runs_alone(
    example_db, tmp_path, capsys, which, n
):
    db, out = str(example_db), str(tmp_path / "out")
    assert run_cli(["report", which, "--db", db, "--out", out, "--format", "csv"]) == 0
    written = capsys.readouterr().out.split()
    assert len([path for path in written if "/memory/" in path]) == n
    assert written[-1].endswith("index.html")


def test_the_mail_of_a_report_links_to_the_address_of_the_settings(
    example_db, tmp_path
):
    settings = Settings(report_url="https://reports.example/lab")
    files = Warehouse(example_db, settings=settings).report(
        ["cs-regression-v3.2"], tmp_path, formats=["email"], memory_runs=[]
    )
    message = message_from_bytes(files[0].read_bytes(), policy=default)
    assert (
        "https://reports.example/lab/cs-regression-v3.2/report.html"
        in message.get_body(("plain",)).get_content()
    )
