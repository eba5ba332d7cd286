"""Shared fixtures of the documentation tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a `promptlab` that starts quickly."""
    folder = tmp_path_factory.mktemp("programs")
    call = [sys.executable, "-m", "tests.docs.forks", str(folder)]
    pipe = subprocess.PIPE  # a closed stdin ends it
    with subprocess.Popen(call, cwd=ROOT, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield folder


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a page with what it should be, or write it: ``page(path, text)``."""

    def check(path: str, text: str) -> None:
        file = ROOT / path
        if request.config.getoption("--update-golden"):
            file.write_text(text, "utf-8")
        assert file.read_text("utf-8") == text, (
            f"{path} is stale; `make golden` writes it anew"
        )

    return check


@pytest.fixture
def page_db(request: pytest.FixtureRequest) -> Path:
    """The examples in the language of the page that is tested; open it read-only."""
    spec = getattr(request.node, "callspec", None)
    is_chinese = spec is not None and "zh" in str(spec.params.get("path"))
    db: Path = request.getfixturevalue("chinese_db" if is_chinese else "english_db")
    return db


@pytest.fixture
def example_folder(page_db: Path, tmp_path: Path) -> Path:
    """The result of `make demo`, in a separate folder."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "demo.duckdb").symlink_to(page_db)
    for name in ("examples", "examples_zh", "examples_labels"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path
