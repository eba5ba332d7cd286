"""The commands on the pages about other tools work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from promptlab.cli import run_cli
from promptlab.ingest.foreign.registry import TOOLS
from tests.conftest import ROOT
from tests.docs import markdown

PAGES = {page.stem: page for page in (ROOT / "docs" / "tools").glob("*.md")}
del PAGES["table"]  # no tool's: its own tests run it
FIXTURES = ROOT / "tests" / "data" / "foreign"
OURS = ["promptlab run results --out reports", "promptlab gate latest"]
JUDGED = {0, 1, 3, 4}
"""Exit codes of a gate that has done its work."""


def commands(tool: str) -> list[str]:
    """The commands of a page, the tool's own among them."""
    (block,) = markdown.blocks(PAGES[tool].read_text("utf-8"), "sh")
    return block.text.strip().splitlines()


def run(programs: Path, folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    own = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PROMPTLAB_DB": "warehouse.duckdb",
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


@pytest.fixture(scope="module")
def every_tool(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the commands of the pages ran on the files of every tool."""
    folder = tmp_path_factory.mktemp("tools")
    for tool in PAGES:
        shutil.copytree(FIXTURES / tool, folder / "results" / tool)
    load, gate = OURS
    done = run(programs, folder, load)
    assert done.returncode == 0, done.stderr
    assert (folder / "reports" / "index.html").is_file()
    assert run(programs, folder, gate).returncode in JUDGED
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
