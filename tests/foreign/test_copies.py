"""Copies of a run in other forms, and copies of rows: each counts once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import DATA, reading_of, table

ONE_RUN = ("cases", "rounds", "reported_scores", "reported_checks", "dimension_configs")

JOINED = {
    "langsmith/late.jsonl": "8 rows have the run id",
    "langsmith/late.csv": "8 rows have the run id",
    "mlflow/late_genai_traces.jsonl": "4 rows have the trace id",
    "mlflow/late_genai_result_df.jsonl": "4 rows have the trace id",
    "mlflow/late_genai_result_df.csv": "4 rows have the trace id",
    "promptfoo/rivers.jsonl": "16 rows have the id",
    "openai_evals/rivers.jsonl": "rows have the event id",
    "lm_eval/late/samples_rivers_2026-11-22T16-07-52.843043.jsonl": (
        "8 rows have the document and filter"
    ),
}


def _alone(file: Path, tmp_path: Path, times: int = 1) -> Reading:
    copy = tmp_path / str(times) / file.name
    copy.parent.mkdir()
    copy.write_bytes(file.read_bytes() * times)
    return reading_of(copy)


@pytest.mark.parametrize("name", JOINED)
def test_a_run_that_stands_twice_in_a_file_is_read_once(
    name: str, tmp_path: Path
) -> None:
    once, twice = (_alone(DATA / name, tmp_path, times) for times in (1, 2))
    for each in ONE_RUN:
        assert (
            table(twice, each)
            .drop("task_id", strict=False)
            .equals(table(once, each).drop("task_id", strict=False))
        ), each
    (problem,) = [each for each in twice.problems if each.code == "repeated_row"]
    assert problem.severity == "warning"
    assert JOINED[name] in problem.message
    assert str(problem.record_id) in problem.message


def _promptfoo(document: dict[str, Any]) -> list[Any]:
    rows: list[Any] = document["results"]["results"]
    return rows


DOCUMENTS: dict[str, tuple[Callable[[dict[str, Any]], list[Any]], str]] = {
    "promptfoo/rivers.json": (_promptfoo, "id"),
    "inspect_ai/late.json": (lambda document: document["samples"], "uuid"),
    "pydantic_evals/late_2.json": (lambda document: document["cases"], "span_id"),
}


def _read(name: str, change: Callable[[list[Any], str], None], tmp: Path) -> Reading:
    rows_of, key = DOCUMENTS[name]
    document = json.loads((DATA / name).read_text("utf-8"))
    rows = rows_of(document)
    for place, row in enumerate(rows):
        row[key] = row.get(key) or f"own-{place}"
    change(rows, key)
    file = tmp / Path(name).name
    file.write_text(json.dumps(document), "utf-8")
    return reading_of(file)


def _again(rows: list[Any], _key: str) -> None:
    rows += rows[:2]


def _once_more_under_another_id(rows: list[Any], key: str) -> None:
    rows += [{**row, key: f"other-{place}"} for place, row in enumerate(rows[:2])]


def _without_ids(rows: list[Any], key: str) -> None:
    for row in rows:
        row.pop(key)
    rows += rows[:2]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_row_of_a_document_that_stands_twice_is_read_once(
    name: str, tmp_path: Path
) -> None:
    once = _read(name, lambda rows, key: None, tmp_path)
    twice = _read(name, _again, tmp_path)
    for each in ("rounds", "cases", "reported_scores"):
        assert table(twice, each).height == table(once, each).height, each
    (problem,) = [each for each in twice.problems if each.code == "repeated_row"]
    assert problem.message.startswith("2 rows have the")


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("change", [_once_more_under_another_id, _without_ids])
def test_true_duplicates_stay(
    name: str, change: Callable[[list[Any], str], None], tmp_path: Path
) -> None:
    once = _read(name, lambda rows, key: None, tmp_path)
    twice = _read(name, change, tmp_path)
    assert table(twice, "rounds").height == table(once, "rounds").height + 2
    assert not [each for each in twice.problems if each.code == "repeated_row"]


def test_two_runs_of_openai_evals_in_one_file_are_refused(tmp_path: Path) -> None:
    written = (DATA / "openai_evals" / "rivers.jsonl").read_text("utf-8")
    file = tmp_path / "both.jsonl"
    file.write_text(written + written.replace("260102030405RIVERS", "OTHER"), "utf-8")
    reading = reading_of(file)
    assert reading.rejected
    assert "260102030405RIVERS and OTHER" in reading.problems[0].message


FORMS = [
    ("langsmith/late.jsonl", "langsmith/late.csv"),
    ("ragas/early.jsonl", "ragas/early.csv"),
    ("mlflow/late_genai_traces.jsonl", "mlflow/late_genai_result_df.jsonl"),
    ("mlflow/late_genai_traces.jsonl", "mlflow/late_genai_result_df.csv"),
    ("inspect_ai/late.json", "inspect_ai/late.eval"),
    ("langfuse/late", "langfuse/late_experiment"),
    ("deepeval/late/.latest_run_full.json", "deepeval/late/.latest_test_run.json"),
    # lines of promptfoo do not number repeats: equal tests are rounds of one case
    ("promptfoo/rivers.json", "promptfoo/rivers.jsonl"),
]
SAME = {
    "cases": ["case_id"],
    "baselines": ["case_id", "payload"],
    "rounds": ["case_id", "raw_output"],
    "reported_scores": ["case_id", "dimension_id", "value", "score"],
    "reported_checks": ["case_id", "name", "passed", "score", "error"],
}
"""Table → columns that are the same in all forms."""


@pytest.mark.parametrize(("name", "other"), FORMS)
def test_the_forms_of_a_run_say_the_same(name: str, other: str) -> None:
    one, two = (reading_of(DATA / each) for each in (name, other))
    is_of_promptfoo = name.startswith("promptfoo")
    assert one.runs.keys() == two.runs.keys() or is_of_promptfoo
    if not name.startswith("langfuse"):  # the older files have times of their own
        assert sorted(one.runs.values()) == sorted(two.runs.values())
    for each, columns in SAME.items():
        left, right = (table(reading, each) for reading in (one, two))
        if is_of_promptfoo and each in ("cases", "baselines"):
            continue
        shown = columns[is_of_promptfoo:]
        if left.height or right.height:
            rows = [
                t.select(shown).with_columns(cs.float().round(9)) for t in (left, right)
            ]
            assert_frame_equal(*rows, check_row_order=False)
