"""What the file of a tool claims of its rows: their number, and the mean of each score."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA, reading_of, table
from tests.marts import only

only_alerts = only("dim_tasks", "fct_alerts")

Means = dict[str, float]
CLAIMS: dict[str, list[tuple[int | None, Means]]] = {
    "promptfoo/rivers.json": [
        (8, {"score": 8.9 / 14}),
        (8, {"score": 0.85}),
    ],
    "promptfoo/rivers_twice.json": [
        (16, {"score": 8.9 / 14}),
        (16, {"score": 10.9 / 14}),
    ],
    "inspect_ai/late.json": [
        (
            8,
            {"includes": 0.5, "looks.characters": 83 / 6, "looks.kindness": 0.25}
            | {"grade": 0.5},
        )
    ],
    "openai_evals/rivers.jsonl": [
        (None, {"match": 0.5, "accuracy": 0.5, "f1_score": 0.75})
    ],
    "lm_eval/late": [(4, {"exact_match,first": 0.0, "exact_match,word": 0.75})],
    "deepeval/late/.latest_run_full.json": [(5, {"Exact Match": 0.6, "Words": 1.5})],
    "mlflow/late_genai_metrics.json": [(None, {})],
    "every_eval_ever": [(3, {"accuracy": 0.5, "characters": 9.0})],
    # each part of a run has its own means
    "helm/rivers,model=acme_early": [(None, {})],
    "azure_ai_evaluation/early.json": [
        (None, {"f1.f1_score": 0.5, "exact.exact": 0.5, "length.chars": 9.0})
    ],
    "memory_benchmarks/caura.json": [(None, {"llm_judge": 0.5})],
    "memory_benchmarks/a_mem.json": [(3, {"f1": 0.5})],
    "memory_benchmarks/evermemos.json": [(3, {"llm_judge": 0.75})],
    "memory_benchmarks/amb.json": [(3, {"llm_judge": 1 / 3})],
    "memory_benchmarks/ironmem.json": [(None, {"llm_judge": 0.5})],
    "memory_benchmarks/memory_agent_bench.json": [
        (None, {"exact_match": 0.5, "f1": 0.75, "output_len": 3.0})
    ],
    "opencompass/20261123_170000": [(4, {"correct": 0.75})],
    "openai_evals_api/late": [(4, {})],
    "langfuse/late": [(None, {"right": 2 / 3})],
    "langfuse/late_experiment": [],
    "langsmith/late.jsonl": [],
    "ragas/late.jsonl": [],
    "pydantic_evals/late_2.json": [],
    "mlflow/late_genai_traces.jsonl": [],
    "memory_benchmarks/mem0.json": [],
}
"""File → of each task the number of rows and the means that it claims."""
DIFFERING = {
    ("openai_evals", "accuracy, f1_score, match"),
    ("every_eval_ever", "characters"),
    ("memory_benchmarks", "llm_judge"),
    ("memory_benchmarks", "f1"),
}
"""Claims of these files that their rows do not give."""


@pytest.mark.parametrize("name", CLAIMS)
def test_a_reader_hands_over_what_its_file_claims_and_has_rows_of(name: str) -> None:
    reading = reading_of(DATA / name)
    claims = table(reading, "claims")
    found = [
        (
            *own.filter(pl.col("dimension_id").is_null())["value"],
            dict(own.drop_nulls("dimension_id").select("dimension_id", "value").rows()),
        )
        for _, own in (claims.group_by("task_id") if claims.height else ())
    ]
    found.sort(key=lambda each: sum(each[1].values()))
    for (n, means), (n_rows, expected) in zip(found, CLAIMS[name], strict=True):
        assert n == n_rows
        assert means == pytest.approx(expected)


def test_the_means_of_helm_are_over_the_cases_of_its_only_part(tmp_path: Path) -> None:
    run = DATA / "helm" / "rivers,model=acme_early"
    shutil.copytree(run, tmp_path, dirs_exist_ok=True)
    for name, key in (("per_instance_stats", ""), ("scenario_state", "request_states")):
        file = tmp_path / f"{name}.json"
        held = json.loads(file.read_text("utf-8"))
        rows = held[key] if key else held
        rows[:] = [each for each in rows if "perturbation" not in str(each)]
        file.write_text(json.dumps(held), "utf-8")
    claims = table(reading_of(tmp_path), "claims")
    assert claims.select("dimension_id", "value").rows() == [
        (None, None),
        ("exact_match", 0.75),
    ]


@only_alerts
def test_an_alert_names_the_claims_that_the_rows_do_not_give(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(DATA)
    warehouse.build()
    alerts = warehouse.sql(
        "select source_kind, facts ->> 'detail' from marts.fct_alerts"
        " inner join marts.dim_tasks using (task_id) where code = 'totals_differ'"
    )
    assert set(alerts.rows()) == DIFFERING
