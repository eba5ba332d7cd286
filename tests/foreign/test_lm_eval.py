"""lm-evaluation-harness: a run is a folder, rows come per document and filter."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import DATA, reading_of, table

LATE = DATA / "lm_eval" / "late"


@pytest.fixture(scope="module")
def late() -> Reading:
    return reading_of(LATE)


def test_results_lead_their_samples(late: Reading) -> None:
    (task,) = table(late, "tasks").rows(named=True)
    assert task["title"] == "rivers"
    assert task["prompt_version"] == "version 1.5, 0-shot"
    assert task["tool_version"] == "0.4.13"


def test_equal_documents_are_two_cases_and_pair_between_runs(late: Reading) -> None:
    ids = table(late, "cases")["case_id"].to_list()
    nile = [each for each in ids if each.startswith("nile")]
    assert len(ids) == 4
    assert nile == [nile[0], f"{nile[0]}~2"]
    early = reading_of(DATA / "lm_eval" / "early")
    assert table(early, "cases")["case_id"].to_list() == ids
    assert not set(early.runs) & set(late.runs)


def test_filters_are_dimensions_and_do_not_double_the_rounds(late: Reading) -> None:
    dimensions = table(late, "dimension_configs")
    assert dimensions["dimension_id"].to_list() == [
        "exact_match,first",
        "exact_match,word",
    ]
    assert set(dimensions["direction"]) == {"higher_better"}
    assert table(late, "rounds").height == 4 * 2  # repeats


def test_the_metric_of_all_repeats_stands_at_each_of_them(late: Reading) -> None:
    scores = table(late, "reported_scores")
    n_filters = scores["dimension_id"].n_unique()
    assert scores.height == table(late, "rounds").height * n_filters
    of_cases = scores.group_by("case_id", "dimension_id").agg(
        pl.col("value").n_unique().alias("different")
    )
    assert of_cases["different"].unique().to_list() == [1]


def test_means_are_those_that_the_results_claim(late: Reading) -> None:
    scores = table(late, "reported_scores")
    totals = table(late, "reported_totals")
    means = totals.filter(rule="mean_over_cases")
    assert means.height == 2
    for row in means.iter_rows(named=True):
        of = scores.filter(dimension_id=row["dimension_id"])
        assert of["value"].mean() == pytest.approx(row["value"])
    (cases,) = totals.filter(rule="count_cases")["value"].to_list()
    assert cases == 4


def test_samples_without_results_are_read_and_the_missing_is_named(
    tmp_path: Path,
) -> None:
    (samples,) = LATE.glob("samples_*.jsonl")
    alone = tmp_path / samples.name
    alone.write_bytes(samples.read_bytes())
    reading = reading_of(alone)
    assert reading.records_loaded == 8
    assert [p.code for p in reading.problems] == ["results_missing"]


def test_results_without_samples_are_one_task_of_totals(tmp_path: Path) -> None:
    old = {
        "results": {"lambada": {"ppl": 20.5, "ppl_stderr": 0.6, "acc": 0.4}},
        "versions": {"lambada": 0},
        "config": {"model": "hf", "model_args": "pretrained=x", "num_fewshot": 0},
    }
    file = tmp_path / "old.json"
    file.write_text(json.dumps(old), "utf-8")
    reading = reading_of(file)
    totals = table(reading, "reported_totals")
    assert dict(totals.select("name", "value").rows()) == {
        "results.lambada.ppl": 20.5,
        "results.lambada.ppl_stderr": 0.6,
        "results.lambada.acc": 0.4,
    }
    assert set(totals["rule"]) == {"not_in_rows"}
    assert table(reading, "tasks")["model"].to_list() == ["pretrained=x"]
    assert reading.problems[0].code == "totals_only"
    assert "--log_samples" in reading.problems[0].message


def test_what_was_answered_is_the_raw_response(late: Reading) -> None:
    rounds = table(late, "rounds").filter(pl.col("case_id").str.starts_with("rhine"))
    assert rounds["raw_output"].to_list() == ["the North Sea", "the North Sea"]


def test_a_list_of_metrics_that_is_none_is_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "late"
    shutil.copytree(DATA / "lm_eval" / "late", folder)
    (file,) = folder.glob("results_*.json")
    results = json.loads(file.read_text("utf-8"))
    for config in results["configs"].values():
        config["metric_list"] = 3
    file.write_text(json.dumps(results), "utf-8")
    assert table(reading_of(folder), "rounds").height > 0
