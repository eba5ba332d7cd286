"""Every Eval Ever, out: valid by its schema, and read back to equal numbers."""

from __future__ import annotations

import hashlib
import json
import math
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from promptlab.contracts.sources import TableMapping
from promptlab.errors import UsageError
from promptlab.operations.export_evals import export_evals
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse
from tests.conftest import EXAMPLES
from tests.foreign.reading_of import DATA
from tests.foreign.test_oracles import SHARED
from tests.history.test_reference_runs import write
from tests.ingest.test_load import task

NOW = datetime(2026, 5, 1, tzinfo=UTC)
SCHEMAS = SHARED / "every_eval_ever"


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    here = tmp_path_factory.mktemp("origin")
    (here / "clusters.json").write_text(json.dumps(_conversations()), "utf-8")
    mapping = TableMapping(
        case="id", inputs=["q"], output="a", round="k", verdict="ok", cost="cost"
    )
    settings = Settings(tables={"rivers": mapping})
    warehouse = Warehouse(here / "w.duckdb", settings=settings)
    warehouse.ingest(EXAMPLES / "customer_service", DATA / "inspect_ai", DATA / "ragas")
    warehouse.ingest(DATA / "promptfoo")
    warehouse.ingest(here / "clusters.json")
    (here / "rivers.csv").write_text(_ROUNDS_FROM_ZERO, "utf-8")
    warehouse.ingest(here / "rivers.csv")
    warehouse.build()
    return warehouse


_ROUNDS_FROM_ZERO = "id,k,q,a,ok,cost\n" + "".join(
    f"c{i},{k},Q{i}?,A{i} {k},{'no' if (i, k) == (0, 1) else 'yes'},0.0{i + k + 1}\n"
    for i in range(4)
    for k in range(3)
)


def _conversations() -> dict[str, Any]:
    """A run of two conversations."""
    document = task("conversations", cases=8)
    for n, case in enumerate(document["cases"]):
        case["cluster"] = f"conversation {n % 2}"
        case["baselines"] = [
            {
                "baseline_id": f"b{n}",
                "type": "golden_answer",
                "payload": {"text": "yes"},
                "owner": "qa",
                "confidence": 1,
            }
        ]
    document["dimensions"] = [
        {
            "dimension_id": "accuracy",
            "name": "Accuracy",
            "weight": 1,
            "target": {},
            "parameters": {"match_rule": "exact"},
            "scoring_mode": "higher_better",
        }
    ]
    return document


