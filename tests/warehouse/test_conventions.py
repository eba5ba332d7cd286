"""Conventions of the dbt project, read off its manifest."""

from __future__ import annotations

import functools
import json
import re
import statistics
from typing import Any

import pytest

from promptlab.build import plan
from promptlab.settings import Settings


@pytest.fixture(scope="module")
def manifest(dbt_settings: Settings) -> dict[str, Any]:
    file = dbt_settings.db.with_name("manifest.json")
    return json.loads(file.read_text("utf-8"))


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
            "live": ("live_",),
            "staging": ("stg_",),
            "intermediate": ("int_",),
            "marts": ("dim_", "fct_"),
        }
        assert model["schema"] == layer, model["name"]
        assert model["name"].startswith(prefix[layer]), model["name"]


def test_only_marts_are_public_and_each_has_the_tag_of_its_folder(models):
    for model in models:
        is_mart = model["schema"] == "marts"
        assert model["access"] == ("public" if is_mart else "private"), model["name"]
        folder = model["path"].split("/")[1]
        assert model["tags"] == ([folder] if is_mart else []), model["name"]


def test_only_what_is_live_and_staging_read_sources(models):
    for model in models:
        reads = any(node.startswith("source.") for node in model["depends_on"]["nodes"])
        assert not reads or model["schema"] in ("live", "staging"), model["name"]


def test_staging_reads_what_is_live_of_one_table_and_memory_runs_join_the_tasks(models):
    """The union of memory runs and tasks is where all that reads tasks begins."""
    objects = "model.promptlab.live_objects"
    questions = "model.promptlab.stg_memory__questions"
    more = {
        "stg_tasks__tasks": {"source.promptlab.raw.memory_runs"},
        "stg_tasks__cases": {questions},
        "stg_tasks__rounds": {questions},
        "stg_tasks__baselines": {questions},
    }
    of_no_object = {
        "loads", "rejects", "settings", "task_builds", "comparison_builds", "accepts",
        "requested_comparisons",
    }  # fmt: skip
    for model in models:
        if model["schema"] == "staging" and model["name"] != "stg_memory__questions":
            nodes = set(model["depends_on"]["nodes"])
            (read,) = nodes - more.get(model["name"], set()) - {objects}
            *_, name = read.split(".")
            is_live = name.startswith("live_") or objects in nodes
            assert is_live or name in of_no_object, model["name"]


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
        and node.get("test_metadata", {}).get("name") == "keys"
    }
    missing = [m["name"] for m in marts(models) if m["unique_id"] not in tested]
    assert missing == []


COMPUTES = re.compile(r"\bcase\b|\bover\b|\bgroup by\b|\bunion\b")


def test_every_fact_that_computes_has_a_unit_test_of_its_own(manifest, models):
    """One that only picks rows and columns is as good as what it picks them from."""
    tested = {
        node
        for unit in manifest["unit_tests"].values()
        for node in unit["depends_on"]["nodes"]
    }
    parents = {m["unique_id"]: set(read(m)) for m in models}
    of_sources = {
        m["unique_id"]
        for m in models
        if m["schema"] == "staging" or m["name"].endswith("_to_build")
    }
    untested = [
        m["name"]
        for m in marts(models)
        if m["name"].startswith("fct_")
        and m["unique_id"] not in tested
        and not parents[m["unique_id"]] <= of_sources  # a list of what was read
        and (
            COMPUTES.search(re.sub("--.*", "", m["raw_code"]))
            or not parents[m["unique_id"]] <= tested | of_sources
        )
    ]
    assert untested == []


def read(model: dict[str, Any]) -> list[str]:
    """The models that a model reads."""
    return [n for n in model["depends_on"]["nodes"] if n.startswith("model.")]


def reads_marts(model: dict[str, Any]) -> bool:
    """Steps of marts that collect numbers of the others, or labels of the whole history."""
    return model["path"].startswith(("intermediate/gate/", "intermediate/judges/"))


def test_the_graph_runs_one_way(models):
    """From staging through intermediate to marts: what a mart has is computed below."""
    layer = {m["unique_id"]: m["schema"] for m in models}
    later = {"live": (), "staging": (), "intermediate": ("marts",), "marts": ()}
    backwards = [
        (model["name"], parent)
        for model in models
        for parent in read(model)
        if layer[parent] in later[model["schema"]] and not reads_marts(model)
    ]
    assert backwards == []


