"""Langfuse's dataset runs: what is asked, answered and scored stands in several files."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptlab.ingest.plan import plan
from promptlab.ingest.raw.rows import Reading
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA, reading_from, reading_of, table
from tests.foreign.test_evalscope import FACTS
from tests.foreign.test_oracles import SHARED

EARLY = DATA / "langfuse" / "early"
LATE = DATA / "langfuse" / "late"
EXPERIMENT = DATA / "langfuse" / "late_experiment"
CASES = ["rhine", "ebro", "volga", "vistula"]


def _changed(folder: Path, name: str, change: Callable[[Any], None]) -> Reading:
    """Read the late run with one file changed."""
    shutil.copytree(LATE, folder, dirs_exist_ok=True)
    document = json.loads((folder / name).read_text("utf-8"))
    change(document)
    (folder / name).write_text(json.dumps(document), "utf-8")
    return reading_of(folder)


def _value(reading: Reading, case: str, name: str = "right") -> list[float | None]:
    scores = table(reading, "reported_scores")
    return scores.filter(case_id=case, dimension_id=name)["value"].to_list()


def test_a_run_is_joined_with_its_questions_answers_and_scores() -> None:
    reading = reading_of(EARLY)
    assert not reading.problems
    (task,) = table(reading, "tasks").to_dicts()
    assert (task["title"], task["model"]) == ("seas of rivers", "acme-small")
    assert task["prompt_version"] == "short prompt"
    assert json.loads(task["settings"]) == {"temperature": 0.2}
    cases = table(reading, "cases")
    assert cases["case_id"].to_list() == CASES
    assert json.loads(cases["context"][0])["input"].startswith("Into which sea")
    assert json.loads(cases["categories"][0]) == {"area": "sea"}
    assert table(reading, "baselines").height == 4
    rounds = table(reading, "rounds")
    assert rounds["raw_output"][0] == "North Sea"
    assert rounds["latency_ms"].to_list() == [500, 750, 1000, 1250]
    assert json.loads(rounds["metadata"][0])["cost"] == 0.001
    means = table(reading, "claims").drop_nulls("dimension_id")
    assert means.select("dimension_id", "value").rows() == [("right", 0.75)]
    (primary,) = table(reading, "dimension_configs").filter(pl.col("weight") > 0)[
        "name"
    ]
    assert primary == "right"  # a number has no scale


def test_a_category_is_a_label_and_its_place_in_a_list_no_score() -> None:
    scores = table(reading_of(EARLY), "reported_scores").filter(dimension_id="tone")
    assert scores.select("value", "score").rows() == [(None, None)]
    assert json.loads(scores["payload"][0]) == {"given": "friendly"}


def test_an_item_whose_task_failed_is_no_wrong_answer() -> None:
    statuses = table(reading_of(LATE), "rounds")["reported_status"].to_list()
    assert statuses == [None, None, "unevaluated", None]
    newer = table(reading_of(EXPERIMENT), "rounds")
    assert newer["reported_status"].to_list() == [None, None, "error", None]
    assert newer["error"].drop_nulls().to_list() == ["level ERROR"]


SCORES: dict[str, tuple[dict[str, Any], float | None]] = {
    "a later score": ({"value": 1, "timestamp": "2026-11-23T00:00:00.000Z"}, 1.0),
    "an earlier score": ({"value": 1, "timestamp": "2026-11-01T00:00:00.000Z"}, 0.0),
    "a score of a step": (
        {"value": 1, "observationId": "step", "timestamp": "2026-11-23T00:00:00.000Z"},
        0.0,
    ),
    "a score of another trace": (
        {"value": 1, "traceId": "other", "timestamp": "2026-11-23T00:00:00.000Z"},
        0.0,
    ),
    "a score of another run": (
        {"value": 1, "traceId": None, "datasetRunId": "other"},
        0.0,
    ),
    "a score without a number": (
        {"value": None, "timestamp": "2026-11-23T00:00:00.000Z"},
        None,
    ),
}


@pytest.mark.parametrize("what", SCORES)
def test_of_several_scores_of_a_name_the_last_of_the_answer_counts(
    what: str, tmp_path: Path
) -> None:
    change, expected = SCORES[what]

    def add(page: Any) -> None:
        own = next(
            each for each in page["data"]
            if each["name"] == "right" and each["traceId"] == "latetrace1"
        )  # fmt: skip
        page["data"].append({**own, **change})

    assert _value(_changed(tmp_path, "scores.json", add), "ebro") == [expected]


def test_a_score_of_a_step_counts_where_the_whole_has_none(tmp_path: Path) -> None:
    def below(page: Any) -> None:
        for each in page["data"]:
            each["observationId"] = each["traceId"] and "step"

    assert _value(_changed(tmp_path, "scores.json", below), "rhine") == [1.0]


TOLD: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "the run alone": (("run.json",), ["answers_missing"]),
    "the run with scores": (("run.json", "scores.json"), ["answers_missing"]),
    "the run with traces": (("run.json", "traces.json"), []),
    "questions alone": (("dataset_items.json",), ["totals_only"]),
    "scores alone": (("scores.json",), ["totals_only"]),
    "traces alone": (("traces.json",), ["totals_only"]),
}


@pytest.mark.parametrize("what", TOLD)
def test_a_file_that_is_missing_is_named(what: str, tmp_path: Path) -> None:
    names, codes = TOLD[what]
    for name in names:
        shutil.copy(LATE / name, tmp_path)
    reading = reading_of(tmp_path)
    assert [each.code for each in reading.problems] == codes
    assert bool(reading.runs) == ("run.json" in names)
    if "traces.json" in names and "run.json" in names:  # a trace has the question
        contexts = table(reading, "cases")["context"]
        assert "Rhine" in contexts[0]


def test_pages_that_are_missing_are_told(tmp_path: Path) -> None:
    def fewer(page: Any) -> None:
        page["meta"]["totalItems"] = 60

    (problem,) = _changed(tmp_path, "scores.json", fewer).problems
    assert problem.code == "rows_missing"
    assert "8 of 60" in problem.message


LAYOUTS: dict[str, Callable[[Any], str]] = {
    "a list": lambda page: json.dumps(page["data"]),
    "lines": lambda page: "\n".join(map(json.dumps, page["data"])),
    "lines of pages": lambda page: "\n".join(
        json.dumps({"data": [each]}) for each in page["data"]
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_pages_lists_and_lines_are_read(layout: str, tmp_path: Path) -> None:
    for file in LATE.iterdir():
        document = json.loads(file.read_text("utf-8"))
        written = LAYOUTS[layout](document) if "data" in document else None
        (tmp_path / file.name).write_text(written or json.dumps(document), "utf-8")
    reading = reading_of(tmp_path)
    assert not reading.problems
    assert reading.runs == reading_of(LATE).runs


def test_runs_in_one_folder_share_their_pages_and_pair_by_item(tmp_path: Path) -> None:
    for night in (EARLY, LATE):
        for file in night.iterdir():
            own = f"{night.name}_{file.name}"
            is_shared = file.name == "dataset_items.json"
            shutil.copy(file, tmp_path / (file.name if is_shared else own))
    found = plan([tmp_path])
    assert sorted(len(one.companions) for one, _ in found) == [3, 3]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    for one in warehouse.ingest(tmp_path).files:
        assert one.status == "loaded"
    counts = warehouse.sql("select case_id, count(*) from live.rounds group by 1")
    assert dict(counts.rows()) == dict.fromkeys(CASES, 2)


RUNS = FACTS.get("langfuse", {"runs": {}})["runs"]


def _shared(folder: str) -> dict[str, Reading]:
    found = {}
    for one, kind in plan([SHARED / "langfuse" / folder]):
        if kind == "langfuse" and one.form in ("run", "experiment"):
            reading = reading_from(one, kind)
            name = json.loads(table(reading, "tasks")["extras"][0])["run_name"]
            found[name] = reading
    return found


@pytest.mark.parametrize("name", RUNS)
def test_runs_have_the_items_scores_and_means_of_the_facts(name: str) -> None:
    fact = RUNS[name]
    older, newer = (_shared(folder)[name] for folder in ("sdk3", "sdk5"))
    assert table(older, "rounds").height == fact["run_items"]
    scores = table(older, "reported_scores")
    assert scores.height == fact["scores"] - 1  # one is of the run
    assert scores["case_id"].n_unique() == fact["items_with_score"]
    for dimension, mean in fact["mean"].items():
        of = scores.filter(dimension_id=dimension)
        if dimension == "avg_correct":
            claims = table(older, "claims").drop_nulls("dimension_id")["value"]
            assert claims.to_list() == [fact["claimed_run_score_avg_correct"]]
        elif dimension == "语气":  # a category
            assert of["value"].null_count() == of.height
        else:
            assert of["value"].mean() == pytest.approx(mean)
    for reading in (older, newer):
        right = table(reading, "reported_scores").filter(dimension_id="correct")
        assert right["value"].sum() == fact["correct"]
    rounds = table(newer, "rounds")
    assert rounds.height == fact["sdk5"]["items"]
    broken = rounds.filter(reported_status="error")["case_id"].to_list()
    assert broken == fact["sdk5"]["errors"]


@pytest.mark.skipif(not RUNS, reason="no real files of the tool at hand")
@pytest.mark.parametrize("folder", ["sdk3", "sdk5"])
def test_two_runs_differ_as_the_facts_say(folder: str) -> None:
    (fact,) = FACTS["langfuse"]["pairs"].values()
    nights = _shared(folder)
    first, second = (
        {
            case: value == 1
            for case, value in table(nights[name], "reported_scores")
            .filter(dimension_id="correct")
            .select("case_id", "value")
            .rows()
        }
        for name in RUNS
    )
    both = first.keys() & second.keys()
    assert len(both) == fact["in_both"]
    assert sorted(first.keys() - second.keys()) == fact["only_first"]
    changes = Counter((first[case], second[case]) for case in both)
    assert changes[True, False] == len(fact["broke"])
    assert changes[False, True] == len(fact["fixed"])
    assert sum(first[case] for case in both) == fact["passed_first"]
    assert sum(second[case] for case in both) == fact["passed_second"]
