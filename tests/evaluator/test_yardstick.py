"""What judged a run of the evaluator is in its results: less of it is never "Ship"."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from promptlab import EvaluationConfig, PipelineEvaluator, RuleConfig
from promptlab.evaluator import RunInfo
from promptlab.ingest.judged_by import hash_of, judge_of, judged_by
from promptlab.warehouse import Warehouse
from tests.marts import GATE, only

POLITE = RuleConfig(name="polite", type="contains", field="reply", value="sorry")
SHORT = RuleConfig(name="short", type="max_chars", value=900, severity="should")
FEW = RuleConfig(name="few", type="max_tokens", value=50)
"""It cannot be judged, as no tokens are counted."""
NIGHTS: dict[str, tuple[dict[str, Any], str]] = {
    "same": ({}, "ship"),
    "rule gone": ({"rules": []}, "cannot_tell"),
    "rule edited": (
        {"rules": [RuleConfig(name="polite", type="contains", field="reply", value=" ")]},
        "cannot_tell",
    ),
    "message edited": (
        {
            "rules": [
                RuleConfig(
                    name="polite",
                    type="contains",
                    field="reply",
                    value="sorry",
                    message="say sorry",
                )
            ]
        },
        "ship",
    ),
    "report added": ({"rules": [POLITE, SHORT]}, "ship"),
    "expectations gone": ({"unexpected": range(12)}, "cannot_tell"),
    "three gone": ({"unexpected": range(3)}, "cannot_tell"),
    "expectation edited": ({"expected": "contains:"}, "cannot_tell"),
    "compared with tolerance": ({"compared": {"tolerance": 9}}, "cannot_tell"),
    "a field ignored": ({"compared": {"ignore_fields": ["reply"]}}, "cannot_tell"),
    "defaults spelled out": ({"compared": {"tolerance": 0}}, "ship"),
    "judge changed": ({"judge": "critic-2"}, "cannot_tell"),
    "must-haves of the judge gone": ({"answer": 8}, "cannot_tell"),
    "judge down for one": ({"down": range(1)}, "cannot_tell"),
    "rule without its count": ({"rules": [POLITE, FEW]}, "cannot_tell"),
    "an error": ({"errors": range(1)}, "ship"),
}  # fmt: skip


def _night(title: str, day: int, **changed: Any) -> str:
    """Return a run of 12 samples and two rounds, as JSONL."""
    unexpected, errors = changed.get("unexpected", ()), changed.get("errors", ())
    answer = {"overall_score": 8, "must_have_check": [True]}
    expected = {"reply": changed.get("expected", "contains:good")}
    samples = [
        {
            "id": f"c{n:02}",
            "inputs": {"question": f"{n}?"},
            "expected_outputs": {} if n in unexpected else expected,
            "evaluation_config": changed.get("compared", {}),
        }
        for n in range(12)
    ]
    asked: list[str] = []

    def bot(case: Any) -> Any:
        asked.append(case["id"])
        if int(case["id"][1:]) in errors and asked.count(case["id"]) == 1:
            raise TimeoutError("30 s")
        return {"final_output": {"reply": "good, sorry"}, "step_outputs": {}}

    def judge(request: Any) -> Any:
        if int(request["sample_id"][1:]) in changed.get("down", ()):
            raise TimeoutError("30 s")
        return changed.get("answer", answer)

    config = EvaluationConfig(
        rules=changed.get("rules", [POLITE]),
        judge_enabled=True,
        judge_agent_id=changed.get("judge", "critic-1"),
    )
    evaluator = PipelineEvaluator(
        {"id": "bot", "steps": []}, bot, judge=judge, config=config, lang="en"
    )
    info = RunInfo(
        run_id=f"{title}-{day}",
        title=title,
        model="m",
        created_at=datetime(2026, 3, day, tzinfo=UTC),
    )
    return evaluator.evaluate_pipeline(
        samples, variant="v1", info=info, repeats=2
    ).to_jsonl()


@pytest.fixture(scope="module")
@only(*GATE)
def decided(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the decision about the second night of each title."""
    folder = tmp_path_factory.mktemp("nights")
    for title, (changed, _) in NIGHTS.items():
        for day, of_night in ((1, {}), (2, changed)):
            text = _night(title, day, **of_night)
            (folder / f"{title}-{day}.jsonl").write_text(text, "utf-8")
    warehouse = Warehouse(folder / "w.duckdb")
    warehouse.ingest(folder)
    warehouse.build()
    return {title: warehouse.gate(f"{title}-2", lang="en")[0] for title in NIGHTS}


@pytest.mark.parametrize("title", NIGHTS)
def test_a_night_that_is_judged_by_less_is_not_shipped(decided, title):
    assert decided[title].decision == NIGHTS[title][1], decided[title].headline


def test_the_headline_says_what_judged_fewer_cases(decided):
    three_gone = decided["three gone"].headline
    assert "3 of 12 cases are not compared: 3 with other assertions" in three_gone
    assert "with another judge" in decided["judge changed"].headline


@only(*GATE)
def test_a_testset_judges_in_place_of_the_expectations_of_the_file(tmp_path: Path):
    """Rules are in no testset: of these the file alone says whether they judged."""
    lines = [
        {
            "id": f"c{n:02}",
            "inputs": {"question": f"{n}?"},
            "expected_outputs": {"reply": "contains:good"},
        }
        for n in range(12)
    ]
    testset = tmp_path / "bot.jsonl"
    testset.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    titles = (
        *("expectations gone", "rule gone", "must-haves of the judge gone"),
        "judge down for one",
    )
    for title in titles:
        changed, _ = NIGHTS[title]
        for day, of_night in ((1, {}), (2, changed)):
            text = _night(title, day, **of_night)
            (tmp_path / f"{title}-{day}.jsonl").write_text(text, "utf-8")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(testset)
    warehouse.ingest(*sorted(tmp_path.glob("*-?.jsonl")), testset="bot")
    warehouse.build()
    found = {
        title: warehouse.gate(f"{title}-2", lang="en")[0].decision for title in titles
    }
    assert list(found.values()) == ["ship", *["cannot_tell"] * 3]


@pytest.mark.parametrize(
    ("outputs", "metadata"),
    [
        ('{"_final_evaluation":"matched"}', "{}"),
        ('{"_intermediate_evaluation":[1]}', '{"rules":"none","judge":"me"}'),
        ("{}", '{"rules":[{"name":"x"}],"judge":{"agent_id":5}}'),
        ("{}", '{"judge":{"status":"scored","agent_id":""},"rules":null}'),
    ],
)
def test_fields_of_other_tools_with_these_names_judge_nothing(outputs, metadata):
    assert judge_of(metadata) is None
    assert judged_by(outputs, metadata) == ("", "")


def test_the_order_of_rounds_and_rules_does_not_count():
    rules = ['{"name":"a","type":"is_json"}', '{"name":"b","type":"non_empty"}']
    one, other = (
        judged_by("{}", '{"rules":[' + ",".join(order) + "]}")
        for order in (rules, rules[::-1])
    )
    assert one == other
    assert hash_of([("x", "r"), ("y", "r")]) == hash_of([("y", "r"), ("x", "r")])
    assert hash_of([]) is None
