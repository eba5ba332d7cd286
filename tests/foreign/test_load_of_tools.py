"""Runs of other tools in the warehouse: recognised, once, redacted, replaced whole."""

from __future__ import annotations

import json
import shutil
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest

from promptlab.cli.load import KIND_CHOICES
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.registry import TOOLS, recognise
from promptlab.ingest.formats import read_batches
from promptlab.ingest.formats import recognise as kind_of
from promptlab.ingest.raw.rows import height
from promptlab.ingest.reading.source import Limits, Source
from promptlab.operations.purge import purge
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA, reading_of

_RUN = "opencompass/20261122_170000"
FILES = {
    "promptfoo/rivers.json": ("promptfoo", "json"),
    "promptfoo/rivers.jsonl": ("promptfoo", "jsonl"),
    "inspect_ai/late.eval": ("inspect_ai", "eval"),
    "inspect_ai/late.json": ("inspect_ai", "json"),
    "openai_evals/rivers.jsonl": ("openai_evals", "jsonl"),
    "deepeval/late/.latest_run_full.json": ("deepeval", "bare"),
    "deepeval/late/.latest_test_run.json": ("deepeval", "wrapped"),
    "langsmith/late.jsonl": ("langsmith", "jsonl"),
    "langsmith/late.csv": ("langsmith", "csv"),
    "mlflow/late_genai_traces.jsonl": ("mlflow", "traces"),
    "mlflow/late_genai_result_df.jsonl": ("mlflow", "rows"),
    "mlflow/late_genai_result_df.csv": ("mlflow", "csv"),
    "mlflow/late_genai_metrics.json": ("mlflow", "metrics"),
    "mlflow/late_classic_eval_results_table.json": ("mlflow", "classic"),
    "pydantic_evals/late_2.json": ("pydantic_evals", "json"),
    "every_eval_ever/rivers.json": ("every_eval_ever", "aggregate"),
    "every_eval_ever/rivers_samples.jsonl": ("every_eval_ever", "samples"),
    "helm/rivers,model=acme_early/run_spec.json": ("helm", "run_spec"),
    "helm/rivers,model=acme_early/stats.json": ("helm", "stats"),
    "azure_ai_evaluation/early.json": ("azure_ai_evaluation", "json"),
    "ragas/early.csv": ("ragas", "csv"),
    "ragas/late.jsonl": ("ragas", "jsonl"),
    f"{_RUN}/predictions/acme-early/seas.json": ("opencompass", "prediction"),
    f"{_RUN}/results/acme-early/seas.json": ("opencompass", "result"),
    f"{_RUN}/summary/summary_20261122_170000.csv": ("opencompass", "summary"),
    "openai_evals_api/early/output_items_1.json": ("openai_evals_api", "items"),
    "openai_evals_api/early/run.json": ("openai_evals_api", "run"),
    "openai_evals_api/early/eval.json": ("openai_evals_api", "eval"),
    "langfuse/late/run.json": ("langfuse", "run"),
    "langfuse/late/traces.json": ("langfuse", "traces"),
    "langfuse/late/scores.json": ("langfuse", "scores"),
    "langfuse/late/dataset_items.json": ("langfuse", "items"),
    "langfuse/late_experiment/experiment_items.json": ("langfuse", "experiment"),
    "memory_benchmarks/longmemeval/early.jsonl.eval-results-judge-a": (
        "memory_benchmarks",
        "longmemeval",
    ),
    "memory_benchmarks/longmemeval/types.json": (
        "memory_benchmarks",
        "longmemeval_types",
    ),
    "memory_benchmarks/caura.json": ("memory_benchmarks", "longmemeval_results"),
    "memory_benchmarks/mem0.json": ("memory_benchmarks", "mem0"),
    "memory_benchmarks/zep.json": ("memory_benchmarks", "zep"),
    "memory_benchmarks/evermemos.json": ("memory_benchmarks", "evermemos"),
    "memory_benchmarks/a_mem.json": ("memory_benchmarks", "a_mem"),
    "memory_benchmarks/memory_agent_bench.json": (
        "memory_benchmarks",
        "memory_agent_bench",
    ),
    "memory_benchmarks/memory_agent_rows.jsonl": (
        "memory_benchmarks",
        "memory_agent_rows",
    ),
    "memory_benchmarks/amb.json": ("memory_benchmarks", "amb"),
    "memory_benchmarks/ironmem.json": ("memory_benchmarks", "ironmem"),
    "memory_benchmarks/locomo_plus.json": ("memory_benchmarks", "locomo_plus"),
}

