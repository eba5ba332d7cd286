"""Reports of marts that Spark computed say what those of DuckDB's say."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from promptlab.operations.export import export_from_spark
from promptlab.warehouse import Warehouse
from tests.parity.compare import APART, Comparison
from tests.parity.conftest import Engines

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FORMATS = ("json", "html", "md", "csv")


def test_reports_from_an_export_of_spark_are_those_of_the_warehouse(
    engines: Engines, late_correction: list[Comparison], tmp_path: Path
) -> None:
    exported = tmp_path / "exported"
    manifest = export_from_spark(engines.spark.settings, exported, exported_at=NOW)
    rows = {table["name"]: table["rows"] for table in manifest["tables"]}
    assert len(rows) > 30
    assert rows["dim_tasks"] > 5

    written = {}
    for name, warehouse in {
        "spark": Warehouse(exported=exported),
        "duckdb": engines.duckdb,
    }.items():
        tasks = warehouse.to_report(everything=True)
        warehouse.report(
            tasks,
            tmp_path / name,
            formats=FORMATS,
            generated_at=NOW,
        )
        written[name] = {
            str(file.relative_to(tmp_path / name)): without_its_digits(
                file.read_text("utf-8")
            )
            for file in (tmp_path / name).rglob("*")
            if file.is_file()
        }
    assert len(written["spark"]) > 20
    ours, theirs = written["duckdb"], written["spark"]
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if not say_the_same(ours[name], theirs[name])] == []


def without_its_digits(text: str) -> str:
    """A file without the digits of the one number that is beyond a double.

    Spark shows it otherwise once it was taken out of a document, so it is not the whole
    answer there, and a text of its digits needs no quotes to differ from a number.
    """
    text = re.sub(r'(\\"|&#34;)?1e(400|999)(\\"|&#34;)?', "1e999", text)
    return text.replace(
        '<pre class="snippet" dir="auto"><bdi>1e999</bdi></pre>',
        '<p class="note">(the whole answer)</p>',
    )


def say_the_same(one: str, other: str) -> bool:
    """Byte for byte; JSON may differ in the last digits of a double."""
    if one == other:
        return True
    try:
        return is_close(json.loads(one), json.loads(other))
    except ValueError:
        return False


def is_close(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(
            is_close(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_close, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=APART, abs_tol=APART)
    return type(one) is type(other) and one == other
