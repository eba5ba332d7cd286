"""Reports of marts that Spark computed say what those of DuckDB's say."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from promptlab.operations.export_from_spark import export_from_spark
from promptlab.pipeline import Warehouse
from tests.parity.compare import Comparison
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
        tasks, runs = warehouse.to_report(everything=True)
        warehouse.report(
            tasks,
            tmp_path / name,
            formats=FORMATS,
            memory_runs=runs,
            generated_at=NOW,
        )
        written[name] = {
            # the one number that Spark shows otherwise: beyond a double
            str(file.relative_to(tmp_path / name)): file.read_text("utf-8").replace(
                "1e400", "1e999"
            )
            for file in (tmp_path / name).rglob("*.*")
        }
    assert len(written["spark"]) > 20
    ours, theirs = written["duckdb"], written["spark"]
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name] != theirs[name]] == []
