"""The same models give the same tables on Apache Spark as on DuckDB."""

from __future__ import annotations

import sys

from tests.parity.compare import Comparison
from tests.parity.conftest import KIND


def test_a_first_load_gives_every_table_alike(first_load: list[Comparison]) -> None:
    check(first_load)


def test_a_late_correction_gives_every_table_alike(
    late_correction: list[Comparison],
) -> None:
    check(late_correction)


def check(comparisons: list[Comparison]) -> None:
    sys.stdout.write("\n".join(["", *map(str, comparisons), ""]))
    assert len(comparisons) > (30 if KIND == "quick" else 130)
    different = [
        f"{each.table}: {len(each.differences)} differences,"
        f" first {'; '.join(each.differences[:3])}"
        for each in comparisons
        if each.differences
    ]
    assert not different, "\n".join(different)


def test_every_view_fits_into_the_poorest_metastore(
    first_load: list[Comparison],
) -> None:
    """Derby holds 32,700 characters of a view; Iceberg's catalog drops backslashes."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.getOrCreate()
    texts = {
        f"{schema}.{view.viewName}": described.data_type
        for schema in ("raw", "staging", "intermediate", "marts")
        for view in session.sql(f"show views in {schema}").collect()
        if not view.isTemporary
        for described in session.sql(
            f"describe extended {schema}.{view.viewName}"
        ).collect()
        if described.col_name == "View Text"
    }
    assert len(texts) > 40
    assert [name for name, text in texts.items() if len(text) > 32_700] == []
    assert [name for name, text in texts.items() if "\\" in text] == []
