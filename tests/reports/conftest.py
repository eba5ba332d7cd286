"""Shared fixtures of the report tests: a small invented warehouse with only marts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from promptlab.contracts.analysis_result import AnalysisResult
from promptlab.contracts.memory_result import MemoryResult
from promptlab.reports import analysis_result, memory_result
from promptlab.reports.report_options import NO_LIMITS, ListLimits, ReportOptions

DATA = Path(__file__).parent / "data"
MODELS = Path(__file__).parents[2] / "dbt_project" / "models" / "marts"
GENERATED_AT = datetime(2024, 10, 24, 13, 0, tzinfo=UTC)
TASK_ID = "run-20241024-001"
RUN_ID = "diary/250615_2100"


def marts_by_contract() -> dict[str, list[dict[str, Any]]]:
    """The columns of every mart, from the contracts of the dbt project."""
    return {
        model["name"]: model["columns"]
        for path in sorted(MODELS.rglob("*.yml"))
        for model in yaml.load(path.read_bytes(), yaml.CSafeLoader).get("models", [])
        if "columns" in model
    }


def insert(
    con: duckdb.DuckDBPyConnection, table: str, rows: list[dict[str, Any]]
) -> None:
    for row in rows:
        values = [
            json.dumps(value, ensure_ascii=False)
            if isinstance(value, dict | list) or (value and name == "reference_answer")
            else value
            for name, value in row.items()
        ]
        names = ", ".join(f'"{name}"' for name in row)
        marks = ", ".join("?" for _ in values)
        con.execute(f"insert into marts.{table} ({names}) values ({marks})", values)


@pytest.fixture(scope="session")
def invented_marts() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute("create schema marts")
        for table, columns in marts_by_contract().items():
            spelled = ", ".join(f'"{c["name"]}" {c["data_type"]}' for c in columns)
            con.execute(f"create table marts.{table} ({spelled})")
        for table, rows in json.loads((DATA / "marts.json").read_text("utf-8")).items():
            insert(con, table, rows)
        yield con


@pytest.fixture
def marts(
    invented_marts: duckdb.DuckDBPyConnection,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """``data/marts.json`` in tables of the contracts; what a test changes is undone."""
    invented_marts.execute("set TimeZone = 'Asia/Shanghai'")
    invented_marts.begin()
    yield invented_marts
    invented_marts.rollback()


@pytest.fixture
def result_of(marts: duckdb.DuckDBPyConnection) -> Callable[..., AnalysisResult]:
    """``result_of(lang="en", task_id=…, limits=…)``: a task of the test warehouse."""

    def read(
        lang: str = "zh", task_id: str = TASK_ID, limits: ListLimits = NO_LIMITS
    ) -> AnalysisResult:
        return analysis_result(
            marts,
            task_id,
            ReportOptions(GENERATED_AT, lang, package_version="0.0.0"),
            limits=limits,
        )

    return read


@pytest.fixture
def memory_of(marts: duckdb.DuckDBPyConnection) -> Callable[..., MemoryResult]:
    """``memory_of(lang="en", run_id=…)``: a memory run of the test warehouse."""

    def read(lang: str = "zh", run_id: str = RUN_ID) -> MemoryResult:
        options = ReportOptions(GENERATED_AT, lang, package_version="0.0.0")
        return memory_result(marts, run_id, options)

    return read
