"""Names that look the same are the same, in every kind of file."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from promptlab.contracts.sources import TableMapping
from promptlab.settings import Settings, TitleSettings
from promptlab.warehouse import Warehouse
from tests.ingest.test_load import task, write

CASE = "Café"
WRITTEN = f" {unicodedata.normalize('NFD', CASE)}\u00a0"

MAPPING = TableMapping(case="id", inputs=["q"], output="a", verdict="v")


def _files(folder: Path) -> None:
    analysis = task("run")
    analysis["task"] |= {"title": WRITTEN, "variant": WRITTEN}
    analysis["cases"] = [{**analysis["cases"][0], "case_id": WRITTEN}]
    write(folder / "analysis.json", analysis)
    records = {
        "results": {
            "sample_id": WRITTEN, "entity_id": "e", "variant": WRITTEN,
            "final_output": "a", "created_at": "2026-01-01T00:00:00Z",
        },
        "cases": {"id": WRITTEN, "input": "q", "expected_output": "a"},
        "scores": {
            "task_id": "run", "case_id": WRITTEN, "round_id": "r", "scorer": "judge",
            "dimension_id": "d", "score": 1,
        },
    }  # fmt: skip
    for name, record in records.items():
        (folder / f"{name}.jsonl").write_text(json.dumps(record), "utf-8")
    rows = f"id,q,a,v\n{WRITTEN},q,a,pass\n"
    (folder / "table.csv").write_text(rows, "utf-8")


def test_case_ids_titles_and_variants_ignore_unicode_forms_and_outer_blanks(tmp_path):
    files = tmp_path / "in"
    files.mkdir()
    _files(files)
    settings = Settings(
        db=tmp_path / "w.duckdb",
        tables={"t": MAPPING},
        titles={WRITTEN: TitleSettings(alias=["before"])},
    )
    warehouse = Warehouse(settings.db, settings=settings)
    result = warehouse.ingest(files)
    assert {each.status for each in result.files} == {"loaded"}, result.files
    with warehouse.examining() as con:
        tables = con.execute(
            "select table_name from duckdb_columns()"
            " where schema_name = 'raw' and column_name = 'case_id'"
        ).fetchall()
        found = {
            table: con.execute(f"select distinct case_id from raw.{table}").fetchall()
            for (table,) in tables
        }
        names = con.execute("select title, variant from raw.tasks").fetchall()
    held = {table: rows for table, rows in found.items() if rows}
    assert {"cases", "rounds", "scores", "test_cases", "expectations"} <= held.keys()
    assert all(rows == [(CASE,)] for rows in held.values()), held
    assert (CASE, CASE) in names


@pytest.mark.parametrize("twin", [CASE, WRITTEN])
def test_a_case_whose_id_differs_in_outer_blanks_only_is_a_duplicate(tmp_path, twin):
    analysis = task("run")
    first = {**analysis["cases"][0], "case_id": CASE}
    analysis["cases"] = [first, {**first, "case_id": twin}]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    result = warehouse.ingest(write(tmp_path / "a.json", analysis))
    assert any("duplicate" in each.code for each in result.files[0].problems)
