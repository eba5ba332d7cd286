"""Files can be read by tasks of Spark."""

from __future__ import annotations

from pathlib import Path

from promptlab.warehouse import Warehouse
from tests.conftest import EXAMPLES


def test_tasks_of_spark_write_what_this_process_would(
    spark_folder: Path, tmp_path: Path
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    Warehouse().ingest(EXAMPLES, sink=f"parquet://{one}")
    Warehouse().ingest(EXAMPLES, sink=f"parquet://{other}", workers="spark")
    files = sorted(p.relative_to(one) for p in (one / "tables").rglob("*.parquet"))
    assert len(files) > 50
    for file in files:
        assert (one / file).read_bytes() == (other / file).read_bytes(), file
