"""A score that is not a finite number is reported with its row, in every tool."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import DATA, reading_of, table
from tests.foreign.test_odd_values import changed_text

_SAMPLES = "samples_rivers_2026-11-22T16-07-52.843043.jsonl"
SCORES: dict[str, tuple[Any, ...]] = {
    "promptfoo/rivers.json": ("results", "results", 0, "namedScores", "sea"),
    "inspect_ai/late.json": ("samples", 0, "scores", "looks", "value", "characters"),
    "openai_evals/rivers.jsonl": (4, "data", "accuracy"),
    f"lm_eval/late/{_SAMPLES}": (0, "exact_match"),
    "deepeval/late/.latest_run_full.json": ("testCases", 0, "metricsData", 0, "score"),
    "langsmith/late.jsonl": (0, "feedback.length"),
    "mlflow/late_genai_traces.jsonl": (
        1,
        "info",
        "assessments",
        1,
        "feedback",
        "value",
    ),
    "mlflow/late_classic_eval_results_table.json": ("data", 0, 3),
    "pydantic_evals/late_2.json": ("cases", 0, "scores", "characters", "value"),
    "every_eval_ever/rivers_samples.jsonl": (0, "evaluation", "score"),
    "helm/rivers,model=acme_early/per_instance_stats.json": (0, "stats", 4, "mean"),
    "azure_ai_evaluation/early.json": ("rows", 0, "outputs.length.chars"),
    "ragas/late.jsonl": (0, "non_llm_string_similarity"),
    "memory_benchmarks/mem0.json": ("1", 0, "bleu_score"),
    "memory_benchmarks/a_mem.json": ("individual_results", 0, "metrics", "f1"),
}
ODD = {
    "text": '"very good"',
    "object": '{"grade": 1}',
    "list": "[1]",
    "infinite": "-Infinity",
    "beyond a double": "1" + "0" * 400,
}
_FOLDERS = ("helm/", "lm_eval/", "every_eval_ever/")
"""Tools whose runs are several files."""


def _values(reading: Reading) -> int:
    return len(table(reading, "reported_scores")["value"].drop_nulls())


@pytest.mark.parametrize("name", SCORES)
def test_a_score_that_is_no_finite_number_is_reported(
    name: str, tmp_path: Path
) -> None:
    file, folder = DATA / name, tmp_path / "run"
    if name.startswith(_FOLDERS):
        shutil.copytree(file.parent, folder)
    else:
        folder.mkdir()
        shutil.copy(file, folder)
    before = reading_of(folder)
    known = {each.message for each in before.problems}
    for what, value in ODD.items():
        text = changed_text(file, SCORES[name], value)
        (folder / file.name).write_text(text, "utf-8")
        reading = reading_of(folder)
        new = [each for each in reading.problems if each.message not in known]
        assert _values(reading) < _values(before), what
        assert [each.record_id or each.line or each.pointer for each in new], what
