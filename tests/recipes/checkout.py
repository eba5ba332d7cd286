"""A copy of the project in which the recipes of CONTRIBUTING.md are followed.

Whatever a recipe's edit touches has to be named in its row there; so a recipe that
leaves a file out cannot be followed.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb

from promptlab.relations import dictionaries
from tests.conftest import ROOT

PACKAGES = ("promptlab", "ingest", "reports", "dbt_project")
_ROW = re.compile(r"^\| (an? .+?) \| (.+) \|$", re.M)
_NAMED = re.compile(r"`([^`]+)`")
_PLACEHOLDER = re.compile(r"<\w+>")
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
RECIPES = dict(_ROW.findall(PAGE))


class Checkout:
    """The packages below one folder, to be changed and run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        ignored = shutil.ignore_patterns("__pycache__", "target", "logs")
        for package in PACKAGES:
            shutil.copytree(
                ROOT / package, root / package, symlinks=True, ignore=ignored
            )
        shutil.copy(ROOT / "pyproject.toml", root)

    def recipe(self, to_add: str) -> Recipe:
        """The recipe ``to_add`` as CONTRIBUTING calls it: ``a matcher``."""
        return Recipe(self.root, RECIPES[to_add])

    def run(self, *args: str) -> str:
        """Return the output of a command, which must succeed."""
        return self._python("-m", "promptlab", *args)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Return rows of the warehouse."""
        with duckdb.connect(str(self.root / "w.duckdb"), read_only=True) as con:
            return dictionaries(con, sql)

    def health(self) -> list[dict[str, Any]]:
        """Return the result of the doctor."""
        return json.loads(self.run("doctor", "--db", "w.duckdb", "--format", "json"))

    def lint_imports(self) -> str:
        """Check the import contracts of `pyproject.toml`."""
        program = (
            "from importlinter.cli import lint_imports; raise SystemExit("
            "lint_imports(no_cache=True))"
        )
        return self._python("-c", program)

    def evaluate(self, program: str) -> str:
        return self._python("-c", program).strip()

    def _python(self, *args: str) -> str:
        done = subprocess.run(
            [sys.executable, *args],
            cwd=self.root,
            env=os.environ | {"PYTHONPATH": str(self.root), "PROMPTLAB_LANG": "en"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


class Recipe:
    """Edits of a checkout, each of a file that the recipe names."""

    def __init__(self, root: Path, text: str) -> None:
        self._root = root
        self._named = [_files_called(name) for name in _NAMED.findall(text)]

    def write(self, path: str, text: str) -> None:
        """A file that was not there."""
        file = self._file(path)
        assert not file.exists()
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")

    def append(self, path: str, text: str) -> None:
        with self._file(path).open("a", encoding="utf-8") as file:
            file.write(text)

    def edit(self, path: str, *changes: tuple[str, str]) -> None:
        """Replace the first place of each old text by the new one."""
        file = self._file(path)
        text = file.read_text("utf-8")
        for old, new in changes:
            assert old in text, f"{path}: {old}"
            text = text.replace(old, new, 1)
        file.write_text(text, "utf-8")

    def add_row(self, path: str, **values: str) -> None:
        """A row of a seed: what is not named stays empty."""
        file = self._file(path)
        with file.open(encoding="utf-8", newline="") as seed:
            columns = next(csv.reader(seed))
        assert set(values) <= set(columns)
        with file.open("a", encoding="utf-8", newline="") as seed:
            csv.DictWriter(seed, columns, lineterminator="\n").writerow(values)

    def _file(self, path: str) -> Path:
        assert any(name.search(path) for name in self._named), (
            f"the recipe does not name {path}"
        )
        return self._root / path


def _files_called(name: str) -> re.Pattern[str]:
    """The paths of a file, with or without its suffix, or of those in a folder."""
    path = re.escape(_PLACEHOLDER.sub("*", name)).replace(r"\*", "[^/]+")
    return re.compile(
        rf"(^|/){path}" + (r"[^/]+$" if name[-1] == "/" else r"(\.\w+)?$")
    )
