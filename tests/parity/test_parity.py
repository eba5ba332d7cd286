"""The same models give the same tables on Apache Spark as on DuckDB."""

from __future__ import annotations

import sys

from tests.parity.compare import Comparison


def test_a_first_load_gives_every_table_alike(first_load: list[Comparison]) -> None:
    check(first_load)


def test_a_late_correction_gives_every_table_alike(
    late_correction: list[Comparison],
) -> None:
    check(late_correction)


def check(comparisons: list[Comparison]) -> None:
    sys.stdout.write("\n".join(["", *map(str, comparisons), ""]))
    assert len(comparisons) > 130
    different = [
        f"{each.table}: {len(each.differences)} differences,"
        f" first {'; '.join(each.differences[:3])}"
        for each in comparisons
        if each.differences
    ]
    assert not different, "\n".join(different)
