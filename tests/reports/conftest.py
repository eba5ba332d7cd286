"""What the report tests share: a small invented warehouse with only its marts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from promptlab.contracts.analysis_result import AnalysisResult
from reports.limits import WHOLE, Limits
from reports.queries import analysis_result

DATA = Path(__file__).parent / "data"
GENERATED_AT = datetime(2024, 10, 24, 13, 0, tzinfo=UTC)
TASK_ID = "run-20241024-001"

# The columns that the reports read, as the marts' contracts name them.
MARTS = {
    "dim_tasks": (
        "task_id varchar, load_id bigint, source_kind varchar, title varchar,"
        " prompt_version varchar, model varchar, triggered_by varchar,"
        " testset_id varchar, testset_source varchar, pipeline_id varchar,"
        " env json, extras json, created_at timestamptz"
    ),
    "dim_cases": (
        "task_id varchar, case_id varchar, case_position bigint, tags json,"
        " context json, in_testset boolean"
    ),
    "fct_rounds": (
        "task_id varchar, case_id varchar, round_id varchar, run_index bigint,"
        " status varchar, error_code varchar, must_have_pass boolean,"
        " reported_must_have_pass boolean, final_source varchar, answer varchar,"
        " answer_chars bigint, failed_steps json, latency_ms double,"
        " input_tokens bigint, output_tokens bigint, executed_at timestamptz"
    ),
    "fct_check_results": (
        "task_id varchar, case_id varchar, round_id varchar, scope varchar,"
        " step_id varchar, field varchar, check_no bigint, pointer varchar,"
        " matcher varchar, expected varchar, actual varchar, status varchar,"
        " reason varchar, actual_source varchar"
    ),
    "fct_match_results": (
        "task_id varchar, case_id varchar, round_id varchar, scope varchar,"
        " step_id varchar, status varchar, matched boolean, actual_source varchar,"
        " checks_total bigint, checks_failed bigint, checks_unevaluated bigint,"
        " details varchar, details_en varchar"
    ),
    "fct_dimension_scores": (
        "task_id varchar, dimension_id varchar, dimension_position bigint,"
        " name varchar, scorer varchar, scoring_mode varchar, score double,"
        " weight_configured double, weight_used double, ci_low double,"
        " ci_high double, ci_method varchar, ci_reason varchar, n_cases bigint,"
        " n_rounds bigint, raw_metrics json, target json, parameters json,"
        " diagnosis varchar, diagnosis_en varchar"
    ),
    "fct_case_results": (
        "task_id varchar, case_id varchar, status varchar, must_have_pass boolean,"
        " reported_must_have_pass boolean, aggregated_score double,"
        " dimension_scores json, notes json, n_rounds bigint,"
        " n_rounds_passed bigint"
    ),
    "fct_task_summaries": (
        "task_id varchar, overall_score double, grade varchar, ci_low double,"
        " ci_high double, coverage double, pass_rate double, n_cases bigint,"
        " n_pass bigint, n_fail bigint, n_error bigint, n_unevaluated bigint,"
        " n_rounds bigint, n_scored_rounds bigint, conclusion varchar,"
        " conclusion_en varchar"
    ),
    "fct_alerts": (
        "task_id varchar, alert_position bigint, code varchar, severity varchar,"
        " message varchar, message_en varchar, dimension_ids json, case_ids json,"
        " n_cases bigint"
    ),
    "fct_evidence": (
        "task_id varchar, dimension_id varchar, case_id varchar, round_id varchar,"
        " evidence_rank bigint, summary varchar, summary_en varchar, payload json"
    ),
}


def insert(
    con: duckdb.DuckDBPyConnection, table: str, rows: list[dict[str, Any]]
) -> None:
    for row in rows:
        values = [
            json.dumps(value, ensure_ascii=False)
            if isinstance(value, dict | list)
            else value
            for value in row.values()
        ]
        marks = ", ".join("?" for _ in values)
        con.execute(
            f"insert into marts.{table} ({', '.join(row)}) values ({marks})", values
        )


@pytest.fixture
def marts() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with the invented tasks of ``data/marts.json``."""
    with duckdb.connect() as con:
        con.execute("set TimeZone = 'Asia/Shanghai'; create schema marts")
        for table, columns in MARTS.items():
            con.execute(f"create table marts.{table} ({columns})")
        for table, rows in json.loads((DATA / "marts.json").read_text("utf-8")).items():
            insert(con, table, rows)
        yield con


@pytest.fixture
def result_of(marts: duckdb.DuckDBPyConnection) -> Callable[..., AnalysisResult]:
    """``result_of(lang="en", task_id=…, limits=…)``: a task of the test warehouse."""

    def read(
        lang: str = "zh", task_id: str = TASK_ID, limits: Limits = WHOLE
    ) -> AnalysisResult:
        return analysis_result(
            marts,
            task_id,
            lang=lang,
            generated_at=GENERATED_AT,
            package_version="0.0.0",
            limits=limits,
        )

    return read
