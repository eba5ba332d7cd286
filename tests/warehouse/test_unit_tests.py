"""The dbt project's unit tests: each rule over rows that were worked out by hand."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from promptlab.build.dbt import run_dbt
from promptlab.errors import BuildError
from promptlab.paths import dbt_project
from promptlab.settings import Settings


@pytest.mark.slow
def test_every_rule_gives_what_its_unit_test_says(
    example_db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(db=Path(shutil.copy(example_db, tmp_path / "w.duckdb")))
    try:
        run_dbt(settings, ["--select", "test_type:unit"], command="test", verbose=True)
    except BuildError as error:
        pytest.fail(str(error))
    written = sum(
        len(yaml.safe_load(file.read_text("utf-8")).get("unit_tests", []))
        for file in (dbt_project() / "models").rglob("*.yml")
    )
    assert written > 100
    [run] = re.findall(r"Finished running.* (\d+) unit tests", capsys.readouterr().err)
    assert int(run) == written
