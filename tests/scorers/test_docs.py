"""The scorer of docs/scorers.md is one."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from promptlab.contracts.analysis_input import DimensionConfig, TestCaseBundle
from promptlab.contracts.scores import ScoreRecord
from promptlab.scorers.case_scores import score_case
from promptlab.scorers.registry import GROUP, load_scorer
from tests.docs import markdown
from tests.scoring import tasks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scorers.md"


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
