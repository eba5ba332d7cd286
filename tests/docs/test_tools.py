"""The commands on the pages about other tools work."""

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

from promptlab.cli import cli, run_cli
from promptlab.ingest.foreign.registry import TOOLS
from tests.conftest import ROOT
from tests.docs import markdown

PAGES = {page.stem: page for page in (ROOT / "docs" / "tools").glob("*.md")}
del PAGES["table"]  # no tool's: its own tests run it
FIXTURES = ROOT / "tests" / "data" / "foreign"
WORKFLOWS = {tool: ROOT / "docs" / "automation" / f"{tool}.yml" for tool in PAGES}
WITH_WORKFLOW = [tool for tool, file in sorted(WORKFLOWS.items()) if file.exists()]
OURS = ["promptlab run results --out reports", "promptlab gate latest"]
JUDGED = {0, 1, 3, 4}
"""Exit codes of a gate that has done its work."""


def commands(tool: str) -> list[str]:
    """The commands of a page, the tool's own among them."""
    (block,) = markdown.blocks(PAGES[tool].read_text("utf-8"), "sh")
    return block.text.strip().splitlines()


def steps(tool: str) -> list[str]:
    """The shell steps of a workflow, without those that need the tool or the net."""
    workflow = yaml.safe_load(WORKFLOWS[tool].read_text("utf-8"))
    found = workflow["jobs"]["evaluate"]["steps"]
    assert all(("run" in step) != ("uses" in step) for step in found)
    runs = [step["run"] for step in found if "run" in step]
    return [each for each in runs if "promptlab " in each and "gh api" not in each]


def run(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    programs = str(Path(sys.executable).parent)
    own = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PROMPTLAB_DB": "warehouse.duckdb",
        "GITHUB_STEP_SUMMARY": "summary.md",
        "GITHUB_OUTPUT": "outputs.txt",
        "LC_ALL": "C.UTF-8",
    }
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=os.environ | own,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_page_is_of_a_tool_and_listed() -> None:
    assert set(PAGES) <= set(TOOLS)
    listed = markdown.links((ROOT / "docs" / "README.md").read_text("utf-8"))
    assert {f"tools/{tool}.md" for tool in PAGES} <= set(listed)


@pytest.mark.parametrize("tool", PAGES)
def test_a_page_has_three_commands_of_which_two_are_ours(tool: str) -> None:
    first, *ours = commands(tool)
    assert "promptlab" not in first
    assert ours == OURS


@pytest.mark.parametrize("tool", PAGES)
def test_a_page_lists_mapped_fields_and_what_is_not_imported(tool: str) -> None:
    text = PAGES[tool].read_text("utf-8")
    assert re.search(r"^\| of .+ \| becomes \|$", text, re.MULTILINE)
    assert re.search(r"^Not (im|ex)ported[:,]", text, re.MULTILINE)


@pytest.mark.parametrize("tool", WITH_WORKFLOW)
def test_every_command_of_a_workflow_exists_with_its_options(tool: str) -> None:
    lines = "\n".join(steps(tool)).splitlines()
    found = [re.search(r"(?<!-- )\bpromptlab ([^>|;]+)", line) for line in lines]
    ours = [shlex.split(each[1]) for each in found if each]
    assert {line[0] for line in ours} == {"run", "gate"}
    for name, *args in ours:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        command.make_context(name, args)


@pytest.fixture(scope="module")
def every_tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the commands of the pages ran on the files of every tool."""
    folder = tmp_path_factory.mktemp("tools")
    for tool in PAGES:
        shutil.copytree(FIXTURES / tool, folder / "results" / tool)
    load, gate = OURS
    done = run(folder, load)
    assert done.returncode == 0, done.stderr
    assert (folder / "reports" / "index.html").is_file()
    assert run(folder, gate).returncode in JUDGED
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("tool", PAGES)
def test_our_commands_of_a_page_run_on_the_tools_files(
    tool: str, every_tool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(every_tool)
    monkeypatch.setenv("PROMPTLAB_DB", "warehouse.duckdb")
    judged = ["gate", f"results/{tool}", "-q"]
    assert run_cli(judged) in JUDGED


@pytest.mark.slow
@pytest.mark.parametrize("tool", WITH_WORKFLOW)
def test_our_steps_of_a_workflow_run_on_the_tools_files(
    tool: str, tmp_path: Path
) -> None:
    shutil.copytree(FIXTURES / tool, tmp_path / "results")
    for step in steps(tool):
        done = run(tmp_path, step)
        allowed = JUDGED if " gate " in step else {0}
        assert done.returncode in allowed, (step, done.stderr)
    assert "Do not ship" in (tmp_path / "summary.md").read_text("utf-8")
