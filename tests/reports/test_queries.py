"""Marts to AnalysisResult."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from promptlab import reports
from promptlab.contracts.analysis_result import AnalysisResult
from promptlab.contracts.schemas import schemas
from promptlab.errors import NothingToDo, UsageError
from promptlab.reports import to_json
from promptlab.reports.report_options import ListLimits

SOURCES = sorted(Path(reports.__file__).parent.rglob("*.py"))


def test_the_whole_result_is_the_golden_file(result_of, golden):
    golden.check("result.json", to_json(result_of()))


def test_the_result_survives_writing_and_reading(result_of):
    result = result_of()
    assert AnalysisResult.model_validate_json(to_json(result)) == result


def test_the_result_obeys_the_published_schema(result_of):
    schema = AnalysisResult.model_json_schema(mode="serialization")
    jsonschema.validate(json.loads(to_json(result_of())), schema)


def test_the_language_changes_sentences_and_nothing_else(result_of):
    zh, en = (json.loads(to_json(result_of(lang))) for lang in ("zh", "en"))
    assert en["summary"]["conclusion"].startswith("Overall")
    assert [d["score"] for d in zh["dimensions"]] == [
        d["score"] for d in en["dimensions"]
    ]
    assert en["extras"]["promptlab"].pop("lang") == "en"
    assert zh["extras"]["promptlab"].pop("lang") == "zh"
    assert zh["extras"] == en["extras"]


def test_the_same_marts_give_the_same_bytes(result_of):
    assert to_json(result_of()) == to_json(result_of())


def test_the_zone_of_the_connection_moves_no_time(result_of, marts):
    before = result_of()
    marts.execute("set TimeZone = 'America/Los_Angeles'")
    assert result_of() == before
    assert before.task.created_at.isoformat() == "2024-10-24T12:30:00+00:00"


def test_a_missing_score_is_null_and_a_zero_is_zero(result_of):
    result = result_of()
    by_id = {d.dimension_id: d for d in result.dimensions}
    assert by_id["politeness"].score is None
    assert by_id["politeness"].weight == 0
    worst = next(c for c in result.case_results if c.case_id == "faq-009")
    assert worst.aggregated_score == 0
    assert "politeness" not in worst.dimension_scores  # a number, or absent
    for case in result.case_results:
        assert all(isinstance(each, float) for each in case.dimension_scores.values())


def test_the_task_comes_back_as_it_was_given_and_ours_is_in_the_extras(
    result_of, marts
):
    marts.execute(
        "update marts.dim_tasks set title = 'Renamed', branch = 'main', commit_sha = 'c'"
    )
    result = result_of()
    assert result.task.model_dump(mode="json") == {
        "task_id": "run-20241024-001",
        "title": "客服问答回归测试",
        "prompt_version": "v3.2",
        "model": "openai/gpt-4o-mini",
        "triggered_by": "ci",
        "env": {"region": "cn-beijing", "dataset": "qa_suite_v2"},
        "created_at": "2024-10-24T12:30:00Z",
    }
    assert result.title == "Renamed"
    own = result.extras["promptlab"]
    names = ("title", "run_id", "variant", "branch", "commit")
    assert [own[name] for name in names] == [
        "Renamed", "run-20241024-001", "openai/gpt-4o-mini", "main", "c",
    ]  # fmt: skip


def test_a_score_that_may_be_missing_is_null_in_the_schema_and_says_so():
    schema = schemas()["analysis_result.schema.json"]
    of = {name: each["properties"] for name, each in schema["$defs"].items()}
    for part, name in (
        ("ResultSummary", "overall_score"),
        ("DimensionResult", "score"),
        ("CaseResult", "aggregated_score"),
    ):
        field = of[part][name]
        assert {"type": "null"} in field["anyOf"]
        assert "Null if" in field["description"]
    scores = of["CaseResult"]["dimension_scores"]["additionalProperties"]
    assert scores["type"] == "number"


def test_the_extras_of_the_input_come_back_unchanged_beside_ours(result_of):
    extras = dict(result_of().extras)
    own = extras.pop("promptlab")
    assert extras == {
        "notes": "本次回归覆盖高风险 FAQ",
        "owner": {"team": "ops", "on_call": ["li", "wang"]},
    }
    assert own["load_ids"] == [7]
    assert own["scorers"][0] == {
        "dimension_id": "accuracy",
        "scorer": "accuracy",
        "scoring_mode": "higher_better",
        "parameters": {"match_rule": "contains"},
        "target": {"min_score": 0.85},
        "versions": ["accuracy 1"],
    }


def test_extras_that_use_our_key_are_kept_below_it(result_of, marts):
    marts.execute("""update marts.dim_tasks set extras = '{"promptlab": {"a": 1}}'""")
    assert result_of().extras["promptlab"]["given"] == {"a": 1}


@pytest.mark.parametrize(
    ("dimension_id", "status"),
    [
        ("accuracy", "missed"),
        ("consistency", "met"),
        ("politeness", "unknown"),
    ],
)
def test_a_target_is_judged_by_the_alerts(result_of, dimension_id, status):
    by_id = {d.dimension_id: d for d in result_of().dimensions}
    assert by_id[dimension_id].target_status == status


def test_no_target_is_none(result_of, marts):
    marts.execute("update marts.fct_dimension_scores set target = '{}'")
    assert {d.target_status for d in result_of().dimensions} == {"none"}


@pytest.mark.parametrize("n", [1, 3, 5, 100])
def test_a_cut_result_holds_the_worst_cases(result_of, n):
    whole = result_of().case_results
    assert whole[0].status == "fail"
    assert whole[-1].status == "pass"
    cut = result_of(limits=ListLimits(cases=n)).case_results
    assert [c.case_id for c in cut] == [c.case_id for c in whole[:n]]


@pytest.mark.parametrize("n", [1, 2])
def test_a_cut_result_holds_what_the_decision_names_first(result_of, marts, n):
    # broken for some runs: not among the newly failing of the comparison
    marts.execute("update marts.fct_case_odds set case_id = 'faq-001' where odds > 1")
    marts.execute("update marts.fct_case_odds set case_id = 'faq-002' where odds = 0.3")
    named = ["faq-001", "faq-002"]
    assert [c.case_id for c in result_of().case_results[:2]] == named
    cut = result_of(limits=ListLimits(cases=n)).case_results
    assert [c.case_id for c in cut] == named[:n]


def test_a_cut_case_counts_what_it_leaves_out(result_of):
    cut = result_of(limits=ListLimits(cases=12, rounds=1, checks=1)).case_results
    case = next(c for c in cut if c.case_id == "faq-004")
    assert (len(case.rounds), case.n_rounds) == (1, 2)
    assert (len(case.differences), case.n_differences) == (1, 4)


def test_the_rounds_kept_are_those_that_did_not_pass(result_of):
    cut = result_of(limits=ListLimits(rounds=1)).case_results
    case = next(c for c in cut if c.case_id == "faq-005")
    assert [r.status for r in case.rounds] == ["fail"]


def test_a_task_without_cases_has_a_result(result_of):
    result = result_of(task_id="empty-task")
    assert result.summary.overall_score is None
    assert result.summary.grade == "n/a"
    assert result.case_results == []


def test_a_number_that_no_double_holds_stays_text(result_of, marts):
    marts.execute("update marts.dim_tasks set extras = '{\"huge\": 1e999}'")
    assert '"huge":"1e999"' in to_json(result_of())


def test_an_unknown_task_is_nothing_to_do(result_of):
    with pytest.raises(NothingToDo, match="'nope' is not in the warehouse"):
        result_of(task_id="nope")


def test_a_task_that_was_not_built_says_to_build(result_of, marts):
    marts.execute("delete from marts.fct_task_summaries")
    with pytest.raises(NothingToDo, match="promptlab build"):
        result_of()


def test_an_unknown_language_is_refused(result_of):
    with pytest.raises(UsageError, match="'fr'"):
        result_of("fr")


def test_reports_read_marts_only():
    text = "\n".join(path.read_text("utf-8") for path in SOURCES)
    assert re.search(r"\bfrom marts\.\w+", text)
    assert not re.findall(r"\b(?:raw|staging|intermediate)\.\w+", text)
    assert not re.findall(r"\b(?:from|join) policy\.\w+", text)


def test_reports_look_at_no_clock_and_no_environment():
    for path in SOURCES:
        text = path.read_text("utf-8")
        assert not re.search(r"\b(now|today|environ|getenv|random|uuid4)\b\(?", text), (
            path
        )
