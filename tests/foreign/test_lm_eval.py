"""lm-evaluation-harness: a run is a folder, rows come per document and filter."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

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
    nile = [each for each in ids if each.startswith("Nile")]
    assert len(ids) == 4
    assert nile == [nile[0], f"{nile[0]}~2"]
    early = reading_of(DATA / "lm_eval" / "early")
    assert table(early, "cases")["case_id"].to_list() == ids
    assert not set(early.runs) & set(late.runs)


def test_filters_are_dimensions_and_no_rounds(late: Reading) -> None:
    dimensions = table(late, "dimension_configs")
    assert dimensions["dimension_id"].to_list() == [
        "exact_match,first",
        "exact_match,word",
    ]
    assert set(dimensions["direction"]) == {"higher_better"}
    assert table(late, "rounds").height == 4


def test_the_repeats_of_a_document_are_one_round_as_its_metric_is_one_number(
    late: Reading,
) -> None:
    """Eight rounds with one score would look like eight observations."""
    scores = table(late, "reported_scores")
    n_filters = scores["dimension_id"].n_unique()
    assert scores.height == table(late, "rounds").height * n_filters
    of_cases = scores.group_by("case_id", "dimension_id").agg(
        pl.col("value").n_unique().alias("different")
    )
    assert of_cases["different"].unique().to_list() == [1]


def test_samples_without_results_are_read_and_the_missing_is_named(
    tmp_path: Path,
) -> None:
    (samples,) = LATE.glob("samples_*.jsonl")
    alone = tmp_path / samples.name
    alone.write_bytes(samples.read_bytes())
    reading = reading_of(alone)
    assert reading.records_loaded == 4
    assert [p.code for p in reading.problems] == ["results_missing"]


def test_results_without_samples_are_one_task_without_rows(tmp_path: Path) -> None:
    old = {
        "results": {"lambada": {"ppl": 20.5, "ppl_stderr": 0.6, "acc": 0.4}},
        "versions": {"lambada": 0},
        "config": {"model": "hf", "model_args": "pretrained=x", "num_fewshot": 0},
    }
    file = tmp_path / "old.json"
    file.write_text(json.dumps(old), "utf-8")
    reading = reading_of(file)
    assert table(reading, "tasks")["model"].to_list() == ["pretrained=x"]
    assert reading.problems[0].code == "totals_only"
    assert "--log_samples" in reading.problems[0].message


def test_what_was_answered_is_the_raw_response(late: Reading) -> None:
    rounds = table(late, "rounds").filter(pl.col("case_id").str.starts_with("Rhine"))
    assert rounds["raw_output"].to_list() == ['["the North Sea","the North Sea"]']


def test_a_list_of_metrics_that_is_none_is_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "late"
    shutil.copytree(DATA / "lm_eval" / "late", folder)
    (file,) = folder.glob("results_*.json")
    results = json.loads(file.read_text("utf-8"))
    for config in results["configs"].values():
        config["metric_list"] = 3
    file.write_text(json.dumps(results), "utf-8")
    assert table(reading_of(folder), "rounds").height > 0


def _changed_copy(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    shutil.copytree(LATE, folder)
    (file,) = folder.glob("results_*.json")
    results = json.loads(file.read_text("utf-8"))
    change(results)
    file.write_text(json.dumps(results), "utf-8")
    return folder


def _claims_deltas(results: dict[str, Any]) -> None:
    results["results"]["deltas"] = {"alias": "deltas", "acc,none": 0.4}
    results["n-samples"]["deltas"] = {"original": 5, "effective": 5}
    results["results"]["all_water"] = {"acc,none": 0.45}
    results["group_subtasks"] = {"all_water": ["rivers", "deltas"], "deltas": []}


def test_a_task_without_its_samples_is_a_task_without_rows_and_named(
    tmp_path: Path,
) -> None:
    reading = reading_of(_changed_copy(tmp_path / "run", _claims_deltas))
    titles = dict(table(reading, "tasks").select("title", "task_id").rows())
    assert titles.keys() == {"rivers", "deltas"}
    claims = table(reading, "claims").filter(task_id=titles["deltas"])
    assert claims["value"].to_list() == [5]
    (problem,) = reading.problems
    assert problem.code == "totals_only"
    assert problem.record_id == titles["deltas"]
    assert "samples_deltas_" in problem.message


def _parameters(reading: Reading) -> dict[str, str]:
    columns = table(reading, "dimension_configs").select("dimension_id", "parameters")
    return dict(columns.rows())


def test_another_filter_is_another_yardstick_of_its_dimension(
    tmp_path: Path, late: Reading
) -> None:
    def loosen(results: dict[str, Any]) -> None:
        filters = results["configs"]["rivers"]["filter_list"]
        filters[1]["filter"][0]["regex_pattern"] = ".*"

    before = _parameters(late)
    after = _parameters(reading_of(_changed_copy(tmp_path / "run", loosen)))
    assert before["exact_match,first"] == after["exact_match,first"]
    assert before["exact_match,word"] != after["exact_match,word"]


@pytest.mark.parametrize(
    ("name", "one", "other", "is_other"),
    [
        ("process_results", "def f(doc): return 1", "def f(doc): return 2", True),
        ("process_results", "<function f at 0x7f00>", "<function f at 0x7f01>", False),
        ("process_results", "<function f at 0x7f00>", "<function g at 0x7f00>", True),
    ],
)  # fmt: skip
def test_another_function_is_another_yardstick_wherever_it_is_in_memory(
    name: str, one: object, other: object, is_other: bool, tmp_path: Path
) -> None:
    def change(results: dict[str, Any], value: object) -> None:
        results["configs"]["rivers"][name] = value

    before, after = (
        _parameters(
            reading_of(_changed_copy(tmp_path / n, partial(change, value=each)))
        )
        for n, each in (("one", one), ("other", other))
    )
    assert before
    assert all((before[each] != after[each]) is is_other for each in before)


def _update(change: dict[str, Any], results: dict[str, Any]) -> None:
    results |= change


def test_a_name_of_a_model_that_is_no_argument_is_random(tmp_path: Path) -> None:
    """The harness draws one where no argument of a usual name has it."""
    change = {"config": {"model": "acme-api", "model_args": {"base_url": "https://a"}}}
    folder = _changed_copy(tmp_path / "run", partial(_update, change))
    assert table(reading_of(folder), "tasks")["model"].to_list() == ["acme-api"]


def _documents(folder: Path, address: str) -> list[str]:
    """Return the cases of a run whose documents hold pictures."""

    def as_picture(row: dict[str, Any]) -> dict[str, Any]:
        picture = f"<PIL.PngImageFile image mode=RGB size=8x8 at {address}>"
        doc = {**row["doc"], "image": picture}
        return {**row, "doc": doc, "doc_hash": f"{address}{row['doc_hash']}"}

    shutil.copytree(LATE, folder)
    (file,) = folder.glob("samples_*.jsonl")
    rows = map(json.loads, file.read_text("utf-8").splitlines())
    file.write_text("\n".join(json.dumps(as_picture(row)) for row in rows), "utf-8")
    cases = table(reading_of(folder), "cases")
    return [*cases["case_id"], *cases["context"]]


def test_a_document_with_a_picture_is_the_same_case_in_every_run(
    tmp_path: Path,
) -> None:
    """The harness writes the picture as its address in memory."""
    one, other = (_documents(tmp_path / each, each) for each in ("0x7f01", "0x7f02"))
    assert one == other


def test_samples_alone_have_the_time_of_their_name(tmp_path: Path) -> None:
    (samples,) = LATE.glob("samples_*.jsonl")
    alone = Path(shutil.copy(samples, tmp_path))
    (moment,) = table(reading_of(alone), "tasks")["created_at"]
    assert moment.isoformat() == "2026-11-22T16:07:52+00:00"


def test_rows_that_name_neither_filter_nor_metrics_have_the_same_scores(
    tmp_path: Path, late: Reading
) -> None:
    """Before 0.4.5 the rows of one filter followed those of another."""
    folder = tmp_path / "late"
    shutil.copytree(LATE, folder)
    (file,) = folder.glob("samples_*.jsonl")
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    first = [row for row in rows if row["filter"] == "first"]
    others = [row for row in rows if row["filter"] != "first"]
    for row in rows:
        del row["filter"], row["metrics"]
    file.write_text("\n".join(map(json.dumps, first + others)), "utf-8")
    columns = ["case_id", "round_id", "dimension_id"]
    found, expected = (
        table(reading, "reported_scores").select(*columns, "value").sort(columns)
        for reading in (reading_of(folder), late)
    )
    assert found.rows() == expected.rows()


@pytest.mark.parametrize("metric", ["pass_at_1", "math_verify", "rouge1_acc"])
def test_shares_of_other_names_are_graded_too(metric: str, tmp_path: Path) -> None:
    folder = tmp_path / "late"
    shutil.copytree(LATE, folder)
    for file in folder.iterdir():
        written = file.read_text("utf-8").replace('"exact_match', f'"{metric}')
        file.write_text(written, "utf-8")
    dimensions = table(reading_of(folder), "dimension_configs")
    assert set(dimensions["name"]) == {f"{metric},first", f"{metric},word"}
    assert dimensions["is_graded"].all()


@pytest.mark.parametrize("where", ["higher_is_better", "metric_list"])
def test_a_share_of_which_less_is_better_is_not_graded(
    where: str, tmp_path: Path
) -> None:
    folder = tmp_path / "late"
    shutil.copytree(LATE, folder)
    (file,) = folder.glob("results_*.json")
    results = json.loads(file.read_text("utf-8"))
    del results["higher_is_better"]
    if where == "metric_list":
        said = {"metric": "exact_match", "higher_is_better": False}
        results["configs"]["rivers"]["metric_list"] = [said]
    else:
        results["higher_is_better"] = {"rivers": {"exact_match": False}}
    file.write_text(json.dumps(results), "utf-8")
    reading = reading_of(folder)
    dimensions = table(reading, "dimension_configs")
    assert set(dimensions["direction"]) == {"lower_better"}
    assert not dimensions["is_graded"].any()
    assert table(reading, "reported_scores")["score"].null_count() == 8
