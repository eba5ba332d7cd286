"""docs/scorers.md: its scorer is one, and its table is that of the dbt project."""

from __future__ import annotations

import csv
import json
import re
import tomllib
from pathlib import Path

import pytest

from promptlab.contracts.analysis_input import (
    DimensionConfig,
    ScoreRecord,
    TestCaseBundle,
)
from promptlab.contracts.scoring import PARAMETERS
from promptlab.scorers.job import GROUP, load_scorer, score_case
from tests.docs import markdown
from tests.scoring import tasks

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "scorers.md"
SEEDS = ROOT / "dbt_project" / "seeds" / "scoring"
SCORING = ROOT / "dbt_project" / "models" / "intermediate" / "scoring"

MEASURES = (
    "latency",
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cost",
    "length",
)

MODELS = {
    "accuracy": ("accuracy_scored", "accuracy_by_json_scored", "judged_scored", "scores_chosen"),
    "rules": ("checks_scored", "rules_checked"),
    "expectations": ("checks_scored",),
    "judge": ("judged_scored", "scores_chosen"),
    "stability": ("round_scores",),
    "error_rate": (),  # a round is an error or not
    **dict.fromkeys(MEASURES, ("measures_scored",)),
}  # fmt: skip
"""Sources of a scorer's reasons other than int_<scorer>_scored."""


def seed(name: str) -> list[dict[str, str]]:
    with (SEEDS / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table() -> dict[str, dict[str, str]]:
    """The rows of the page's first table by their scorer."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line[:1] == "|"]
    head, _, *rows = (
        [cell.strip() for cell in line[1:-1].split("|")] for line in lines
    )
    found = [dict(zip(head, row, strict=True)) for row in rows if len(row) == len(head)]
    return {each["scorer"].strip("`"): each for each in found if each["unit"]}


def codes(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text))


def blocks(language: str) -> list[str]:
    return [b.text for b in markdown.blocks(PAGE.read_text("utf-8"), language)]


def test_the_example_scores_as_the_page_says(register):
    (code,) = blocks("python")
    namespace: dict[str, object] = {"__name__": "politeness"}
    exec(compile(code, str(PAGE), "exec"), namespace)
    (table,) = blocks("toml")
    project = tomllib.loads(table)["project"]
    ((name, value),) = project["entry-points"][GROUP].items()
    register(**{name: namespace[value.partition(":")[2]]})

    dimension, line = blocks("json")
    case = {"case_id": "c", **tasks.case("Thank you, please wait", "No")}
    found = score_case(
        load_scorer(name),
        "t",
        DimensionConfig.model_validate_json(dimension),
        TestCaseBundle.model_validate(case),
    )
    assert found.faults == []
    assert [record.score for record in found.records] == [0.666667, 0.0]
    assert found.records[0].summary == "2 of 3 polite words"
    ScoreRecord.model_validate(json.loads(line))


def test_the_table_has_every_scorer_as_the_seed_describes_it():
    found = {
        name: {
            "scorer": name,
            "unit": row["unit"],
            "is_zero_on_error": str(row["error round"] == "0").lower(),
            "has_verdict": str(row["verdict"] == "yes").lower(),
        }
        for name, row in table().items()
    }
    assert found == {
        each["scorer"]: {
            key: each[key] for key in ("scorer", "unit", "is_zero_on_error", "has_verdict")
        }
        for each in seed("promptlab_scorers")
    }  # fmt: skip


def test_a_modes_direction_is_that_of_the_default_dimensions():
    rows = table()
    assert {row["mode"] for row in rows.values()} == {"higher_better", "lower_better"}
    # what has verdicts and no score is scored by passing, without a scorer of ours
    defaults = [
        each
        for each in seed("promptlab_default_dimensions")
        if each["needs"] != "verdict"
    ]
    for each in defaults:
        assert rows[each["dimension_id"]]["mode"] == each["scoring_mode"]


OF_CHECKS = ("expectations", "rules")
"""Scorers that share a model."""


@pytest.mark.parametrize("name", [each["scorer"] for each in seed("promptlab_scorers")])
def test_the_reasons_of_a_scorer_are_those_of_its_models(name):
    names = OF_CHECKS if name in OF_CHECKS else (name,)
    models = [m for each in names for m in MODELS.get(each, (f"{each}_scored",))]
    sql = "".join(
        next(SCORING.rglob(f"int_{model}.sql")).read_text("utf-8") for model in models
    )
    known = {each["reason"] for each in seed("promptlab_score_reasons")} - {
        "error_round"
    }
    given = {reason for reason in known if f"'{reason}'" in sql}
    told = [codes(table()[each]["a round has no score for"]) for each in names]
    assert set().union(*told) == given


def test_every_parameter_that_is_read_is_on_the_page_with_its_default():
    read = {name for model in PARAMETERS.values() for name in model.model_fields}
    read |= {"scorer", "scorer_name", "of"}
    (general,) = re.findall(r"Every dimension takes (.*?)\.\n", PAGE.read_text(), re.S)
    shown = "\n".join([general, *(row["parameters"] for row in table().values())])
    values = {"exact", "parsed", "mean"}
    assert codes(shown) - values == read
    sql = next(SCORING.rglob("int_dimensions_resolved.sql")).read_text("utf-8")
    given = re.findall(r"coalesce\(configs\.(\w+), '?([\w.]+)'?\) as", sql)
    defaults = {name.removesuffix("_share"): value for name, value in given}
    assert {"match_rule", "tolerance", "k", "trim"} <= {*defaults} <= read
    for parameter, value in defaults.items():
        assert re.search(rf"`{parameter}` = `?{re.escape(value)}\b", shown), parameter