NOT_THEIRS = {
    "a testset": b'{"id": "a", "inputs": {"promptIdx": 1, "testIdx": 2}}',
    "an analysis": b'{"task": {}, "cases": [{"eval": {"task": 1, "model": 2}}]}',
    "results of ours": b'{"sample_id": "a", "metadata": {"spec": {"run_id": 1}}}',
    "scores of ours": b'{"task_id": "t", "case_id": "c", "dimension_id": "results"}',
    "an archive of something": b"PK\\x03\\x04....[Content_Types].xml",
    "results of something": b'{"results": {"version": 3}}',
    "DeepEval's cache": b'{"test_cases_lookup_map": {"{}": {"metricsData": []}}}',
    "a list of test cases": b'{"testCases": [{"input": 1}], "name": "set"}',
    "a table": b"id,example_id,answer\n1,2,yes\n",
    "a table of pandas": b'{"columns": ["a", "b"], "data": [[1, 2]]}',
    "numbers by name": b'{"a/b": 1, "c/d": 2}',
    "a data set of cases": b'{"name": "set", "cases": [{"inputs": 1}]}',
    "a table of somebody": b"question,answer\nNile?,sea\n",
    "a program that writes samples": b'"""Rows."""\nrow = {"user_input": 1, "response": 2}\n',
    "a table with objects in it": b'id,row\n1,{"promptIdx": 1, "testIdx": 2}\n',
    "a page of something": b'{"object": "list", "data": [{"id": "a", "object": "model"}]}',
    "a text about an eval": b'{"id": "a", "inputs": {"q": "is {\\"object\\": \\"eval\\"} it?"}}',
    "a page of questions": b'{"data": [{"id": "a", "input": 1, "expectedOutput": 2}]}',
    "a score of somebody": b'{"traceId": "a", "dataType": "x", "value": 1}',
    "nothing": b"",
    "half a line": b'{"results": {"ver',
}


@pytest.mark.parametrize("name", FILES)
def test_files_are_recognised_by_what_they_hold(name: str) -> None:
    assert recognise(Head((DATA / name).read_bytes())) == FILES[name]


@pytest.mark.parametrize("what", NOT_THEIRS)
def test_what_only_looks_alike_is_nobodys(what: str) -> None:
    assert recognise(Head(NOT_THEIRS[what])) is None


def test_our_own_files_keep_their_kinds() -> None:
    assert kind_of(Head(NOT_THEIRS["a testset"])) == "testset"
    assert kind_of(Head(NOT_THEIRS["an analysis"])) == "analysis"


def test_each_tool_can_be_named_on_the_command_line() -> None:
    assert set(TOOLS) <= set(KIND_CHOICES)


def _rows(warehouse: Warehouse, sql: str) -> list[tuple[object, ...]]:
    return warehouse.sql(sql).rows()


