"""What the tests of the documentation share."""

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
def example_folder(example_db: Path, tmp_path: Path) -> Path:
    """What `make demo` leaves behind, in a folder of its own."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "demo.duckdb").symlink_to(example_db)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path
