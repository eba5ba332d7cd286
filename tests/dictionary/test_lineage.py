"""The sources of a table are the tables that the SQL of a build reads."""

from __future__ import annotations

import pytest

from promptlab import dictionary
from promptlab.build import plan
from promptlab.build.plan import Node, Plan
from promptlab.dictionary import Lineage


def model(name: str, *reads: str) -> Node:
    schema, table = name.split(".")
    quoted = ['"{}"."{}"'.format(*each.split(".")) for each in reads]
    sql = [f"select * from {each}" for each in quoted]
    return Node(name=table, kind="table", sql=sql, schema=schema)


@pytest.fixture(scope="module")
def lineage() -> Lineage:
    nodes = [
        model("staging.stg_rounds", "raw.rounds", "raw.task_builds"),
        model("intermediate.int_tasks_to_build", "raw.loads"),
        model(
            "intermediate.int_scored", "staging.stg_rounds", "policy.promptlab_grades"
        ),
        model("intermediate.int_summed", "intermediate.int_scored", "raw.tasks"),
        model(
            "marts.fct_scores",
            "intermediate.int_scored",
            "intermediate.int_tasks_to_build",
        ),
        model("marts.fct_sums", "intermediate.int_summed", "raw.rounds"),
        model("marts.fct_best", "marts.fct_sums", "marts.fct_best"),
        model("marts.fct_answers", "staging.stg_rounds"),
        model("marts.fct_alone", "raw.memory_runs"),
    ]
    return Lineage.of(
        Plan(
            sources_hash="",
            project_hash="",
            forget=[],
            remember=[],
            nodes=nodes,
        )
    )


def test_a_mart_is_made_of_what_its_steps_read(lineage):
    assert lineage.sources("marts.fct_scores") == [
        "policy.promptlab_grades",
        "raw.rounds",
    ]
    assert lineage.steps("marts.fct_scores") == [
        "intermediate.int_scored",
        "staging.stg_rounds",
    ]


def test_what_a_build_has_to_do_is_no_source(lineage):
    assert "raw.loads" not in lineage.sources("marts.fct_scores")
    assert "raw.task_builds" not in lineage.sources("marts.fct_scores")


def test_a_mart_builds_on_one_whose_every_model_it_is_made_of(lineage):
    assert lineage.sources("marts.fct_sums") == ["marts.fct_scores", "raw.tasks"]
    assert lineage.steps("marts.fct_sums") == ["intermediate.int_summed"]


def test_a_mart_builds_on_one_that_it_reads_and_not_on_those_before(lineage):
    assert lineage.sources("marts.fct_best") == ["marts.fct_sums"]
    assert lineage.steps("marts.fct_best") == []


def test_a_mart_that_computes_nothing_is_nobodys_source(lineage):
    assert lineage.uses("marts.fct_answers") == []


def test_a_table_goes_into_the_marts_that_have_it_as_a_source(lineage):
    assert lineage.uses("raw.rounds") == ["marts.fct_answers", "marts.fct_scores"]
    assert lineage.uses("policy.promptlab_grades") == ["marts.fct_scores"]
    assert lineage.uses("marts.fct_best") == []


def test_every_mart_of_the_project_comes_from_a_raw_table():
    built = plan.load()
    real = Lineage.of(built)

    def roots(name: str) -> set[str]:
        if not name.startswith("marts."):
            return {name.split(".")[0]}
        return set().union(*map(roots, real.sources(name)))

    without = [
        m.name for m in built.descriptions.marts if "raw" not in roots(m.relation)
    ]
    assert without == []


def test_what_the_lineage_names_is_in_the_dictionary():
    built = plan.load()
    real, told = Lineage.of(built), built.descriptions
    known = {t.relation for t in [*told.marts, *told.policy, *dictionary.raw(built)]}
    named = {name for mart in told.marts for name in real.sources(mart.relation)}
    assert named <= known
