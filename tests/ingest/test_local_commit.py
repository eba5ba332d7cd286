"""The commit of the local git repository is that of results written in it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from promptlab.ingest.local_commit import local_commit
from promptlab.warehouse import Warehouse
from tests.ingest.analysis_documents import document


def git(folder: Path, *args: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    return subprocess.run(
        ["git", *who, *args], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a prompt, and results that were written in it."""
    for name in ("GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "JENKINS_URL"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "prompt.txt").write_text("be kind", "utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "work")
    write(folder / "results" / "1.json")
    monkeypatch.chdir(folder)
    return folder


def write(file: Path, **fields: str) -> Path:
    found = document()
    found["task"] |= fields
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(found), "utf-8")
    return file


def stored(warehouse: Warehouse) -> tuple[str | None, str | None]:
    with warehouse.connect() as con:
        [row] = con.execute(
            "select commit_sha, revision_source from raw.tasks"
        ).fetchall()
    return row


def untouched(folder: Path) -> None:
    """Leave everything as it is."""


def edit_the_prompt(folder: Path) -> None:
    (folder / "prompt.txt").write_text("be brief", "utf-8")


def move_on(folder: Path) -> None:
    """Make another commit after the results, and a second passes."""
    old = (folder / "results" / "1.json").stat().st_mtime - 60
    os.utime(folder / "results" / "1.json", (old, old))
    edit_the_prompt(folder)
    git(folder, "commit", "--quiet", "--all", "--message", "brief")


def track_the_results(folder: Path) -> None:
    git(folder, "add", "results")
    git(folder, "commit", "--quiet", "--message", "results")
    os.utime(folder / "results" / "1.json")


def name_the_commit(folder: Path) -> None:
    write(folder / "results" / "1.json", commit="a" * 40)


CASES = {
    untouched: ("HEAD", "git"),
    edit_the_prompt: (None, None),
    move_on: (None, None),
    track_the_results: (None, None),
    name_the_commit: ("a" * 40, None),
}


@pytest.mark.parametrize("happens", CASES)
def test_results_have_the_commit_at_which_they_were_written(repository, happens):
    happens(repository)
    warehouse = Warehouse("w.duckdb")
    warehouse.ingest("results")
    commit, source = CASES[happens]
    wanted = git(repository, "rev-parse", "HEAD") if commit == "HEAD" else commit
    assert stored(warehouse) == (wanted, source)


def test_an_option_and_a_ci_win(repository, monkeypatch):
    warehouse = Warehouse("w.duckdb")
    warehouse.ingest("results", commit="b" * 40)
    assert stored(warehouse) == ("b" * 40, "option")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_SHA", "c" * 40)
    other = Warehouse("other.duckdb")
    other.ingest("results")
    assert stored(other) == ("c" * 40, "github")


def test_without_a_repository_or_git_there_is_no_commit(
    repository, tmp_path, monkeypatch
):
    file = repository / "results" / "1.json"
    assert local_commit(tmp_path, [file]) is None
    assert local_commit(repository, [tmp_path / "elsewhere.json"]) is None
    monkeypatch.setenv("PATH", "")
    assert local_commit(repository, [file]) is None
