"""A file of some of its rows: it is shown, and said of wherever it is compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptlab.operations.health import examine
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA

LOG = json.loads((DATA / "inspect_ai" / "late.json").read_text("utf-8"))


def _log(name: str, day: int, n_samples: int | None = None) -> dict[str, Any]:
    about = LOG["eval"] | {
        "task_id": name,
        "run_id": name,
        "model": f"mock/{name}",
        "created": f"2026-11-{day:02}T00:00:00+00:00",
    }
    return LOG | {"eval": about, "samples": LOG["samples"][:n_samples]}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    folder = tmp_path_factory.mktemp("logs")
    logs = {
        "whole": _log("whole", 1),
        "cut": _log("cut", 2, 1),
        "later": _log("later", 3),
        "empty": _log("empty", 4, 0),
    }
    for name, log in logs.items():
        (folder / f"{name}.json").write_text(json.dumps(log), "utf-8")
    made = Warehouse(folder / "w.duckdb")
    made.ingest(folder)
    made.build()
    return made


def test_it_is_known_by_the_rows_that_it_claims(warehouse: Warehouse) -> None:
    told = warehouse.sql(
        "select task_id, is_partial, n_rows_held from marts.dim_tasks order by task_id"
    )
    assert told.rows() == [
        ("cut", True, 1),
        ("empty", True, 0),
        ("later", False, None),
        ("whole", False, None),
    ]


def test_an_alert_says_how_many_there_are(warehouse: Warehouse) -> None:
    n_samples = len(LOG["samples"])
    told = {
        task: next(
            alert.message
            for alert in warehouse.result(task).summary.alerts
            if alert.code in ("partial_task", "totals_only")
        )
        for task in ("cut", "empty")
    }
    assert told == {
        "cut": f"The file claims totals over {n_samples} rows and contains 1: the task is"
        " not ranked, and is only a baseline if it is named.",
        "empty": "The file contains totals and no rows: the task is not ranked, and is"
        " only a baseline if it is named.",
    }


def test_it_has_no_rank(warehouse: Warehouse) -> None:
    ranks = dict(
        warehouse.sql("select task_id, score_rank from marts.fct_leaderboard").rows()
    )
    assert ranks["cut"] is None
    assert ranks["empty"] is None
    assert ranks["later"] == ranks["whole"] == 1


def test_a_comparison_says_so(warehouse: Warehouse) -> None:
    notes = warehouse.sql(
        "select candidate_task_id from marts.fct_comparison_notes"
        " where note = 'candidate_partial' order by 1"
    )
    assert notes.rows() == [("cut",), ("empty",)]


def test_a_gate_neither_passes_nor_fails_it(warehouse: Warehouse) -> None:
    gate = warehouse.result("cut", lang="en").gate
    assert gate.decision == "cannot_tell"
    assert "contains 1 rows" in gate.headline
    rules = [rule.rule for rule in warehouse.result("later", lang="en").gate.rules]
    assert "all_rows" not in rules


def test_rounds_in_error_are_no_gap_of_the_scorers(warehouse: Warehouse) -> None:
    codes = warehouse.sql("select code from marts.fct_alerts where task_id = 'whole'")
    assert "low_coverage" not in codes["code"].to_list()
    assert "high_error_share" in codes["code"].to_list()


def test_doctor_names_it(
    warehouse: Warehouse,
) -> None:
    [found] = [
        finding
        for finding in examine(warehouse)
        if finding.name == "totals that files claim are what their rows give"
    ]
    assert found.state == "warn"
    assert "cut" in found.value


def test_the_index_marks_it(tmp_path: Path) -> None:
    for name, log in {"cut": _log("cut", 2, 1), "empty": _log("empty", 4, 0)}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(log), "utf-8")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(tmp_path)
    warehouse.build()
    warehouse.report(["cut"], tmp_path)
    page = (tmp_path / "index.html").read_text("utf-8")
    n_samples = len(LOG["samples"])
    assert page.count("partial:") == 1
    assert f"partial: 1 of {n_samples} rows" in page
    assert page.count("the file contains totals and no rows") == 1
