"""Every Eval Ever: an aggregate leads its samples; a line is a sample on a metric."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import DATA, reading_of, table

RIVERS = DATA / "every_eval_ever"


@pytest.fixture(scope="module")
def rivers() -> Reading:
    return reading_of(RIVERS)


def test_an_evaluation_with_samples_is_a_task(rivers: Reading) -> None:
    (task,) = table(rivers, "tasks").rows(named=True)
    assert (task["title"], task["model"]) == ("rivers", "acme/early")
    assert task["prompt_version"] == "ask-v1"
    assert task["created_at"].isoformat() == "2026-03-01T12:00:00+00:00"


def test_lines_of_two_metrics_are_one_round(rivers: Reading) -> None:
    rounds = table(rivers, "rounds")
    assert rounds["round_id"].to_list() == ["nile-1", "rhine-1", "rhine-2", "ob-1"]
    assert rounds["raw_output"].to_list() == [
        "Mediterranean",
        "Baltic",
        "North Sea",
        "",
    ]
    assert rounds["input_tokens"].to_list() == [9, 9, 9, None]
    assert table(rivers, "reported_scores").height == 8


def test_there_is_no_pass_rule_and_an_error_is_none(rivers: Reading) -> None:
    """The format wants `is_correct` of every line, also of F1."""
    rounds = table(rivers, "rounds")
    assert rounds["reported_status"].to_list() == [None, None, None, "error"]
    first, *_ = table(rivers, "reported_scores")["payload"]
    assert json.loads(first) == {"is_correct": True}


def test_only_what_is_declared_to_lie_from_0_to_1_is_graded(rivers: Reading) -> None:
    dimensions = table(rivers, "dimension_configs")
    rows = dimensions.select("dimension_id", "is_graded", "direction").rows()
    assert rows == [
        ("accuracy", True, "higher_better"),
        ("characters", False, "lower_better"),
    ]


def test_an_evaluation_without_samples_is_named(rivers: Reading) -> None:
    (problem,) = rivers.problems
    assert (problem.code, problem.severity) == ("totals_only", "warning")
    assert "totals of lakes" in problem.message


def test_an_aggregate_alone_is_a_task_without_rows(tmp_path: Path) -> None:
    alone = Path(shutil.copy(RIVERS / "rivers.json", tmp_path))
    reading = reading_of(alone)
    assert [p.code for p in reading.problems] == ["totals_only"]
    assert "rivers_samples.jsonl" in reading.problems[0].message
    assert table(reading, "claims").height == 1


def test_samples_alone_are_read_and_the_missing_is_named(tmp_path: Path) -> None:
    alone = Path(shutil.copy(RIVERS / "rivers_samples.jsonl", tmp_path))
    reading = reading_of(alone)
    assert reading.records_loaded == 4
    assert [p.code for p in reading.problems] == ["results_missing"]
    assert not table(reading, "dimension_configs")["is_graded"].any()


def test_of_several_metrics_without_weights_the_first_is_the_score(
    tmp_path: Path,
) -> None:
    """The mean of different metrics has no meaning."""
    shutil.copytree(RIVERS, tmp_path, dirs_exist_ok=True)
    for file in tmp_path.glob("*.json"):
        document = json.loads(file.read_text("utf-8"))
        for each in document["evaluation_results"]:
            each["metric_config"] |= {
                "min_score": 0, "max_score": 1, "lower_is_better": False
            }  # fmt: skip
        file.write_text(json.dumps(document), "utf-8")
    dimensions = table(reading_of(tmp_path), "dimension_configs")
    rows = dimensions.select("dimension_id", "is_graded", "weight").rows()
    assert rows == [("accuracy", True, 1.0), ("characters", True, 0.0)]


def test_samples_of_two_evaluations_in_one_file_are_refused(tmp_path: Path) -> None:
    [file] = RIVERS.glob("*_samples.jsonl")
    text = file.read_text("utf-8")
    [first] = {json.loads(line)["evaluation_id"] for line in text.splitlines()}
    joined = tmp_path / file.name
    joined.write_text(text + text.replace(first, "another"), "utf-8")
    reading = reading_of(joined)
    assert reading.rejected
    assert [problem.code for problem in reading.problems] == ["two_runs"]


def _changed(folder: Path, change: Callable[[dict[str, Any]], object]) -> Reading:
    """Read the run with its aggregate changed."""
    shutil.copytree(RIVERS, folder)
    file = folder / "rivers.json"
    aggregate = json.loads(file.read_text("utf-8"))
    change(aggregate)
    file.write_text(json.dumps(aggregate), "utf-8")
    return reading_of(folder)


def test_a_level_of_minus_1_may_be_unknown(tmp_path: Path) -> None:
    shutil.copytree(RIVERS, tmp_path, dirs_exist_ok=True)
    samples = tmp_path / "rivers_samples.jsonl"
    lines = [json.loads(line) for line in samples.read_text("utf-8").splitlines()]
    for line in lines:
        line["evaluation"]["score"] = -1
    samples.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    assert set(table(reading_of(tmp_path), "reported_scores")["value"]) == {-1.0}
    aggregate = json.loads((tmp_path / "rivers.json").read_text("utf-8"))
    for result in aggregate["evaluation_results"]:
        result["metric_config"]["has_unknown_level"] = True
    (tmp_path / "rivers.json").write_text(json.dumps(aggregate), "utf-8")
    assert set(table(reading_of(tmp_path), "reported_scores")["value"]) == {None}


def test_metrics_of_one_name_are_distinguished_by_their_parameters(
    tmp_path: Path,
) -> None:
    """The ids of results may be others in every run."""

    def named(aggregate: dict[str, Any]) -> None:
        for k, result in enumerate(aggregate["evaluation_results"][:2], start=1):
            result["metric_config"] |= {
                "metric_id": "pass",
                "metric_parameters": {"k": k},
            }

    reading = _changed(tmp_path / "run", named)
    names = table(reading, "dimension_configs")["dimension_id"].to_list()
    assert names == ["pass (k=1)", "pass (k=2)"]
    assert set(names) < set(table(reading, "claims")["dimension_id"])


def test_all_that_a_sample_asks_is_its_content(rivers: Reading, tmp_path: Path) -> None:
    shutil.copytree(RIVERS, tmp_path, dirs_exist_ok=True)
    samples = tmp_path / "rivers_samples.jsonl"
    lines = [json.loads(line) for line in samples.read_text("utf-8").splitlines()]
    for name, is_other in (("formatted", False), ("documents", True)):
        for line in lines:
            line["input"][name] = "the Nile"
        samples.write_text("\n".join(map(json.dumps, lines)), "utf-8")
        contexts = table(reading_of(tmp_path), "cases")["context"]
        assert (contexts != table(rivers, "cases")["context"]).all() is is_other


def test_the_answer_of_a_conversation_is_the_last_message_of_the_model(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(RIVERS, folder)
    file = folder / "rivers_samples.jsonl"
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for line in lines:
        del line["output"]
        line["messages"] = [
            {"role": "user", "content": "Where?"},
            {"role": "assistant", "content": "the sea"},
            {"role": "tool", "content": "submitted"},
        ]
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    answers = set(table(reading_of(folder), "rounds")["raw_output"])
    assert answers == {"the sea"}


@pytest.mark.parametrize(
    ("of_document", "of_results", "expected"),
    [
        ("1772366400", ["1772539200", None, None], "2026-03-01"),
        (None, ["1772452800", "2026-03-03T12:00:00Z", None], "2026-03-03"),
        (None, [None, None, None], "2026-03-09"),
    ],
)
def test_a_run_is_dated_by_its_results_before_the_time_of_its_file(
    of_document: str | None,
    of_results: list[str | None],
    expected: str,
    tmp_path: Path,
) -> None:
    shutil.copytree(RIVERS, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "rivers.json"
    document = json.loads(file.read_text("utf-8"))
    document["evaluation_timestamp"] = of_document
    document["retrieved_timestamp"] = "2026-03-09T12:00:00Z"
    results = document["evaluation_results"]
    for result, moment in zip(results, of_results, strict=True):
        result["evaluation_timestamp"] = moment
    file.write_text(json.dumps(document), "utf-8")
    (task,) = table(reading_of(tmp_path), "tasks").rows(named=True)
    assert task["created_at"].date().isoformat() == expected


@pytest.mark.parametrize(("total", "is_cut"), [(8, False), (9, True), (None, False)])
def test_samples_that_lack_lines_are_incomplete(
    total: int | None, is_cut: bool, tmp_path: Path
) -> None:
    def change(aggregate: dict[str, Any]) -> None:
        aggregate["detailed_evaluation_results"] = {"total_rows": total}

    codes = [each.code for each in _changed(tmp_path / "run", change).problems]
    assert ("run_incomplete" in codes) is is_cut
