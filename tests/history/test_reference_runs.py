"""Files in, verdicts out: which runs a task is tested against, from build to build."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptlab.database.rows import dictionaries
from promptlab.operations.purge import purge
from promptlab.warehouse import Warehouse


def write(
    folder: Path, task_id: str, day: int, answers: dict[str, str], prompt: str = "v1"
) -> None:
    """A run; the answers of a case are one letter per round, ``y`` is right."""
    document = {
        "task": {
            "task_id": task_id, "title": "suite", "prompt_version": prompt,
            "model": "m", "triggered_by": "ci", "env": {},
            "created_at": f"2026-02-{day:02}T00:00:00Z",
        },
        "cases": [
            {
                "case_id": case_id,
                "context": {"question": case_id},
                "rounds": [
                    {
                        "round_id": f"{case_id}-{n}", "run_index": n, "raw_output": text,
                        "parsed_output": None, "metadata": {},
                        "executed_at": "2026-02-01T00:00:00Z",
                    }
                    for n, text in enumerate(rounds, 1)
                ],
                "baselines": [
                    {
                        "baseline_id": "g", "type": "golden_answer",
                        "payload": {"text": "y"}, "owner": "t", "confidence": 1,
                    }
                ],
            }
            for case_id, rounds in answers.items()
        ],
        "dimensions": [
            {
                "dimension_id": "accuracy", "name": "Accuracy", "weight": 1, "target": {},
                "parameters": {"match_rule": "exact"}, "scoring_mode": "higher_better",
            }
        ],
        "extras": {},
    }  # fmt: skip
    (folder / f"{task_id}.json").write_text(json.dumps(document), "utf-8")


GOOD = {f"c{n}": "yyy" for n in range(10)}
BROKEN = GOOD | {"c0": "nnn"}


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """Two nights of one prompt version, and a candidate in which a case broke."""
    files = tmp_path / "in"
    files.mkdir()
    write(files, "night1", 1, GOOD)
    write(files, "night2", 3, GOOD)
    write(files, "new", 4, BROKEN, "v2")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(files)
    warehouse.build()
    return warehouse


def verdict(warehouse: Warehouse, task_id: str) -> dict:
    with warehouse.examining() as con:
        [row] = dictionaries(
            con, "from marts.fct_verdicts where task_id = ?", [task_id]
        )
        return row


def test_a_new_prompt_is_tested_against_all_runs_of_its_baselines_prompt(warehouse):
    row = verdict(warehouse, "new")
    assert (row["baseline_task_id"], row["n_reference_runs"]) == ("night2", 2)
    assert (row["n_rounds_now"], row["n_rounds_before"]) == (30, 60)
    assert row["p"] == pytest.approx(1 / 84 / 2, abs=1e-9)  # 3 of 9 rounds: 84 ways
    assert row["n_listed"] == 1
    with warehouse.examining() as con:
        [case] = dictionaries(con, "from marts.fct_verdict_cases where is_listed")
    assert (case["case_id"], case["n_passed_now"], case["n_rounds_now"]) == ("c0", 0, 3)
    assert (case["n_passed_before"], case["n_rounds_before"]) == (6, 6)


def test_an_earlier_run_that_comes_late_is_counted(warehouse, tmp_path):
    late = tmp_path / "late"
    late.mkdir()
    write(late, "night1b", 2, GOOD)
    warehouse.ingest(late)
    warehouse.build()
    assert verdict(warehouse, "new")["n_reference_runs"] == 3
    assert verdict(warehouse, "night2")["n_reference_runs"] == 2
    built = verdict(warehouse, "new")
    warehouse.build(full_refresh=True)
    assert verdict(warehouse, "new") == built


def test_the_first_run_has_no_verdict(warehouse):
    with warehouse.examining() as con:
        assert not dictionaries(con, "from marts.fct_verdicts where task_id = 'night1'")


def test_a_run_that_is_purged_is_a_reference_no_more(warehouse):
    purge(warehouse, tasks=["night1"])
    warehouse.build()
    assert verdict(warehouse, "new")["n_reference_runs"] == 1


def test_a_case_that_is_asked_otherwise_is_another_case(warehouse, tmp_path):
    changed = tmp_path / "changed"
    changed.mkdir()
    write(changed, "next", 5, {"c0": "nnn", "new": "yyy"}, "v3")
    text = (changed / "next.json").read_text("utf-8")
    asked = '"question": "c0"'
    assert asked in text
    (changed / "next.json").write_text(text.replace(asked, '"question": "else"'))
    warehouse.ingest(changed)
    warehouse.build()
    row = verdict(warehouse, "next")
    assert (row["n_cases"], row["p"], row["calibration"]) == (0, None, None)
