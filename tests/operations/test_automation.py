"""What the page on operations tells people to run does run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from promptlab.cli import cli
from tests.conftest import EXAMPLES, ROOT

PAGE = ROOT / "docs" / "operations.md"
AUTOMATION = ROOT / "docs" / "automation"
NIGHTLY = AUTOMATION / "nightly.sh"
WORKFLOW = AUTOMATION / "github-actions.yml"


def commands() -> list[str]:
    """Every promptlab command of the page, the script and the workflow."""
    code = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text("utf-8"), re.S | re.M)
    inline = re.findall(r"`(promptlab [^`]+)`", PAGE.read_text("utf-8"))
    files = [NIGHTLY.read_text("utf-8"), WORKFLOW.read_text("utf-8")]
    lines = "\n".join([*code, *files]).splitlines()
    found = [re.search(r"^\s*(?:- )?(?:run: )?(promptlab .*)", x) for x in lines]
    whole = [match[1].partition("||")[0] for match in found if match]
    return sorted({*whole, *inline})


@pytest.mark.parametrize("line", commands())
def test_every_command_exists_with_its_options(line):
    _, name, *args = shlex.split(line)
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    try:
        command.make_context(name, args)
    except click.MissingParameter:
        assert not args  # the command is only named


def test_the_page_has_commands_of_every_kind():
    named = {shlex.split(line)[1] for line in commands()}
    assert named >= {"run", "publish", "export", "purge", "doctor", "build", "gate"}


def steps() -> list[dict[str, str]]:
    return yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"]["evaluate"]["steps"]


def test_the_workflow_has_what_a_workflow_has():
    workflow = yaml.safe_load(WORKFLOW.read_text("utf-8"))
    assert {"name", True, "jobs", "concurrency"} <= set(
        workflow
    )  # `on` is true in YAML
    assert all(("run" in step) != ("uses" in step) for step in steps())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("automation")
    shutil.copytree(EXAMPLES / "customer_service", folder / "runs")
    for name in ("public", "backups"):
        (folder / name).mkdir()
    return folder


def run(folder: Path, *call: str) -> subprocess.CompletedProcess[str]:
    programs = str(Path(sys.executable).parent)
    own = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PROMPTLAB_DB": "warehouse.duckdb",
        "GITHUB_STEP_SUMMARY": "summary.md",
        "LC_ALL": "C.UTF-8",
    }
    return subprocess.run(
        call,
        cwd=folder,
        env=os.environ | own,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_nightly_script_and_then_the_workflow_run(folder):
    night = run(folder, str(NIGHTLY), "runs", "out", "public", "backups")
    assert night.returncode == 0, night.stderr
    assert (folder / "out" / "index.html").is_file()
    assert [p.name for p in (folder / "public").iterdir()] == ["warehouse.duckdb"]
    assert len(list((folder / "backups").iterdir())) == 1
    assert "check,every task has one summary,ok" in night.stdout
    for step in steps():
        if "run" in step and "pip install" not in step["run"]:
            done = run(folder, "bash", "-euo", "pipefail", "-c", step["run"])
            # the gate has judged: the examples' latest task may fail it
            judged = "promptlab gate" in step["run"] and done.returncode == 1
            assert done.returncode == 0 or judged, (step, done.stderr)
    assert "v3.2" in (folder / "summary.md").read_text("utf-8")
    dbt = ["dbt", "--no-use-colors", "source", "freshness", "--target-path", "target"]
    project = str(ROOT / "dbt_project")
    places = ["--project-dir", project, "--profiles-dir", project, "--log-path", "logs"]
    fresh = run(folder, *dbt, *places)
    assert fresh.returncode == 0, fresh.stdout
    assert "PASS freshness of raw.loads" in fresh.stdout
