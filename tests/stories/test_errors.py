"""Rounds in error by kind, and how long answers are, from run to run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from promptlab.warehouse import Warehouse

NIGHTS = {
    "first": ["Request timed out."] * 2 + ["429 Too Many Requests"] + [None] * 9,
    "second": ["Request timed out."] * 11 + [None],
}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    folder = tmp_path_factory.mktemp("errors")
    made = Warehouse(folder / "w.duckdb")
    for day, (run, errors) in enumerate(NIGHTS.items(), start=1):
        records = [
            {
                "sample_id": f"case-{n}",
                "entity_id": "guide",
                "variant": "v1",
                "run_id": run,
                "created_at": f"2026-03-0{day}T01:00:00Z",
                "final_output": "A river." * day,
                "status": "error" if error else "pass",
                "error": error,
            }
            for n, error in enumerate(errors)
        ]
        file = folder / f"{run}.jsonl"
        file.write_text("\n".join(map(json.dumps, records)))
        made.ingest(file, title="rivers")
    made.build()
    return made


def test_the_kinds_of_errors_are_counted_and_compared_with_the_baseline(
    warehouse: Warehouse,
) -> None:
    first, second = warehouse.result("first"), warehouse.result("second")
    assert first.errors_text == (
        "Rounds in error: timeouts 2, rate limits 1 (of 12 rounds)"
    )
    assert second.errors_text == (
        "Rounds in error: timeouts 2 → 11, rate limits 1 → 0 (of 12 rounds)"
    )
    assert warehouse.result("second", lang="zh").errors_text == (
        "出错的回合：超时 2 → 11，限流 1 → 0（共 12 个回合）"
    )
    assert [each.example for each in second.errors] == ["Request timed out.", None]


def test_a_report_names_them_and_the_page_of_the_title_draws_lengths(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    warehouse.report(["second"], tmp_path, formats=["html"])
    (report,) = tmp_path.rglob("second*/report.html")
    assert "timeouts 2 → 11" in report.read_text()
    pages = [each.read_text() for each in tmp_path.rglob("*.html")]
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", "".join(pages))
    assert "characters per answer" in captions
    assert "output tokens per round" not in captions
