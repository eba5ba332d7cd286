"""Every run of ``tests/data/foreign`` loads with the rows that it had when it was made."""

from __future__ import annotations

from promptlab.ingest.plan import plan
from promptlab.ingest.raw.rows import height
from tests.foreign.reading_of import DATA, reading_from

TABLES = ("tasks", "cases", "rounds", "reported_checks", "reported_scores")
ROWS = {
    "azure_ai_evaluation/early.json": (1, 3, 3, 3, 9),
    "deepeval/early/test_run_20261122_170437.json": (1, 4, 5, 10, 10),
    "deepeval/late/.latest_run_full.json": (1, 4, 5, 10, 10),
    "deepeval/late/.latest_test_run.json": (1, 4, 5, 10, 10),
    "evalscope/20261122_160000/reports/acme-early/seas.json": (1, 4, 4, 0, 4),
    "evalscope/20261123_160000/reports/acme-early/seas.json": (1, 4, 4, 0, 4),
    "every_eval_ever/rivers.json": (1, 3, 4, 0, 8),
    "helm/rivers,model=acme_early/run_spec.json": (1, 3, 6, 0, 18),
    "inspect_ai/early.eval": (1, 4, 8, 0, 24),
    "inspect_ai/late.eval": (1, 4, 8, 0, 24),
    "inspect_ai/late.json": (1, 4, 8, 0, 24),
    "inspect_ai/tools.eval": (1, 4, 4, 0, 4),
    "langfuse/early/run.json": (1, 4, 4, 0, 9),
    "langfuse/late/run.json": (1, 4, 4, 0, 7),
    "langfuse/late_experiment/experiment_items.json": (1, 4, 4, 0, 7),
    "langsmith/early.jsonl": (1, 4, 8, 0, 18),
    "langsmith/late.csv": (1, 4, 8, 0, 18),
    "langsmith/late.jsonl": (1, 4, 8, 0, 18),
    "lm_eval/early/results_2026-11-22T16-07-52.819719.json": (1, 4, 4, 0, 8),
    "lm_eval/late/results_2026-11-22T16-07-52.843043.json": (1, 4, 4, 0, 8),
    "memory_benchmarks/a_mem.json": (1, 3, 3, 0, 9),
    "memory_benchmarks/amb.json": (1, 3, 3, 0, 3),
    "memory_benchmarks/caura.json": (1, 2, 2, 0, 2),
    "memory_benchmarks/evermemos.json": (1, 3, 3, 6, 3),
    "memory_benchmarks/ironmem.json": (1, 3, 3, 0, 3),
    "memory_benchmarks/locomo_plus.json": (1, 3, 3, 0, 3),
    "memory_benchmarks/longmemeval/early.jsonl.eval-results-judge-a": (1, 5, 5, 0, 5),
    "memory_benchmarks/longmemeval/late.jsonl.eval-results-judge-a": (1, 5, 5, 0, 5),
    "memory_benchmarks/mem0.json": (1, 4, 4, 0, 12),
    "memory_benchmarks/memory_agent_bench.json": (1, 2, 2, 0, 6),
    "memory_benchmarks/memory_agent_rows.jsonl": (1, 2, 2, 0, 4),
    "memory_benchmarks/zep.json": (1, 3, 3, 0, 3),
    "mlflow/early_genai_result_df.jsonl": (1, 4, 4, 0, 12),
    "mlflow/late_classic_eval_results_table.json": (1, 3, 3, 0, 3),
    "mlflow/late_genai_result_df.csv": (1, 4, 4, 0, 12),
    "mlflow/late_genai_result_df.jsonl": (1, 4, 4, 0, 12),
    "mlflow/late_genai_traces.jsonl": (1, 4, 4, 0, 12),
    "openai_evals/rivers.jsonl": (1, 4, 4, 3, 9),
    "opencompass/20261122_170000/predictions/acme-early/seas.json": (1, 4, 4, 0, 4),
    "opencompass/20261123_170000/predictions/acme-early/seas.json": (1, 4, 4, 0, 4),
    "openai_evals_api/early/output_items_1.json": (1, 4, 4, 8, 8),
    "openai_evals_api/late/output_items_1.json": (1, 4, 4, 8, 8),
    "promptfoo/agent.json": (1, 4, 4, 4, 4),
    "promptfoo/rivers.json": (2, 16, 16, 22, 28),
    "promptfoo/rivers.jsonl": (2, 14, 16, 22, 28),
    "promptfoo/rivers_twice.json": (2, 16, 32, 44, 56),
    "pydantic_evals/early_1.json": (1, 4, 4, 6, 9),
    "pydantic_evals/early_2.json": (1, 4, 8, 12, 18),
    "pydantic_evals/late_1.json": (1, 4, 4, 6, 9),
    "pydantic_evals/late_2.json": (1, 4, 8, 12, 18),
    "ragas/early.csv": (1, 4, 4, 0, 12),
    "ragas/early.jsonl": (1, 4, 4, 0, 12),
    "ragas/late.csv": (1, 4, 4, 0, 12),
    "ragas/late.jsonl": (1, 4, 4, 0, 12),
}
"""The file that leads a run → the number of its rows in each of these tables."""


def test_every_run_loads_with_all_its_rows() -> None:
    found = {}
    for file, kind in plan([DATA]):
        if kind is None or kind == "table":
            continue
        reading = reading_from(file, kind)
        assert not [each for each in reading.problems if each.severity == "reject"]
        name = file.path.relative_to(DATA).as_posix()
        found[name] = tuple(height(reading.rows.get(each, {})) for each in TABLES)
    assert found == ROWS