@pytest.fixture(scope="module")
def folder(origin: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    export_evals(origin, folder, organization="acme", exported_at=NOW)
    return folder


@pytest.fixture(scope="module")
def again(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    warehouse = Warehouse(tmp_path_factory.mktemp("again") / "w.duckdb")
    loads = warehouse.ingest(folder).files
    assert {load.status for load in loads} == {"loaded"}
    warehouse.build()
    return warehouse


def _aggregates(folder: Path) -> list[Any]:
    files = sorted(folder.rglob("*.json"))
    return [json.loads(file.read_text("utf-8")) for file in files]


@pytest.mark.skipif(not SCHEMAS.is_dir(), reason="no schema beside it")
def test_aggregates_and_lines_are_valid(folder: Path) -> None:
    def schema(name: str) -> jsonschema.Draft7Validator:
        text = (SCHEMAS / name).read_text("utf-8")
        return jsonschema.Draft7Validator(json.loads(text))

    aggregate, line = (
        schema("eval.schema.json"),
        schema("instance_level_eval.schema.json"),
    )
    aggregates = _aggregates(folder)
    assert aggregates
    for each in aggregates:
        aggregate.validate(each)
    for file in folder.rglob("*_samples.jsonl"):
        for written in file.read_text("utf-8").splitlines():
            line.validate(json.loads(written))


def test_the_aggregate_names_its_samples_and_their_hash(folder: Path) -> None:
    for aggregate in _aggregates(folder):
        told = aggregate["detailed_evaluation_results"]
        data = (folder / told["file_path"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == told["checksum"]
        assert data.count(b"\n") == told["total_rows"]


NUMBERS = {
    "means of dimensions": """
        select origin, dimension_id, avg(score), count(*) from (
            select r.origin, s.dimension_id, s.case_id, avg(s.score) as score
            from marts.fct_round_scores as s inner join r using (task_id)
            inner join marts.fct_rounds as f using (task_id, case_id, round_id)
            where f.status <> 'error' and s.score is not null and s.dimension_id <> 'verdict' group by all
        ) group by all order by all""",
    "verdicts": """
        select r.origin, f.case_id, f.run_index, f.status
        from marts.fct_rounds as f inner join r using (task_id)
        where f.status <> 'unevaluated' order by all""",
    "runs and variants": """
        select count(distinct run_id), variant, list(r.origin order by r.origin)
        from marts.dim_tasks inner join r using (task_id)
        group by title, variant order by all""",
    "tokens, time and cost": """
        select r.origin, f.case_id, f.run_index, f.latency_ms, f.cost,
            if(f.output_tokens is null, null, f.input_tokens)
        from marts.fct_rounds as f inner join r using (task_id)
        where f.status <> 'unevaluated' order by all""",
    "clusters": """
        select r.origin, f.case_id, f.cluster
        from staging.stg_tasks__cases as f inner join r using (task_id)
        where f.cluster is not null order by all""",
    "values on their own scale": """
        select r.origin, s.dimension_id, s.case_id, s.value
        from raw.reported_scores as s inner join r using (task_id)
        where s.dimension_id like 'looks.%' and s.value is not null order by all""",
}  # fmt: skip
_HERE = "with r as (select task_id, task_id as origin from raw.tasks) "
_BACK = (
    "with r as (select task_id, extras ->> '$.source.additional_details.task_id' as"
    " origin from raw.tasks) "
)


@pytest.mark.parametrize("what", NUMBERS)
def test_what_was_exported_loads_back_to_equal_numbers(
    what: str, origin: Warehouse, again: Warehouse
) -> None:
    here = origin.sql(_HERE + NUMBERS[what]).rows()
    back = again.sql(_BACK + NUMBERS[what]).rows()
    assert len(here) > 5
    assert len(back) == len(here)
    for one, other in zip(back, here, strict=True):
        assert all(map(_equal, one, other)), (one, other)


def test_the_prompt_of_a_task_goes_out_and_comes_back(
    origin: Warehouse, again: Warehouse
) -> None:
    prompts = "select distinct prompt::varchar as p from marts.dim_task_prompts"
    told = origin.sql(prompts)["p"].sort().to_list()
    assert told
    assert again.sql(prompts)["p"].sort().to_list() == told


def test_the_score_by_a_dimensions_own_aggregation_stands_beside_the_mean(
    origin: Warehouse, folder: Path
) -> None:
    here = origin.sql(
        "select dimension_id, score from marts.fct_dimension_scores"
        " where task_id = 'cs-regression-v3.2' and score is not null"
    ).rows()
    (aggregate,) = (
        each
        for each in _aggregates(folder)
        if each["source_metadata"]["additional_details"]["task_id"]
        == "cs-regression-v3.2"
    )
    told = {
        result["metric_config"]["metric_id"]: result["score_details"]["details"]
        for result in aggregate["evaluation_results"]
    }
    for dimension, score in here:
        assert float(told[dimension]["score_in_the_warehouse"]) == score


def _equal(one: object, other: object) -> bool:
    """Scores are kept in millionths, and their means made of these."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1.01e-6)
    return one == other


def test_every_total_that_was_exported_agrees_when_it_is_back(again: Warehouse) -> None:
    rows = again.sql(
        "select total_name, reported, computed, agrees from marts.fct_reported_totals"
    ).rows()
    assert len(rows) > 20
    assert [row for row in rows if row[3] is False] == []


def test_a_task_that_is_exported_again_replaces_its_own_files_alone(
    origin: Warehouse, tmp_path: Path
) -> None:
    (tmp_path / "theirs.txt").write_text("kept", "utf-8")
    for _ in range(2):
        (one,) = export_evals(origin, tmp_path, tasks=["latest"], exported_at=NOW)
    files = sorted(path.name for path in tmp_path.rglob("*.*") if path.is_file())
    stem = one.aggregate.stem
    assert files == sorted([f"{stem}.json", f"{stem}_samples.jsonl", "theirs.txt"])
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", stem
    )


def test_a_title_leads_nowhere_but_below_the_folder(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    rows = "user_input,response,exact_match\nNile?,sea,1\n"
    (tmp_path / "in" / "..x").mkdir(parents=True)
    (tmp_path / "in" / "..x" / "a.csv").write_text(rows, "utf-8")
    warehouse.ingest(tmp_path / "in")
    warehouse.build()
    (one,) = export_evals(warehouse, tmp_path / "out", exported_at=NOW)
    assert one.aggregate.parts[:2] == ("data", "x")


def test_an_unknown_task_is_named(origin: Warehouse, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nope"):
        export_evals(origin, tmp_path, tasks=["nope"], exported_at=NOW)


def test_rounds_of_one_number_are_lines_of_their_own(tmp_path: Path) -> None:
    rows = "id,k,q,a,ok\nc,0,Q?,A,yes\nc,1,Q?,B,no\nc,0,Q?,C,yes\nd,5,R?,D,no\n"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rivers.csv").write_text(rows, "utf-8")
    mapping = TableMapping(case="id", inputs=["q"], output="a", round="k", verdict="ok")
    settings = Settings(tables={"rivers": mapping})
    here = Warehouse(tmp_path / "here.duckdb", settings=settings)
    here.ingest(tmp_path / "in")
    here.build()
    export_evals(here, tmp_path / "out", exported_at=NOW)
    back = Warehouse(tmp_path / "back.duckdb")
    back.ingest(tmp_path / "out")
    back.build()
    rounds = (
        "select case_id, run_index, answer, status from marts.fct_rounds order by all"
    )
    assert back.sql(rounds).rows() == [
        ("c", 1, "A", "pass"),
        ("c", 2, "C", "pass"),
        ("c", 3, "B", "fail"),
        ("d", 5, "D", "fail"),
    ]


def test_golden_answers_go_out_whatever_their_key_and_rechecks_stay(
    tmp_path: Path,
) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    write(tmp_path, "run", 1, {"c": "y"})
    write(tmp_path, "again", 2, {"c": "yyy"})
    warehouse.ingest(tmp_path / "run.json")
    warehouse.ingest(tmp_path / "again.json", recheck_of="run")
    warehouse.build()
    [exported] = export_evals(warehouse, tmp_path / "out", exported_at=NOW)
    assert exported.task_id == "run"
    [samples] = (tmp_path / "out").rglob("*.jsonl")
    lines = samples.read_text("utf-8").splitlines()
    references = {str(json.loads(each)["input"]["reference"]) for each in lines}
    assert references == {str(["y"])}
