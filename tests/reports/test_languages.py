"""A language is one file: one that is added is one of the languages everywhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from promptlab.paths import TEXTS
from tests.conftest import ROOT

BRACES = re.compile(r"(\{[^{}]*\})")


def shouted(text: str) -> str:
    """A test language: every English text in capitals, with unchanged values."""
    lines = []
    for line in text.splitlines():
        key, equals, value = line.partition(" = ")
        if equals and value.startswith('"'):
            value = "".join(
                part if part.startswith("{") else part.upper()
                for part in BRACES.split(value)
            )
        lines.append(key + equals + value)
    return "\n".join(lines).replace('tag = "EN"', 'tag = "en-x-loud"')


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages with a language more."""
    folder = tmp_path_factory.mktemp("loud")
    without_caches = shutil.ignore_patterns("__pycache__", "target", "logs")
    for package in ("promptlab", "reports", "ingest", "dbt_project"):
        shutil.copytree(
            ROOT / package, folder / package, symlinks=True, ignore=without_caches
        )
    english = (TEXTS / "en.toml").read_text("utf-8")
    (folder / "reports" / "texts" / "xl.toml").write_text(shouted(english), "utf-8")
    return folder


def promptlab(checkout: Path, *args: str, **environ: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "promptlab", *args],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout)} | environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_report_speaks_a_language_whose_file_was_added(
    checkout: Path, example_db: Path
) -> None:
    shutil.copy(example_db, checkout / "w.duckdb")
    promptlab(
        checkout, "report", "cs-regression-v3.2", "--db", "w.duckdb", "--out", "out",
        "--format", "html,json,email,md", "--lang", "xl",
    )  # fmt: skip
    page = checkout / "out" / "cs-regression-v3.2" / "report.html"
    text = page.read_text("utf-8")
    assert '<html lang="en-x-loud"' in text
    assert "EVALUATION REPORT" in text
    assert "DO NOT SHIP" in text
    [document] = (checkout / "out").rglob("result.json")
    result = json.loads(document.read_text("utf-8"))
    worst = result["summary"]["alerts"][0]["message"]
    assert "SHARED CASES LOST THEIR MUST-HAVES: refund" in worst


def test_a_locale_chooses_it_and_others_fall_back_to_english(checkout: Path) -> None:
    asked = "from promptlab.settings import Settings; print(Settings().lang)"
    for locale, lang in {"xl_XX.UTF-8": "xl", "fr_FR.UTF-8": "en"}.items():
        done = subprocess.run(
            [sys.executable, "-c", asked],
            cwd=checkout,
            env=os.environ | {"PYTHONPATH": str(checkout), "LC_ALL": locale},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == lang
