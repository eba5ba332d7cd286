"""Files, models and decisions named in texts and comments exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
ROOMS = ("", "promptlab", "ingest", "dbt_project", "reports", "docs", "tests")


def files_named() -> list[str]:
    """Return the text in backticks in CONTRIBUTING.md that looks like a path."""
    named = re.findall(r"`([\w./-]+(?:/|\.(?:py|sql|md|toml|csv|jsonl)))`", PAGE)
    return sorted(set(named))


@pytest.mark.parametrize("name", files_named())
def test_a_file_that_contributing_names_is_there(name: str) -> None:
    assert any((ROOT / room / name).exists() for room in ROOMS)


MODEL = re.compile(r"\b(?:int|stg|fct|dim)_[a-z][a-z_]*[a-z]\b")
NO_MODELS = {"int_type", "int_range"}


def texts() -> list[Path]:
    of = {
        "dbt_project": ("sql", "yml", "md"),
        "docs": ("md",),
        "ingest": ("py", "sql"),
        "promptlab": ("py",),
        "reports": ("py", "j2", "toml"),
    }
    found = [
        p
        for room, kinds in of.items()
        for k in kinds
        for p in (ROOT / room).rglob(f"*.{k}")
    ]
    return sorted([*ROOT.glob("*.md"), *(p for p in found if "target" not in p.parts)])


def test_a_model_that_a_text_or_comment_names_is_there() -> None:
    project = ROOT / "dbt_project"
    there = {p.stem for p in project.rglob("models/**/*.sql")} | NO_MODELS
    wrong = [
        (str(path.relative_to(ROOT)), name)
        for path in texts()
        for name in sorted(set(MODEL.findall(path.read_text("utf-8"))) - there)
    ]
    assert wrong == []


def test_the_index_of_decisions_names_each_by_its_number() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text("utf-8")
    listed = dict(re.findall(r"^\| \[(\d+)\]\(([\w-]+\.md)\)", index, re.M))
    files = {str(int(p.name[:4])): p for p in sorted(folder.glob("0*.md"))}
    assert listed == {number: path.name for number, path in files.items()}
    for number, path in files.items():
        assert path.read_text("utf-8").startswith(f"# {number}. "), path.name
