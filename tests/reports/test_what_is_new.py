"""Which reports a run writes, and where their mails link to."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from email import message_from_bytes
from email.policy import default

import duckdb
import pytest

from promptlab.cli import run_cli
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse

pytestmark = pytest.mark.slow


@pytest.fixture
def warehouse(example_db, tmp_path):
    db = tmp_path / "examples.duckdb"
    shutil.copy(example_db, db)
    return Warehouse(db)


TASKS = [
    "review-sentiment-baseline",
    "review-sentiment-improved",
    "cs-regression-v3.1",
    "cs-regression-v3.2",
    "travel_diary/250601_2100",
    "travel_diary/250615_2100",
]


def test_what_was_never_reported_is_new(warehouse):
    assert sorted(warehouse.to_report()) == sorted(TASKS)


def test_nothing_is_new_after_a_run_that_wrote_its_reports(warehouse):
    warehouse.remember_reported(datetime.now(UTC))
    assert warehouse.to_report() == []


def test_what_is_built_after_a_run_began_is_for_the_next(warehouse):
    began_at = datetime.now(UTC)
    with duckdb.connect(str(warehouse.settings.db)) as con:
        con.execute(
            "update raw.comparison_builds set built_at = now()"
            " where candidate_task_id = 'cs-regression-v3.2'"
        )
    warehouse.remember_reported(began_at)
    assert warehouse.to_report() == ["cs-regression-v3.2"]


def test_a_task_that_is_accepted_is_reported_again(warehouse):
    warehouse.remember_reported(datetime.now(UTC))
    warehouse.accept("cs-regression-v3.2", "on purpose")
    assert warehouse.to_report() == ["cs-regression-v3.2"]


@pytest.mark.parametrize(
    ("which", "n"), [("cs-regression-v3.2", 0), ("travel_diary", 2), ("--all", 4)]
)
def test_a_memory_run_that_is_named_has_its_figures_too(
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
        ["cs-regression-v3.2"], tmp_path, formats=["email"]
    )
    message = message_from_bytes(files[0].read_bytes(), policy=default)
    assert (
        "https://reports.example/lab/cs-regression-v3.2/report.html"
        in message.get_body(("plain",)).get_content()
    )
