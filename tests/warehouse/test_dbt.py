"""The project by dbt itself, and any command by ``promptlab dbt``.

All tests use one path of a warehouse, so that dbt parses the project once.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from promptlab.build import call_dbt
from promptlab.build.dbt import run_dbt
from promptlab.cli import run_cli
from promptlab.errors import BuildError
from promptlab.paths import dbt_target
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse
from tests.conftest import EXAMPLES
from tests.ingest.test_load import task, write
from tests.warehouse.conftest import THREADS


@pytest.fixture
def settings(dbt_settings: Settings) -> Settings:
    return dbt_settings


@pytest.fixture
def example(settings: Settings, example_db: Path) -> Warehouse:
    """A copy of the examples for one test."""
    return Warehouse(shutil.copy(example_db, settings.db), settings=settings)


@pytest.fixture
def call(
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, list[str], str]]:
    """Run a command in an empty folder: ``call("ls", …) -> code, lines, err``."""
    monkeypatch.chdir(tmp_path)
    for name in ("db", "memory_limit", "threads", "temp_directory"):
        monkeypatch.setenv(f"PROMPTLAB_{name.upper()}", str(getattr(settings, name)))

    def run(*args: str) -> tuple[int, list[str], str]:
        code = run_cli(["dbt", *args])
        captured = capfd.readouterr()
        return code, captured.out.splitlines(), captured.err

    return run


def test_dbt_tests_all_rows_and_runs_unit_tests(example, capsys):
    """All unit tests are in test_models.py; a full refresh is in tests/packaging."""
    with duckdb.connect(str(example.settings.db)) as con:
        con.execute(
            "insert into marts.fct_task_summaries from marts.fct_task_summaries limit 1"
        )
    select = (
        "--select",
        "int_match_results,test_type:unit",
        "keys_of_fct_task_summaries",
    )
    with pytest.raises(BuildError, match="keys_of_fct_task_summaries"):
        call_dbt(example, ["test", *select], output=sys.stderr)
    assert re.search(r"[1-9]\d* unit test", capsys.readouterr().err)


def test_path_prints_the_folder_of_the_project(call):
    code, [folder], _ = call("path")
    assert code == 0
    assert (Path(folder) / "dbt_project.yml").is_file()


@pytest.mark.slow
def test_dbt_gets_the_project_the_profile_and_the_warehouse(example, call, tmp_path):
    """The tests of models that were not selected do not run."""
    select = ("--select", "fct_leaderboard")
    assert call("-q", "ls", *select, "--resource-type", "model") == (
        0, ["promptlab.marts.history.fct_leaderboard"], ""
    )  # fmt: skip
    code, lines, _ = call("docs", "generate", *select)
    assert (code, lines[-1]) == (0, "out/dbt.html")
    assert "fct_leaderboard" in (tmp_path / "out/dbt.html").read_text("utf-8")
    code, _, err = call("nonsense")
    assert code == 2
    assert "nonsense" in err
    example.settings.db.unlink()
    example.ingest(EXAMPLES / "sentiment_pipeline")
    code, lines, _ = call("build", "--select", "+dim_cases")
    assert code == 0
    assert "Completed successfully" in "\n".join(lines)
    with example.reading() as con:
        built = con.execute("select count(*) > 0 from marts.dim_cases")
        assert built.fetchall() == [(True,)]


def test_a_full_refresh_is_of_everything(example):
    arguments = ["--select", "fct_rounds", "--full-refresh"]
    with pytest.raises(BuildError, match="of everything"):
        run_dbt(example.settings, arguments)


def test_connections_of_dbt_have_the_limits(example, settings, capfd):
    """Threads of dbt come from the profile, those of DuckDB are set at each build."""
    run_dbt(settings, ["--select", "promptlab_grades", "--log-level-file", "debug"])
    log = dbt_target(settings.db) / "dbt.log"
    assert f"set threads = {THREADS}" in log.read_text("utf-8")
    capfd.readouterr()
    names = ("memory_limit", "temp_directory")
    seen = ", ".join(f"current_setting('{name}')" for name in names)
    show = ["--inline", f"select {seen}", "--output", "json"]
    run_dbt(settings, show, command="show", verbose=True)
    told = capfd.readouterr().err
    assert "1.0 GiB" in told
    assert str(settings.temp_directory) in told


def test_a_build_of_nothing_new_ends_at_once_unless_more_is_asked(
    example, call, tmp_path
):
    code, lines, progress = call("build")
    assert (code, lines) == (0, [])
    assert progress.startswith("nothing new since the last build")
    example.ingest(write(tmp_path / "more.json", task("more")))
    assert not example.last_build().has_all
