"""Agreement in SQL equals scikit-learn, statsmodels, krippendorff, irrCAC and ppi-python.

Their figures are stored; ``python -m tests.judges.tables`` computes them again.
"""

from __future__ import annotations

import json

import pytest

from promptlab.contracts.sources import LabelOptions
from promptlab.warehouse import Warehouse
from tests.judges.suite import task
from tests.judges.tables import LIBRARIES, SCALE, N, tables
from tests.marts import only

only_judges = only("fct_corrected_pass_rates", "fct_judge_agreement")

TABLES = {table["name"]: table for table in tables()}
FIGURES = json.loads(LIBRARIES.read_text("utf-8"))
CLOSE = {"estimate", "estimate_low", "estimate_high"}
"""ppi-python divides by n, not by n - 1."""


@pytest.fixture(scope="module")
@only_judges
def found(tmp_path_factory) -> dict[str, dict]:
    """Return the figures of the marts by dimension, of one warehouse with all tables."""
    folder = tmp_path_factory.mktemp("tables")
    document = task()
    template = document["cases"][0]
    document["cases"] = [
        template
        | {
            "case_id": f"c{n}",
            "rounds": [template["rounds"][0] | {"round_id": f"r{n}", "run_index": 1}],
        }
        for n in range(N)
    ]
    (dimension,) = document["dimensions"]
    document["dimensions"] = [
        dimension | {"dimension_id": name, "name": name} for name in TABLES
    ]
    (folder / "run.json").write_text(json.dumps(document), "utf-8")
    scores, labels = [], {True: [], False: []}
    for name, table in TABLES.items():
        for n, answer in enumerate(table["answers"]):
            ids = {"case_id": f"c{n}", "round_id": f"r{n}"}
            ids["task_id"] = "run-1"
            given = {"dimension_id": name, "score": answer["score"], "scorer": "j"}
            scores.append(json.dumps(ids | given))
            for person, label in answer["labels"].items():
                said = {"labeler": person, "label": label, "draw": "random"}
                row = ids | {"dimension": name} | said
                labels[table["is_graded"]].append(json.dumps(row))
    (folder / "scores.jsonl").write_text("\n".join(scores), "utf-8")
    warehouse = Warehouse(folder / "w.duckdb")
    warehouse.ingest(folder / "run.json", folder / "scores.jsonl")
    for is_graded, rows in labels.items():
        file = folder / f"labels-{is_graded}.jsonl"
        file.write_text("\n".join(rows), "utf-8")
        options = LabelOptions(scale=SCALE if is_graded else None)
        ingested = warehouse.ingest(file, kind="labels", labels=options)
        assert ingested.n_rejected_records == 0
    warehouse.build()
    agreement = warehouse.judges().to_dicts()
    estimates = warehouse.sql(
        "select dimension_id, corrected_rate as estimate, ci_low as estimate_low,"
        " ci_high as estimate_high from marts.fct_corrected_pass_rates"
        " where measure = 'mean_score' and method = 'ppi_plus_plus'"
    ).to_dicts()
    by_dimension = {row["dimension_id"]: row for row in agreement}
    for row in estimates:
        by_dimension[row["dimension_id"]] |= row
    return by_dimension


@pytest.mark.parametrize("name", TABLES)
def test_the_marts_say_what_the_libraries_say(found, name):
    row = found[name]
    for figure, expected in FIGURES[name].items():
        limit = 2e-3 if figure in CLOSE else 2e-6
        got = row[figure]
        if figure.endswith("_high"):
            expected = min(1, expected)
        assert got == pytest.approx(expected, abs=limit), figure
