"""Totals recomputed from the rows of a file: the same to the last bit, however it lists them."""

from __future__ import annotations

import json
import random
from pathlib import Path

from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA

LOG = json.loads((DATA / "inspect_ai" / "late.json").read_text("utf-8"))


def test_a_total_does_not_depend_on_the_order_of_the_rows(tmp_path: Path) -> None:
    """Sums of doubles do: each order of thirds and tenths leaves another last digit."""
    chance = random.Random(5)
    samples = [
        LOG["samples"][0]
        | {
            "id": f"s{number}",
            "uuid": str(number),
            "scores": {
                "looks": {
                    "value": {"characters": chance.random() * 10, "kindness": 0.1}
                }
            },
        }
        for number in range(60)
    ]
    for order in range(6):
        about = LOG["eval"] | {"task_id": str(order), "run_id": str(order)}
        log = LOG | {"eval": about, "samples": samples}
        (tmp_path / f"{order}.json").write_text(json.dumps(log), "utf-8")
        chance.shuffle(samples)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(tmp_path)
    warehouse.build()
    totals = warehouse.sql(
        "select total_position, total_rule, count(*), count(distinct computed)"
        " from marts.fct_reported_totals"
        " where dimension_id = 'looks.characters' group by all order by all"
    ).rows()
    assert {rule for _, rule, _, _ in totals} == {
        "mean_over_cases",
        "stderr_over_cases",
    }
    assert warehouse.sql(
        "select distinct computed from marts.fct_reported_totals"
        " where dimension_id = 'looks.kindness' and total_rule = 'stderr_over_cases'"
    ).rows() == [(0.0,)]
    assert {(n, n_different) for _, _, n, n_different in totals} == {(6, 1)}
