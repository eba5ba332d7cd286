"""Who judged is said by the file of a tool, metric by metric; a verdict has a threshold."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from promptlab.contracts.gate import GateResult
from promptlab.history import exit_code, judge
from promptlab.reports.gate.policy import load_policy
from promptlab.warehouse import Warehouse
from tests.judges.test_labels import load, rows
from tests.marts import GATE, only

only_gate = only(*GATE, "fct_judge_verdicts", "fct_judge_agreement")

CORRECT, POLITE = "Correctness [GEval]", "Politeness [GEval]"
# of stories whose metrics others would count
ASKED, GRADED = "Asked [GEval]", "Graded [GEval]"


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
    folder: Path, title: str, number: int, *answers: list[dict[str, Any]]
) -> Path:
    """Write a run of DeepEval: the metrics of each answer."""
    file = folder / f"{title}_{number}.json"
    cases = [
        {
            "name": f"t{place}",
            "input": f"Q{place}?",
            "actualOutput": f"A{place} of night {number}",
            "success": all(each["success"] for each in metrics),
            "metricsData": metrics,
            "order": place,
            "metadata": {"id": f"case{place}"},
        }
        for place, metrics in enumerate(answers)
    ]
    run = {"testCases": cases, "metricsScores": [], "identifier": title}
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


TRUTH = [place % 3 != 0 for place in range(60)]
TRUTH_OF_GRADED = [place >= 60 for place in range(120)]


@pytest.fixture(scope="module")
@only_gate
def told(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse of all stories, each of a title; tests only read it."""
    folder = tmp_path_factory.mktemp("tools")
    warehouse = Warehouse(folder / "w.duckdb")
    criteria = [
        {"verboseLogs": f"Criteria:\n{text} \n \nEvaluation Steps:\n[]"}
        for text in ("Is it so?", "Is it so?", "Is it nice?")
    ]
    scores = [
        (1.0 if place % 3 == 0 else 0.9) if good else (0.0 if place < 20 else 0.8)
        for place, good in enumerate(TRUTH_OF_GRADED)
    ]
    with warehouse.kept_open():
        warehouse.ingest(
            night(folder, "models", 1, *_each(CORRECT, map(float, TRUTH), "gpt-4o"))
        )
        label(warehouse, folder / "models.csv", CORRECT, TRUTH)
        warehouse.ingest(
            night(folder, "models", 2, *_each(CORRECT, [1.0] * 60, "gpt-5-mini"))
        )
        both = [
            [metric("Other [GEval]", 1.0, "gpt-5-mini"), *polite]
            for polite in _each(POLITE, map(float, TRUTH), "gpt-4o")
        ]
        warehouse.ingest(night(folder, "metrics", 1, *both))
        label(warehouse, folder / "metrics.csv", POLITE, TRUTH)
        warehouse.ingest(night(folder, "graded", 1, *_each(GRADED, scores, "gpt-4o")))
        label(warehouse, folder / "graded.csv", GRADED, TRUTH_OF_GRADED)
        asked = [
            *([[metric(ASKED, 1.0, "gpt-4o", **of)]] for of in criteria),
            [[metric(ASKED, 1.0, "gpt-4o")], [metric(ASKED, 0.0, "gpt-5-mini")]],
            [
                [metric(ASKED, 0.0, "gpt-4o", error="no connection")],
                [metric(ASKED, 1.0, "gpt-4o")],
            ],
        ]
        for number, answers in enumerate(asked, 1):
            warehouse.ingest(night(folder, "asked", number, *answers))
        warehouse.build()
    return warehouse


def _each(name: str, scores: Iterable[float], model: str) -> list[list[dict[str, Any]]]:
    return [[metric(name, score, model)] for score in scores]


def judges_of(warehouse: Warehouse, title: str, dimension: str) -> list[str]:
    """Return the judges of a dimension, in the order of the runs."""
    return [
        name
        for (name,) in rows(
            warehouse,
            "select distinct on (load_id, verdicts.judge) verdicts.judge"
            " from marts.fct_judge_verdicts as verdicts"
            " inner join raw.tasks using (task_id)"
            f" where dimension_id = '{dimension}' and title = '{title}'"
            " order by load_id, verdicts.judge",
        )
    ]


def decided(warehouse: Warehouse, name: str) -> GateResult:
    """Return what is decided about the run in a file."""
    folder = warehouse.settings.db.parent
    policy = folder / "policy.toml"
    policy.write_text("version = 1\nmin_tnr = 0.7\n", "utf-8")
    file = str(folder / f"{name}.json")
    (result,) = judge(warehouse, file, load_policy(policy), lang="en")
    return result


def test_the_labels_of_one_model_say_nothing_about_another(told: Warehouse) -> None:
    first = decided(told, "models_1")
    assert exit_code([first], allow_inconclusive=False) == 0
    assert judges_of(told, "models", CORRECT) == ["gpt-4o", "gpt-5-mini"]
    assert judges_of(told, "models", "verdict") == ["gpt-4o", "gpt-5-mini"]
    [rule] = [r for r in decided(told, "models_2").rules if r.rule == "min_tnr"]
    assert rule.verdict == "inconclusive"
    assert "no judge of the run has labels" in rule.note


def test_the_labels_of_one_metric_say_nothing_about_the_judge_of_another(
    told: Warehouse,
) -> None:
    result = decided(told, "metrics_1")
    assert exit_code([result], allow_inconclusive=False) == 4
    assert "Other [GEval]" in result.headline


def test_other_criteria_or_a_second_model_are_another_judge(told: Warehouse) -> None:
    first, again, other, several, broken = judges_of(told, "asked", ASKED)
    assert first == again != other
    assert first.startswith("gpt-4o ")
    assert several == "gpt-4o, gpt-5-mini"
    assert broken == "gpt-4o"
    # a metric that broke has no verdict
    assert rows(
        told,
        "select case_id, verdict from marts.fct_judge_verdicts"
        f" where dimension_id = '{ASKED}'"
        " and task_id = (select max_by(task_id, load_id) from live.tasks) order by 1",
    ) == [("case0", None), ("case1", "pass")]


def test_a_metric_with_a_threshold_passes_and_fails_there(told: Warehouse) -> None:
    assert rows(
        told,
        "select n_judged, n_unjudged, round(tnr, 4), tpr from marts.fct_judge_agreement"
        f" where slice_kind = 'all' and dimension_id = '{GRADED}'",
    ) == [(120, 0, 0.3333, 1.0)]
