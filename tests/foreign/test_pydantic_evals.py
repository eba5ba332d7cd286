"""Pydantic Evals: repeats in names, cases without one, evaluators that raise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import DATA, reading_of, table

ONCE = DATA / "pydantic_evals" / "late_1.json"
TWICE = DATA / "pydantic_evals" / "late_2.json"


@pytest.fixture(scope="module")
def twice() -> Reading:
    return reading_of(TWICE)


def _report(into: Path, **changes: Any) -> Reading:
    report = json.loads(ONCE.read_text("utf-8")) | changes
    file = into / "report.json"
    file.write_text(json.dumps(report), "utf-8")
    return reading_of(file)


def test_repeats_are_rounds_of_the_cases_that_a_single_run_has(twice: Reading) -> None:
    rounds = table(twice, "rounds")
    assert set(rounds.group_by("case_id").len()["len"]) == {2}
    assert set(rounds["run_index"]) == {1, 2}
    once = table(reading_of(ONCE), "cases")["case_id"].to_list()
    assert table(twice, "cases")["case_id"].to_list() == once


def test_a_case_that_was_only_numbered_is_known_by_its_question(
    twice: Reading, tmp_path: Path
) -> None:
    ids = table(twice, "cases")["case_id"].to_list()
    assert ids[:2] == ["Nile", "Rhine, North"]
    cases = json.loads(ONCE.read_text("utf-8"))["cases"]
    cases[1]["name"] = "Case 7"
    assert table(_report(tmp_path, cases=cases), "cases")["case_id"].to_list() == ids


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([{"threshold": 0.9}], {"scorer": "reported", "arguments": {"threshold": 0.9}}),
        ([{"value": "a"}, {"value": "b"}], {"scorer": "reported"}),  # of each case
        ([None], {"scorer": "reported"}),
    ],
)
def test_what_an_evaluator_was_given_is_a_parameter_where_it_is_one_for_all_cases(
    given: list[Any], expected: dict[str, Any], tmp_path: Path
) -> None:
    cases = json.loads(ONCE.read_text("utf-8"))["cases"]
    for place, case in enumerate(cases):
        source = {"name": "Similar", "arguments": given[place % len(given)]}
        case["assertions"] = {"similar": {"value": True, "source": source}}
    columns = table(_report(tmp_path, cases=cases), "dimension_configs")
    (parameters,) = columns.filter(dimension_id="similar")["parameters"]
    assert json.loads(parameters) == expected | {"evaluators": ["Similar"]}


def test_another_evaluator_or_version_of_it_is_another_yardstick(
    tmp_path: Path,
) -> None:
    def parameters(name: str, version: str | None) -> str:
        cases = json.loads(ONCE.read_text("utf-8"))["cases"]
        for case in cases:
            result = {"value": True, "source": {"name": name, "arguments": None}}
            case["assertions"] = {"Near": result | {"evaluator_version": version}}
        columns = table(_report(tmp_path, cases=cases), "dimension_configs")
        (found,) = columns.filter(dimension_id="Near")["parameters"]
        return str(found)

    assert json.loads(parameters("Near", None)) == {"scorer": "reported"}
    found = {parameters(*each) for each in (("Near", "1"), ("Near", "2"), ("Far", "1"))}
    assert len(found) == 3


def test_a_task_that_failed_is_a_round_with_an_error(twice: Reading) -> None:
    broken = table(twice, "rounds").filter(reported_status="error")
    assert set(broken["case_id"]) == {"Styx"}
    assert broken["error"].unique().to_list() == ["RuntimeError: no such river"]


def test_assertions_are_checks_and_scores(twice: Reading) -> None:
    checks = table(twice, "reported_checks").filter(case_id="Nile")
    rows = checks.select("name", "type", "passed").unique(maintain_order=True).rows()
    assert rows == [
        ("EqualsExpected", "EqualsExpected", True),
        ("short", "Looks", False),
    ]
    scores = table(twice, "reported_scores").filter(case_id="Nile")
    assert scores.filter(dimension_id="short")["value"].to_list() == [0, 0]


def test_numbers_of_any_range_are_kept_and_labels_are_none(twice: Reading) -> None:
    dimensions = table(twice, "dimension_configs")
    assert dimensions.select("dimension_id", "is_graded").rows() == [
        ("EqualsExpected", True),
        ("short", True),
        ("characters", False),
        ("tone", False),
    ]
    tone = table(twice, "reported_scores").filter(dimension_id="tone")
    assert tone["value"].null_count() == tone.height
    assert {json.loads(each)["given"] for each in tone["payload"]} == {"plain"}


def test_metrics_of_the_usual_names_are_tokens(twice: Reading) -> None:
    rounds = table(twice, "rounds").drop_nulls("raw_output")
    assert set(rounds["input_tokens"]) == {10}
    assert set(rounds["output_tokens"]) == {3}


def test_cases_of_one_name_are_two_cases(tmp_path: Path) -> None:
    cases = json.loads(ONCE.read_text("utf-8"))["cases"]
    ids = table(_report(tmp_path, cases=[*cases, cases[0]]), "cases")["case_id"]
    assert [each for each in ids if each.startswith("Nile")] == ["Nile", "Nile~2"]


def test_a_report_of_failures_alone_is_read(tmp_path: Path) -> None:
    reading = _report(tmp_path, cases=[])
    assert table(reading, "rounds")["reported_status"].to_list() == ["error"]


def _judged(into: Path, *arguments: Any) -> list[tuple[Any, ...]]:
    """Return the judges of a report whose cases are judged in turn with *arguments*."""
    cases = json.loads(ONCE.read_text("utf-8"))["cases"]
    for n, case in enumerate(cases):
        source = {"name": "LLMJudge", "arguments": arguments[n % len(arguments)]}
        case["assertions"] = {"Safe": {"name": "Safe", "value": True, "source": source}}
    judges = table(_report(into, cases=cases), "judges")
    return judges.select("name", "model", "rubric", "template").rows()


ASKED = {"rubric": "Is it safe?", "model": "openai:gpt-4o"}
JUDGES: list[tuple[list[Any], tuple[Any, ...]]] = [
    ([ASKED], ("Safe", "openai:gpt-4o", "Is it safe?", None)),
    ([ASKED, {**ASKED, "rubric": "Short?"}], ("Safe", "openai:gpt-4o", None, None)),
    ([ASKED, {**ASKED, "model": "tiny"}], ("Safe", "openai:gpt-4o, tiny", "Is it safe?", None)),
    ([["Is it safe?"]], ("Safe", "default", "Is it safe?", None)),
    ([None], ("Safe", "default", None, None)),
    ([{**ASKED, "include_input": True}], ("Safe", "openai:gpt-4o", "Is it safe?", '{"include_input":true}')),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "judge"), JUDGES)
def test_the_judge_of_an_assertion_is_its_model_and_its_rubric(
    arguments: list[Any], judge: tuple[Any, ...], tmp_path: Path
) -> None:
    assert _judged(tmp_path, *arguments) == [judge]


def test_a_rubric_of_one_case_is_what_its_assertion_expects(tmp_path: Path) -> None:
    source = {"name": "LLMJudge", "arguments": ASKED}
    cases = json.loads(ONCE.read_text("utf-8"))["cases"]
    cases[0]["assertions"] = {"Safe": {"name": "Safe", "value": True, "source": source}}
    checks = table(_report(tmp_path, cases=cases), "reported_checks")
    assert checks.filter(name="Safe")["expected"].to_list() == ['"Is it safe?"']
    assert checks.filter(name="EqualsExpected")["expected"].null_count() > 0


def test_an_evaluator_that_is_no_judge_has_none(twice: Reading) -> None:
    assert not table(twice, "judges").height


@pytest.mark.parametrize(
    ("values", "verdict"),
    [((True, True), "pass"), ((True, False), "fail"), ((True, None), "unevaluated")],
)
def test_a_round_passes_if_all_its_assertions_hold(
    values: tuple[bool | None, ...], verdict: str, tmp_path: Path
) -> None:
    [case, *_] = json.loads(ONCE.read_text("utf-8"))["cases"]
    case["assertions"] = {
        f"a{n}": {"name": f"a{n}", "value": value, "source": {"name": f"A{n}"}}
        for n, value in enumerate(values)
    }
    rounds = table(_report(tmp_path, cases=[case]), "rounds")
    assert rounds["reported_status"][0] == verdict


def test_the_score_is_no_assertion_of_a_single_case(tmp_path: Path) -> None:
    """Evaluators of a case are written before those of the data set."""
    cases = json.loads(ONCE.read_text("utf-8"))["cases"]
    _, right = next(iter(cases[0]["assertions"].items()))
    for case in cases:
        case["assertions"] = {"Right": right}
    cases[0]["assertions"] = {"Extra": right, "Right": right}
    dimensions = table(_report(tmp_path, cases=cases), "dimension_configs")
    weighted = dimensions.filter(pl.col("weight") > 0)
    assert weighted["dimension_id"].to_list() == ["Right"]


def test_spans_of_no_tracing_have_no_id(tmp_path: Path) -> None:
    """OpenTelemetry without a configuration gives each span an id of zeros."""
    cases = json.loads(ONCE.read_text("utf-8"))["cases"]
    for case in cases:
        case |= {"trace_id": "0" * 32, "span_id": "0" * 16}
    reading = _report(tmp_path, cases=cases)
    assert table(reading, "rounds").height == table(reading_of(ONCE), "rounds").height
    assert "repeated_row" not in {each.code for each in reading.problems}


def _given(into: Path, kind: str, given: list[Any], name: str = "Near") -> Reading:
    """Return a report whose cases an evaluator judged with other arguments each."""
    cases = json.loads(ONCE.read_text("utf-8"))["cases"]
    for case, arguments in zip(cases, given, strict=False):
        source = {"name": name, "arguments": arguments}
        case[kind] = {name: {"value": True, "source": source}}
    return _report(into, cases=cases)


GIVEN = [
    ([{"value": "a", "as_strings": True}, {"value": "b"}, None], "Contains"),
    ([["a"], ["b"]], "Contains"),  # one argument without its name
    ([{"value": "a"}, {"value": "a"}], "Contains"),
]


@pytest.mark.parametrize(("given", "name"), GIVEN)
def test_what_an_evaluator_was_given_for_a_case_is_what_its_assertion_expects(
    given: list[Any], name: str, tmp_path: Path
) -> None:
    reading = _given(tmp_path, "assertions", given, name)
    checks = table(reading, "reported_checks").filter(name=name)["expected"]
    assert [each and json.loads(each) for each in checks] == given
    assert not table(reading, "judges").height


@pytest.mark.parametrize("name", ["GEval", "LLMJudge"])
def test_what_scores_a_single_case_is_a_part_of_the_case(
    name: str, tmp_path: Path
) -> None:
    key = "rubric" if name == "LLMJudge" else "criteria"
    given = [{key: each, "score_range": [1, 5]} for each in ("short", "long", "long")]
    cases = table(_given(tmp_path, "scores", given, name), "cases")["context"]
    found = [json.loads(each).get("evaluators") for each in cases]
    expected = [each[key] if name == "LLMJudge" else each for each in given]
    assert found == [*({name: each} for each in expected), None]
    same = table(_given(tmp_path, "scores", given[1:], name), "cases")["context"]
    assert not any("evaluators" in json.loads(each) for each in same)


JUDGED = {"rubric": "short", "model": "a", "model_settings": {"temperature": 0.5}}
CHANGES = [
    ({"source": {"name": "LLMJudge", "arguments": JUDGED | more}}, is_other)
    for more, is_other in (
        ({"rubric": "long"}, True),
        ({"model": "b"}, True),
        ({"model_settings": {"temperature": 1.0}}, True),
        ({"model_settings": {"temperature": 0.5, "timeout": 9.0}}, True),
        ({"option_of_a_later_version": True}, True),
        ({"evaluation_name": "a"}, False),
        ({"score": False, "assertion": {"include_reason": True}}, False),
    )
] + [
    ({"source": {"name": "Other", "arguments": JUDGED}}, True),
    ({"evaluator_version": "2"}, True),
    ({"reason": "so"}, False),
    ({"value": False}, False),
]


@pytest.mark.parametrize(("more", "is_other"), CHANGES)
@pytest.mark.parametrize("kind", ["assertions", "scores"])
def test_an_evaluator_judges_by_all_that_is_no_result(
    kind: str, more: dict[str, Any], is_other: bool, tmp_path: Path
) -> None:
    def yardstick(more: dict[str, Any]) -> set[Any]:
        cases = json.loads(ONCE.read_text("utf-8"))["cases"]
        source = {"name": "LLMJudge", "arguments": JUDGED}
        for case in cases:
            case[kind] = {"Near": {"value": True, "source": source} | more}
        reading = _report(tmp_path, cases=cases)
        columns = table(reading, "dimension_configs").filter(dimension_id="Near")
        judges = table(reading, "judges").drop("task_id")
        return {*columns["parameters"], *judges.rows()}

    assert (yardstick({}) != yardstick(more)) is is_other
