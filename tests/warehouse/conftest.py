"""The dbt project, parsed once for all tests of this folder: it takes ten seconds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from promptlab.build.dbt import run_dbt
from promptlab.paths import dbt_target
from promptlab.settings import Settings
from tests.conftest import shared_once

THREADS = 3


@pytest.fixture(scope="session")
def dbt_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of a warehouse for dbt, which parses again for any other ones.

    Beside its file is the manifest.
    """

    def parse(folder: Path) -> None:
        run_dbt(settings(folder), command="parse")
        target = dbt_target(folder / "w.duckdb")
        shutil.copy(target / "manifest.json", folder / "manifest.json")

    def settings(folder: Path) -> Settings:
        return Settings(
            db=folder / "w.duckdb",
            memory_limit="1GiB",
            threads=THREADS,
            temp_directory=folder / "spill",
        )

    return settings(shared_once(tmp_path_factory, "dbt", parse))
