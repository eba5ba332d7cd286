"""The dbt project's unit tests: each rule over rows that were worked out by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from promptlab.build.dbt import run_dbt
from promptlab.errors import BuildError
from promptlab.paths import dbt_project
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse
from tests.ingest.test_load import task, write


@pytest.mark.slow
def test_a_full_refresh_by_dbt_builds_all_and_every_rule_gives_what_its_unit_test_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cure that messages name: nothing of it fails or is left out."""
    db = tmp_path / "w.duckdb"
    Warehouse(db).ingest(write(tmp_path / "one.json", task("one")))
    Warehouse(db).build()
    try:
        run_dbt(
            Settings(db=db),
            ["--full-refresh", "--selector", "everything"],
            verbose=True,
        )
    except BuildError as error:
        pytest.fail(str(error))
    assert Warehouse(db).last_build().has_all
    assert Warehouse(db).last_build().is_of_this_project
    written = sum(
        len(yaml.safe_load(file.read_text("utf-8")).get("unit_tests", []))
        for file in (dbt_project() / "models").rglob("*.yml")
    )
    assert written > 100
    [run] = re.findall(r"Finished running.* (\d+) unit tests", capsys.readouterr().err)
    assert int(run) == written
