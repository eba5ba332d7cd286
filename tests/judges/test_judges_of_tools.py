"""Who judged is said by the file of a tool, metric by metric; a verdict has a threshold."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from promptlab.history import exit_code, judge
from promptlab.reports.gate.policy import load_policy
from promptlab.warehouse import Warehouse
from tests.judges.test_labels import load, rows
from tests.marts import GATE, only

JUDGES = ("dim_tasks", "fct_judge_verdicts", "fct_judge_agreement")
only_judges = only(*JUDGES)
only_gate = only(*GATE, *JUDGES)

CORRECT, POLITE = "Correctness [GEval]", "Politeness [GEval]"


def metric(name: str, score: float, model: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "threshold": 0.5,
        "success": score >= 0.5,
        "score": score,
        "reason": "so it is",
        "strictMode": False,
        "evaluationModel": model,
        **more,
    }


def night(
    folder: Path, number: int, *answers: list[dict[str, Any]], same: bool = False
) -> Path:
    """Write a run of DeepEval: the metrics of each answer."""
    file = folder / f"test_run_{number}.json"
    cases = [
        {
            "name": f"t{place}",
            "input": f"Q{place}?",
            "actualOutput": f"A{place}" if same else f"A{place} of night {number}",
            "success": all(each["success"] for each in metrics),
            "metricsData": metrics,
            "order": place,
            "metadata": {"id": f"case{place}"},
        }
        for place, metrics in enumerate(answers)
    ]
    run = {"testCases": cases, "metricsScores": [], "identifier": "bot"}
    run["hyperparameters"] = {"model": "acme/large", "prompt version": "v1"}
    file.write_text(json.dumps(run), "utf-8")
    return file


def label(warehouse: Warehouse, file: Path, dimension: str, truth: list[bool]) -> None:
    """Label all answers of the newest run."""
    out = io.StringIO(newline="")
    table = csv.writer(out)
    table.writerow(["task_id", "case_id", "round_id", "labeler", "label", "dimension"])
    for task_id, case_id, round_id in rows(
        warehouse,
        "select task_id, case_id, round_id from live.rounds"
        " where task_id = (select max_by(task_id, load_id) from live.tasks)",
    ):
        good = truth[int(case_id.removeprefix("case"))]
        word = "pass" if good else "fail"
        table.writerow([task_id, case_id, round_id, "ann", word, dimension])
    load(warehouse, file, out.getvalue())


def judges_of(warehouse: Warehouse, dimension: str) -> list[str]:
    """Return the judges of a dimension, in the order of the runs."""
    return [
        name
        for (name,) in rows(
            warehouse,
            "select distinct on (load_id, verdicts.judge) verdicts.judge"
            " from marts.fct_judge_verdicts as verdicts"
            " inner join raw.tasks using (task_id)"
            f" where dimension_id = '{dimension}' order by load_id, verdicts.judge",
        )
    ]


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "w.duckdb")


def decide(warehouse: Warehouse, folder: Path) -> tuple[int, str]:
    policy = folder / "policy.toml"
    policy.write_text("version = 1\nmin_tnr = 0.7\n", "utf-8")
    (result,) = judge(warehouse, "latest", load_policy(policy), lang="en")
    return exit_code([result], allow_inconclusive=False), result.headline


@only_gate
def test_the_labels_of_one_model_say_nothing_about_another(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    truth = [place % 3 != 0 for place in range(60)]
    old = [[metric(CORRECT, float(good), "gpt-4o")] for good in truth]
    new = [[metric(CORRECT, 1.0, "gpt-5-mini")] for _ in truth]
    warehouse.ingest(night(tmp_path, 1, *old))
    label(warehouse, tmp_path / "labels.csv", CORRECT, truth)
    warehouse.build()
    assert decide(warehouse, tmp_path)[0] == 0
    warehouse.ingest(night(tmp_path, 2, *new))
    warehouse.build()
    assert judges_of(warehouse, CORRECT) == ["gpt-4o", "gpt-5-mini"]
    assert judges_of(warehouse, "verdict") == ["gpt-4o", "gpt-5-mini"]
    policy = tmp_path / "policy.toml"
    (result,) = judge(warehouse, "latest", load_policy(policy), lang="en")
    [rule] = [each for each in result.rules if each.rule == "min_tnr"]
    assert rule.verdict == "inconclusive"
    assert "no judge of the run has labels" in rule.note


@only_gate
def test_the_labels_of_one_metric_say_nothing_about_the_judge_of_another(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    truth = [place % 3 != 0 for place in range(60)]
    answers = [
        [metric(CORRECT, 1.0, "gpt-5-mini"), metric(POLITE, float(good), "gpt-4o")]
        for good in truth
    ]
    warehouse.ingest(night(tmp_path, 1, *answers))
    label(warehouse, tmp_path / "labels.csv", POLITE, truth)
    warehouse.build()
    code, out = decide(warehouse, tmp_path)
    assert code == 4
    assert CORRECT in out


@only_judges
def test_other_criteria_or_a_second_model_are_another_judge(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    def asked(criteria: str) -> dict[str, str]:
        return {"verboseLogs": f"Criteria:\n{criteria} \n \nEvaluation Steps:\n[]"}

    for file in (
        night(tmp_path, 1, [metric(CORRECT, 1.0, "gpt-4o", **asked("Is it so?"))]),
        night(tmp_path, 2, [metric(CORRECT, 1.0, "gpt-4o", **asked("Is it so?"))]),
        night(tmp_path, 3, [metric(CORRECT, 1.0, "gpt-4o", **asked("Is it nice?"))]),
        night(
            tmp_path,
            4,
            [metric(CORRECT, 1.0, "gpt-4o")],
            [metric(CORRECT, 0.0, "gpt-5-mini")],
        ),
        night(
            tmp_path,
            5,
            [metric(CORRECT, 0.0, "gpt-4o", error="no connection")],
            [metric(CORRECT, 1.0, "gpt-4o")],
        ),
    ):
        warehouse.ingest(file)
    warehouse.build()
    first, again, other, several, broken = judges_of(warehouse, CORRECT)
    assert first == again != other
    assert first.startswith("gpt-4o ")
    assert several == "gpt-4o, gpt-5-mini"
    assert broken == "gpt-4o"
    # a metric that broke has no verdict
    assert rows(
        warehouse,
        "select case_id, verdict from marts.fct_judge_verdicts"
        f" where dimension_id = '{CORRECT}'"
        " and task_id = (select max_by(task_id, load_id) from live.tasks) order by 1",
    ) == [("case0", None), ("case1", "pass")]


@only_judges
def test_a_metric_with_a_threshold_passes_and_fails_there(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    truth = [place >= 60 for place in range(120)]
    scored = [
        (1.0 if place % 3 == 0 else 0.9) if good else (0.0 if place < 20 else 0.8)
        for place, good in enumerate(truth)
    ]
    warehouse.ingest(
        night(tmp_path, 1, *([metric(CORRECT, each, "gpt-4o")] for each in scored))
    )
    label(warehouse, tmp_path / "labels.csv", CORRECT, truth)
    warehouse.build()
    assert rows(
        warehouse,
        "select n_judged, n_unjudged, round(tnr, 4), tpr from marts.fct_judge_agreement"
        " where slice_kind = 'all'",
    ) == [(120, 0, 0.3333, 1.0)]
