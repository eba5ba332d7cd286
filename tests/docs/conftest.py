"""Shared fixtures of the documentation tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT


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
