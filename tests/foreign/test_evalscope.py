"""EvalScope's folders: subsets, attempts, requests that failed, judges that broke."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptlab.ingest.plan import plan
from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import reading_from, reading_of, table
from tests.foreign.test_oracles import SHARED

_ORACLES = SHARED / "oracles_chinese_tools.json"
FACTS: dict[str, Any] = (
    json.loads(_ORACLES.read_text("utf-8")) if _ORACLES.is_file() else {}
)
VERSIONS = ("evalscope", "evalscope-1.0.0", "evalscope-0.13.2")
RUNS = [
    (version, run)
    for version in VERSIONS
    for run in FACTS.get(version, {"runs": ()})["runs"]
]


def _row(index: int, value: Mapping[str, float], **score: Any) -> dict[str, Any]:
    perf = {"latency": 0.25, "input_tokens": 9, "output_tokens": 2}
    attempt = {"group_id": index, "generation_index": 0, "sample_metadata": None}
    attempt |= {name: score.pop(name) for name in [*attempt] if name in score}
    return {
        "index": index,
        "target": ["Rhine"],
        "messages": [
            {"id": f"m{index}", "role": "user", "content": f"River {index}?"},
            {
                "role": "assistant",
                "content": "Rhine",
                "model": "m",
                "perf_metrics": perf,
            },
        ],
        "sample_score": {
            **attempt,
            "score": {"value": value, "status": "success", "prediction": "Rhine"}
            | score,
        },
    }


def _folder(
    path: Path, rows: list[dict[str, Any]], requested: int | None = None
) -> Path:
    run = path / "20260901_100000"
    reviews, reports = run / "reviews" / "m", run / "reports" / "m"
    for each in (reviews, reports):
        each.mkdir(parents=True)
    (reviews / "rivers_long,_ones.jsonl").write_text("\n".join(map(json.dumps, rows)))
    metric = {"name": "acc", "num": len(rows), "score": 0.5, "categories": []}
    report: dict[str, Any] = {"dataset_name": "rivers", "model_name": "m"}
    if requested is not None:
        report["execution_summary"] = {
            "requested": requested,
            "subsets": {"long,_ones": {"requested": requested}},
        }
    report["metrics"] = [metric]
    (reports / "rivers.json").write_text(json.dumps(report))
    return path


def test_a_row_is_a_case_of_its_subset_whose_status_is_no_verdict(
    tmp_path: Path,
) -> None:
    rows = [_row(1, {"acc": 0.0}), _row(0, {"acc": 1.0})]
    reading = reading_of(_folder(tmp_path, rows))
    assert not reading.problems
    rounds = table(reading, "rounds")
    assert rounds["case_id"].to_list() == ["long,_ones/0", "long,_ones/1"]
    assert rounds["reported_status"].to_list() == [None, None]
    assert rounds["latency_ms"].to_list() == [250.0, 250.0]
    assert rounds["input_tokens"].to_list() == [9, 9]
    assert table(reading, "reported_scores")["score"].to_list() == [1.0, 0.0]
    assert json.loads(table(reading, "cases")["context"][0]) == {
        "messages": [{"role": "user", "content": "River 0?"}]
    }
    (task,) = table(reading, "tasks").to_dicts()
    assert (task["title"], task["model"]) == ("rivers", "m")
    assert task["created_at"].isoformat() == "2026-09-01T10:00:00+00:00"


def test_attempts_are_rounds_and_the_users_id_names_the_case(tmp_path: Path) -> None:
    rows = [
        _row(index, {"acc": 1.0}, group_id=index // 2, generation_index=index % 2)
        for index in (3, 0, 2, 1)
    ]
    for row in rows:
        group = row["sample_score"]["group_id"]
        row["sample_score"]["sample_metadata"] = {"id": f"q{group}"}
    rounds = table(reading_of(_folder(tmp_path, rows)), "rounds")
    assert rounds["round_id"].to_list() == [
        f"long,_ones/q{group}-{n}" for group in (0, 1) for n in (1, 2)
    ]


@pytest.mark.parametrize("requested", [4, None])
def test_a_request_that_failed_is_a_missing_case_and_is_named(
    tmp_path: Path, requested: int | None
) -> None:
    rows = [_row(index, {"acc": 1.0}) for index in (3, 0, 2)]
    reading = reading_of(_folder(tmp_path, rows, requested))
    (problem,) = reading.problems
    assert problem.code == "rows_missing"
    assert "place 1 of long,_ones" in problem.message
    claimed = table(reading, "claims")["value"].to_list()
    assert claimed == [requested or 3]


def test_what_a_judge_that_failed_should_have_judged_is_unevaluated(
    tmp_path: Path,
) -> None:
    stand_in = {"status": "degraded", "main_score_name": "bleu-1"}
    rows = [_row(0, {"acc": 1.0}), _row(1, {"bleu-1": 0.25}, **stand_in)]
    reading = reading_of(_folder(tmp_path, rows))
    assert [each.code for each in reading.problems] == ["judge_broke"]
    assert table(reading, "rounds")["reported_status"].to_list()[1] == "unevaluated"
    scores = table(reading, "reported_scores").select("value", "score").rows()
    assert scores == [(1.0, 1.0), (0.25, None)]
    weights = table(reading, "dimension_configs").filter(pl.col("weight") > 0)
    assert weights["name"].to_list() == ["acc"]


def _tasks(version: str, run: str) -> dict[str, Reading]:
    """The readings of a run by data set."""
    folder = SHARED / FACTS[version]["runs"][run]["folder"]
    return {
        found.path.stem: reading_from(found, kind)
        for found, kind in plan([folder])
        if kind == "evalscope"
    }


@pytest.mark.parametrize(("version", "run"), RUNS)
def test_subsets_have_the_rows_cases_and_means_of_the_files(
    version: str, run: str
) -> None:
    readings = _tasks(version, run)
    for fact in FACTS[version]["runs"][run]["reviews"].values():
        reading = readings[fact["dataset"]]
        below = pl.col("case_id").str.starts_with(f"{fact['subset']}/")
        rounds = table(reading, "rounds").filter(below)
        assert rounds.height == fact["rows"]
        assert rounds["case_id"].n_unique() == fact.get("cases", fact["rows"])
        scores = table(reading, "reported_scores").filter(below)
        means = fact.get("mean_per_value_key") or {
            name: {"n": fact["rows"], "mean": mean}
            for name, mean in fact["mean"].items()
        }
        for name, told in means.items():
            own = "AverageAccuracy" if name == "result" else name
            values = scores.filter(dimension_id=own)["value"]
            assert values.len() == told["n"]
            assert values.mean() == pytest.approx(told["mean"], abs=1e-6)
        missing = [
            f"{place} of {fact['subset']}" for place in fact.get("missing_index", ())
        ]
        told_of = " ".join(each.message for each in reading.problems)
        assert all(each in told_of for each in missing)
        assert len(missing) <= told_of.count(" of ")
        if not missing:
            assert f" of {fact['subset']}" not in told_of
        if "prompt_tokens" in fact:
            assert rounds["input_tokens"].sum() == fact["prompt_tokens"]


@pytest.mark.parametrize("version", [each for each in VERSIONS if each in FACTS])
def test_two_nights_pair_by_case_and_differ_as_the_facts_say(version: str) -> None:
    nights = [_tasks(version, run) for run in ("night1", "night2")]
    for name, pair in FACTS[version]["pairs"].items():
        fact = pair.get("at_least_0.5", pair)
        passed = []
        for readings in nights:
            scores = table(readings[name], "reported_scores")
            main = pair.get("metric") or scores["dimension_id"][0]
            of_main = scores.filter(dimension_id=main)
            passed.append(
                dict(of_main.select("case_id", pl.col("value") >= 0.5).rows())
            )
        first, second = passed
        assert len(first.keys() & second.keys()) == fact["in_both"]
        assert not first.keys() ^ second.keys()
        assert sum(first.values()) == fact["passed_first"]
        assert sum(second.values()) == fact["passed_second"]
        changes = Counter((first[case], second[case]) for case in first)
        assert changes[True, False] == len(fact["broke"])
        assert changes[False, True] == len(fact["fixed"])


@pytest.mark.skipif(not FACTS, reason="no real files of the tool at hand")
def test_a_resumed_run_is_the_same_run_and_another_night_is_not() -> None:
    broken, resumed = (
        _tasks("evalscope", run)["general_mcq"]
        for run in ("apierror", "apierror_resumed")
    )
    assert broken.runs.keys() == resumed.runs.keys()
    first, second = (
        _tasks("evalscope", run)["general_mcq"] for run in ("night1", "night2")
    )
    assert not first.runs.keys() & second.runs.keys()
