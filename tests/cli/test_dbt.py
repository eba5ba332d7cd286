"""``promptlab dbt``: any command of dbt on the bundled project."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from promptlab.cli import run_cli


def test_path_prints_the_folder_of_the_project(capsys):
    assert run_cli(["dbt", "path"]) == 0
    assert (Path(capsys.readouterr().out.strip()) / "dbt_project.yml").is_file()


@pytest.mark.slow
def test_dbt_gets_the_project_the_profile_and_the_warehouse(
    example_db, tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    db = shutil.copy(example_db, tmp_path / "w.duckdb")
    monkeypatch.setenv("PROMPTLAB_DB", str(db))
    assert run_cli(["dbt", "-q", "ls", "--select", "fct_leaderboard", "--resource-type", "model"]) == 0  # fmt: skip
    listed = capfd.readouterr().out.splitlines()
    assert listed == ["promptlab.marts.history.fct_leaderboard"]
    assert run_cli(["dbt", "build", "--select", "fct_leaderboard"]) == 0
    assert "Completed successfully" in capfd.readouterr().out
    assert run_cli(["dbt", "docs", "generate"]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == "out/dbt.html"
    page = (tmp_path / "out" / "dbt.html").read_text("utf-8")
    assert "fct_leaderboard" in page
    assert run_cli(["dbt", "nonsense"]) == 2
    assert "nonsense" in capfd.readouterr().err