def test_no_chain_of_models_is_longer_than_31(models):
    parents = {m["unique_id"]: read(m) for m in models}

    @functools.cache
    def chain(model: str) -> tuple[str, ...]:
        return (*max(map(chain, parents[model]), key=len, default=()), model)

    assert len(max(map(chain, parents), key=len)) <= 31


def test_a_model_is_a_page(models):
    """Of twenty models at most one has more than 180 lines."""
    lengths = sorted(len(m["raw_code"].splitlines()) for m in models)
    assert statistics.quantiles(lengths, n=20, method="inclusive")[-1] <= 180


def test_every_model_is_described_in_its_yaml_and_at_its_head_in_two_lines(models):
    """The SQL alone says what one row is."""
    for model in models:
        assert model["description"], model["name"]
        head = re.split(r"(?m)^(?:with|select)\b", model["raw_code"])[0]
        assert "One row per" in head.replace("\n-- ", " "), model["name"]
        assert head.count("--") <= 2 and "{#" not in head, model["name"]


def imports(model: dict[str, Any]) -> list[tuple[str, str]]:
    """The import CTEs of a model: what is imported, and what follows it in the CTE."""
    return re.findall(
        r"(?ms)^\w+ as \(\s*select \* from \{\{ ref\('promptlab', '(\w+)'\) \}\}(.*?)\),?$",
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
        if model["name"] not in of_everything and not reads_marts(model)
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


def test_an_intermediate_table_without_a_key_is_a_step_that_no_file_keeps(models):
    """A purge empties those that dbt wrote; all other tables lose rows by their keys."""
    steps = {
        node.name for node in plan.load().nodes if node.is_step and node.kind == "table"
    }
    without_key = {
        model["name"]
        for model in models
        if model["schema"] == "intermediate"
        and model["config"]["materialized"] != "view"
        and not model["config"]["unique_key"]
    }
    assert without_key == steps


def test_a_mart_that_is_a_view_is_built_as_one(models, rows):
    views = {m["name"] for m in marts(models) if m["config"]["materialized"] == "view"}
    built = rows("select view_name from duckdb_views() where schema_name = 'marts'")
    assert views == {name for (name,) in built}


def test_every_id_of_another_task_or_run_is_a_key_or_declared_a_mention(models):
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


_COLUMN = re.compile(r"\bas (\w+),?$|^ {8}(?:\w+\.)?(?!case\b)(\w+),?$")
_OF_THE_GRAIN = re.compile(r"_id$|_index_")


def test_every_column_of_a_step_is_read(models):
    """A column that only its own unit test reads is computed for nobody; ids are grain."""
    queries = {n.name: re.sub("--.*", "", n.query or "") for n in plan.load().nodes}
    words: dict[str, set[str]] = {model["name"]: set() for model in models}
    for model in models:
        read = {*re.findall(r"\w+", queries.get(model["name"], "")), *model["columns"]}
        for parent in model["depends_on"]["nodes"]:
            words.setdefault(parent.split(".")[-1], set()).update(read)
    unread = {}
    for model in models:
        name = model["name"]
        if name in queries and re.match("int_.*(?<!_scored)$", name):
            unread[name] = [
                column
                for column in columns_of(queries[name])
                if not _OF_THE_GRAIN.search(column) and column not in words[name]
            ]
    unread = {name: columns for name, columns in unread.items() if columns}
    assert unread == {}


def columns_of(sql: str) -> list[str]:
    """Return the columns of the CTE that a model ends with, but for aliases it reads."""
    last = sql.rsplit("select * from ", 1)[-1].split()[0]
    body = re.search(rf"\n{re.escape(last)} as \((.*?)\n\)", sql, re.DOTALL)
    if body is None:
        return []
    lines = body[1].split("\n    from ")[0].split("\n")
    found = [_COLUMN.search(line) for line in lines if "--" not in line]
    columns = [match[1] or match[2] for match in found if match]
    return [c for c in columns if len(re.findall(rf"(?<!\.)\b{c}\b", body[1])) < 2]
