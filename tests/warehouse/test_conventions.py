"""Conventions of the dbt project, read off its manifest."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from promptlab.build import plan
from promptlab.build.dbt import run_dbt
from promptlab.paths import dbt_target
from promptlab.settings import Settings


@pytest.fixture(scope="module")
def manifest(example_db: Path) -> dict[str, Any]:
    path = dbt_target(example_db) / "manifest.json"
    if not path.exists():
        run_dbt(Settings(db=example_db), command="parse")
    return json.loads(path.read_text("utf-8"))


@pytest.fixture(scope="module")
def models(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    return [n for n in manifest["nodes"].values() if n["resource_type"] == "model"]


def marts(models: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [m for m in models if m["schema"] == "marts"]


def test_every_mart_has_its_rows_checked_where_the_engine_does_not(models):
    for model in marts(models):
        hooks = [hook["sql"] for hook in model["config"]["post-hook"]]
        assert hooks == ["{{ check_constraints(this, model) }}"], model["name"]


def test_every_model_lives_in_the_schema_of_its_layer(models):
    for model in models:
        layer = model["path"].split("/")[0]
        prefix = {
            "staging": ("stg_",),
            "intermediate": ("int_",),
            "marts": ("dim_", "fct_"),
        }
        assert model["schema"] == layer, model["name"]
        assert model["name"].startswith(prefix[layer]), model["name"]


def test_only_staging_reads_sources(models):
    for model in models:
        reads = any(node.startswith("source.") for node in model["depends_on"]["nodes"])
        assert reads == (model["schema"] == "staging"), model["name"]


def test_staging_reads_one_source_and_nothing_else(models):
    for model in models:
        if model["schema"] == "staging":
            assert len(model["depends_on"]["nodes"]) == 1, model["name"]


def test_every_mart_has_an_enforced_contract_and_described_columns(models):
    for model in marts(models):
        assert model["contract"]["enforced"], model["name"]
        assert model["description"], model["name"]
        for column in model["columns"].values():
            assert column["description"], f"{model['name']}.{column['name']}"


def test_no_mart_has_a_list_or_struct_column(models):
    for model in marts(models):
        for column in model["columns"].values():
            assert "[" not in column["data_type"], f"{model['name']}.{column['name']}"
            assert "struct" not in column["data_type"].lower()


def test_every_mart_has_a_key_that_is_tested(manifest, models):
    tested = {
        node["attached_node"]
        for node in manifest["nodes"].values()
        if node["resource_type"] == "test"
        and node.get("test_metadata", {}).get("name")
        in {"unique", "unique_combination"}
    }
    missing = [m["name"] for m in marts(models) if m["unique_id"] not in tested]
    assert missing == []


def test_every_fact_that_computes_has_a_unit_test_or_one_upstream(manifest, models):
    tested = {
        node
        for unit in manifest["unit_tests"].values()
        for node in unit["depends_on"]["nodes"]
    }
    parents = {m["unique_id"]: m["depends_on"]["nodes"] for m in models}
    staging = {m["unique_id"] for m in models if m["schema"] == "staging"}

    def is_tested(model: str) -> bool:
        return model in tested or any(
            is_tested(parent) for parent in parents.get(model, ()) if parent in parents
        )

    untested = [
        m["name"]
        for m in marts(models)
        if m["name"].startswith("fct_")
        and not staging.issuperset(parents[m["unique_id"]])  # a list of what was read
        and not is_tested(m["unique_id"])
    ]
    assert untested == []


def imports(model: dict[str, Any]) -> list[tuple[str, str]]:
    """The import CTEs of a model: what is imported, and what follows it in the CTE."""
    return re.findall(
        r"(?ms)^\w+ as \(\s*select \* from \{\{ ref\('(\w+)'\) \}\}(.*?)\),?$",
        model["raw_code"],
    )


def test_a_model_of_one_build_reads_only_that_build_of_what_is_kept(models):
    kept = {m["name"] for m in models if m["config"]["materialized"] == "incremental"}
    of_everything = {
        m["name"]
        for m in models
        if m["schema"] == "marts" and m["config"]["materialized"] != "incremental"
    }
    unbounded = [
        (model["name"], imported)
        for model in models
        if model["name"] not in of_everything
        for imported, text in imports(model)
        if imported in kept and " in (select " not in text
        if "in_this_build" not in text
    ]
    assert len(kept) > 30
    assert unbounded == []


def test_what_is_kept_says_which_batch_replaces_it(models):
    for model in models:
        config = model["config"]
        if config["materialized"] == "incremental":
            assert config["meta"]["batch"] in {
                "tasks",
                "titles",
                "comparisons",
                "memory_runs",
            }, model["name"]
            assert config["unique_key"] in model["columns"] or (
                model["schema"] == "intermediate"
            ), model["name"]


def test_every_mart_that_is_a_table_says_whose_its_rows_are(models):
    tables = [m for m in marts(models) if m["config"]["materialized"] != "view"]
    assert [m["name"] for m in tables if not m["config"]["unique_key"]] == []


def test_a_step_without_a_key_is_one_that_a_build_empties_as_it_ends(models):
    """A purge empties them too; all other tables lose rows by their keys."""
    of_one_build = {node.name for node in plan.load().nodes if node.is_of_one_build}
    without_key = {
        model["name"]
        for model in models
        if model["schema"] == "intermediate"
        and model["config"]["materialized"] != "view"
        and not model["config"]["unique_key"]
    }
    assert without_key == of_one_build


def test_a_mart_that_is_a_view_is_built_as_one(models, rows):
    views = {m["name"] for m in marts(models) if m["config"]["materialized"] == "view"}
    built = rows("select view_name from duckdb_views() where schema_name = 'marts'")
    assert views == {name for (name,) in built}


def test_every_id_of_another_task_or_run_is_a_key_or_said_to_be_a_mention(models):
    """Of a pair the table of pairs says it for all: they go with their candidate."""
    for model in marts(models):
        config = model["config"]
        if config["materialized"] == "view":
            continue
        others = {
            column
            for column in model["columns"]
            if column.endswith(("_task_id", "_run_id"))
            and column != config["unique_key"]
        }
        if config["unique_key"].startswith("candidate_"):
            others -= {"baseline_task_id", "baseline_run_id"}
        assert others <= set(config["meta"].get("mentions", ())), model["name"]