def test_a_folder_of_everything_is_loaded_each_run_once(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    loads = warehouse.ingest(DATA).files
    by_name = {load.path.name: load for load in loads}
    assert by_name["rivers.json"].status == "loaded"
    assert by_name["late.json"].status == "skipped"
    (problem,) = by_name["late.json"].problems
    assert problem.code == "copy_of_run"
    assert "late.json" in problem.message
    assert "late.eval" in problem.message
    assert _rows(
        warehouse,
        "select source_kind, count(*) from live.tasks group by all order by all",
    ) == [
        ("azure_ai_evaluation", 1),
        ("deepeval", 2),
        ("evalscope", 2),
        ("every_eval_ever", 1),
        ("helm", 1),
        ("inspect_ai", 3),
        ("langfuse", 2),
        ("langsmith", 2),
        ("lm_eval", 2),
        ("memory_benchmarks", 12),
        ("mlflow", 3),
        ("openai_evals", 1),
        ("openai_evals_api", 2),
        ("opencompass", 2),
        ("promptfoo", 5),
        ("pydantic_evals", 4),
        ("ragas", 2),
    ]


def test_the_same_folder_again_changes_nothing(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(DATA)
    before = _rows(warehouse, "select count(*), max(load_id) from live.rounds")
    assert {load.status for load in warehouse.ingest(DATA).files} <= {
        "unchanged",
        "skipped",
    }
    assert _rows(warehouse, "select count(*), max(load_id) from live.rounds") == before


def test_the_same_bytes_at_another_place_are_named_as_a_copy(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(DATA / "inspect_ai" / "late.eval")
    again = Path(shutil.copy(DATA / "inspect_ai" / "late.eval", tmp_path / "b.eval"))
    (load,) = warehouse.ingest(again).files
    assert load.status == "unchanged"
    assert [problem.code for problem in load.problems] == ["copy_of_run"]


def test_a_run_that_was_written_again_replaces_itself_and_says_so(
    tmp_path: Path,
) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    log = json.loads((DATA / "inspect_ai" / "late.json").read_text("utf-8"))
    warehouse.ingest(DATA / "inspect_ai" / "late.eval")
    log["samples"] = log["samples"][:3]
    partial = tmp_path / "partial.json"
    partial.write_text(json.dumps(log), "utf-8")
    (load,) = warehouse.ingest(partial).files
    assert load.status == "loaded"
    (problem,) = load.problems
    assert problem.code == "run_replaced"
    assert "late.eval" in problem.message
    assert _rows(warehouse, "select distinct load_id from live.rounds") == [(2,)]


def test_what_is_redacted_everywhere_is_redacted_here_too(tmp_path: Path) -> None:
    log = json.loads((DATA / "inspect_ai" / "late.json").read_text("utf-8"))
    sample = log["samples"][0]
    sample["output"]["completion"] = "ask ann@example.org"
    sample["error"] = {"message": "/home/ann/keys: sk-abc123def456ghi789jkl0"}
    log["eval"]["metadata"]["api_key"] = "sk-abc123def456ghi789jkl0"
    file = tmp_path / "late.json"
    file.write_text(json.dumps(log), "utf-8")
    settings = Settings(redact="strict")
    warehouse = Warehouse(tmp_path / "w.duckdb", settings=settings)
    (load,) = warehouse.ingest(file).files
    said = str([_rows(warehouse, f"from raw.{table}") for table in ("tasks", "rounds")])
    for secret in ("ann@example", "home/ann", "sk-abcdef"):
        assert secret not in said
    assert load.redacted


def test_what_is_longer_than_a_text_may_be_is_left_out_and_its_round_kept(
    tmp_path: Path,
) -> None:
    long = "x" * 1_000_001
    row = {"inputs.query": "q", "inputs.answer": long, "inputs.retrieved": long}
    file = tmp_path / "early.json"
    file.write_text(json.dumps({"rows": [row]}), "utf-8")
    settings = Settings(max_string_mb=1)
    warehouse = Warehouse(tmp_path / "w.duckdb", settings=settings)
    (load,) = warehouse.ingest(file).files
    assert load.status == "loaded"
    assert {(each.code, each.severity, each.pointer) for each in load.problems} == {
        ("string_too_long", "warning", "/raw_output"),
        ("string_too_long", "warning", "/metadata"),
        ("time_missing", "warning", None),
    }
    rounds = _rows(warehouse, "select raw_output, metadata from live.rounds")
    assert rounds == [(None, "{}")]


@pytest.mark.parametrize("name", [*FILES, "lm_eval/late", "every_eval_ever", "helm"])
def test_a_run_in_many_batches_is_the_run_in_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = reading_of(DATA / name)
    monkeypatch.setattr("promptlab.ingest.foreign.reading.BATCH_RECORDS", 7)
    parts = reading_of(DATA / name)
    assert {key: height(rows) for key, rows in parts.rows.items()} == {
        key: height(rows) for key, rows in whole.rows.items()
    }
    assert parts.keys == whole.keys
    assert parts.records_loaded == whole.records_loaded


@pytest.mark.parametrize("name", [*FILES, "lm_eval/late"])
def test_settings_are_texts_as_those_of_any_task(name: str) -> None:
    for env in reading_of(DATA / name).rows.get("tasks", {}).get("env", []):
        assert all(isinstance(value, str) for value in json.loads(env).values())


def test_a_copy_shows_at_its_end_and_nothing_of_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptlab.ingest.foreign.reading.BATCH_RECORDS", 7)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(DATA / "inspect_ai" / "late.eval")
    (load,) = warehouse.ingest(DATA / "inspect_ai" / "late.json").files
    assert (load.status, load.records_loaded) == ("skipped", 0)
    assert _rows(warehouse, "select distinct load_id from live.rounds") == [(1,)]
    assert _rows(warehouse, "select load_id, status from raw.loads order by all") == [
        (1, "loaded"),
        (2, "skipped"),
    ]


def test_a_copy_loads_when_what_it_copies_was_purged(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    for suffix in ("csv", "jsonl"):
        shutil.copy(DATA / "ragas" / f"early.{suffix}", folder)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(folder)
    (task_id,) = warehouse.sql("select task_id from live.tasks")["task_id"]
    purge(warehouse, tasks=[task_id])
    again = {Path(f.path).name: f.status for f in warehouse.ingest(folder).files}
    assert again == {"early.csv": "loaded", "early.jsonl": "purged"}


@pytest.mark.parametrize(
    "data",
    [
        b'river,[early] ask,Status,Score,Named Scores\nNile,sea,PASS,1.00,"{}"\n',
        b"evalId: eval-a\nresults:\n  version: 3\n",
        b"<promptfoo>\n  <evalId>eval-a</evalId>\n</promptfoo>",
        b'<?xml version="1.0"?>\n<testsuites errors="0" name="promptfoo"></testsuites>',
    ],
    ids=["csv", "yaml", "xml", "junit"],
)
def test_what_says_less_than_promptfoos_json_is_skipped_with_a_reason(
    tmp_path: Path, data: bytes
) -> None:
    (tmp_path / "results").write_bytes(data)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    (file,) = warehouse.ingest(tmp_path / "results").files
    assert file.status == "skipped"
    assert "--output results.json" in str(file.problems[0])


def _rivers_with(path: Path, *rows: object) -> Path:
    """A promptfoo export of these rows."""
    export = json.loads((DATA / "promptfoo" / "rivers.json").read_bytes())
    export["results"]["results"] = rows
    path.write_text(json.dumps(export), "utf-8")
    return path


def test_a_run_without_a_row_is_skipped_and_reported(tmp_path: Path) -> None:
    path = _rivers_with(tmp_path / "none.json")
    (load,) = Warehouse(tmp_path / "w.duckdb").ingest(path).files
    assert load.status == "skipped"
    assert "holds no row of a run" in str(load.problems[0])


def test_a_run_without_a_good_row_is_a_rejected_file(tmp_path: Path) -> None:
    path = _rivers_with(tmp_path / "bad.json", "a text", {"promptIdx": "0"})
    (load,) = Warehouse(tmp_path / "w.duckdb").ingest(path).files
    assert (load.status, load.records_rejected) == ("rejected", 2)
    places = [problem.pointer for problem in load.problems]
    assert places == ["/results/results/0", "/results/results/1"]


SAMPLES = 40
MEGABYTE = 1 << 20


def _archive(file: Path, **members: Any) -> None:
    log = json.loads((DATA / "inspect_ai" / "late.json").read_text("utf-8"))
    sample = log.pop("samples")[0]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("_journal/start.json", "header.json"):
            archive.writestr(name, json.dumps(log))
        for n in range(SAMPLES):
            one = {**sample, "id": f"s{n}", "epoch": 1, "uuid": f"u{n}", **members}
            archive.writestr(f"samples/s{n}_epoch_1.json", json.dumps(one))


@pytest.mark.parametrize(
    "members",
    [
        {"metadata": {"pad": "A" * 2 * MEGABYTE}},
        {"events": ["A" * 2 * MEGABYTE]},
        {"scores": "A" * 2 * MEGABYTE},  # of another shape: the sample is rejected
    ],
    ids=["too long to be kept", "not read", "rejected"],
)
def test_a_log_that_unpacks_to_much_is_read_sample_by_sample(
    members: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "log.eval"
    _archive(file, **members)
    limits = Limits(max_string=MEGABYTE // 8)
    source = Source(file, "log", str(file), form="eval", limits=limits)
    tracemalloc.start()
    try:
        readings = list(read_batches("inspect_ai", source))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    read = sum(each.records_loaded + each.records_rejected for each in readings)
    assert read == SAMPLES
    assert peak < 25 * MEGABYTE  # all of them unpack to 80


def test_long_texts_that_are_kept_come_in_batches_of_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptlab.ingest.foreign.reading.BATCH_CHARACTERS", MEGABYTE)
    file = tmp_path / "log.eval"
    _archive(file, metadata={"pad": "A" * (MEGABYTE // 2)})
    source = Source(file, "log", str(file), form="eval")
    readings = list(read_batches("inspect_ai", source))
    assert len(readings) >= SAMPLES // 3
    assert sum(each.records_loaded for each in readings) == SAMPLES
