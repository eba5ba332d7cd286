"""A fault becomes a problem with its place; what many records have is said once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from promptlab.contracts.analysis_input import (
    EvaluationRecord,
    RoundRun,
    ScoreRecord,
    TestCaseBundle,
)
from promptlab.ingest.reading.problems import (
    LONGEST_RAW_TEXT,
    CountedProblems,
    Problem,
    judge,
    kept,
    problem_at,
)
from promptlab.json_text.reading import Fault


def test_a_fault_stands_where_its_keys_lead_and_below_the_way_to_its_text():
    asked = []

    def place(keys):
        asked.append(keys)
        return 3, 7

    fault = Fault(("a/b", 0), "wrong_type", "found \udcff")
    problem = problem_at(place, fault, "warning", record_id="c\ud83d", way=("cases", 1))
    assert asked == [("a/b", 0)]
    assert problem == Problem(
        "wrong_type",
        "found \\xff",
        "warning",
        line=3,
        column=7,
        record_id="c\\ud83d",
        pointer="/cases/1/a~1b/0",
    )


def test_of_a_long_record_the_beginning_is_kept_and_its_length():
    assert kept("x" * LONGEST_RAW_TEXT) == "x" * LONGEST_RAW_TEXT
    text = kept("x" * (LONGEST_RAW_TEXT + 1))
    assert (
        text == "x" * LONGEST_RAW_TEXT + f"… ({LONGEST_RAW_TEXT + 1} characters in all)"
    )


def test_what_many_records_have_is_reported_at_the_first_and_counted():
    def never() -> Problem:
        raise AssertionError("only the first is placed")

    said = CountedProblems(lambda kind, first, count: f"{first.message} {kind} {count}")
    said.add("b", lambda: Problem("odd", "one", line=1))
    said.add("a", lambda: Problem("odd", "two", line=2), 3)
    said.add("b", never, 4)
    assert said.problems() == [
        Problem("odd", "one b 5", line=1),
        Problem("odd", "two a 3", line=2),
    ]


ROUND = {
    "round_id": "r",
    "run_index": 1,
    "raw_output": "x",
    "executed_at": "2024-10-24T12:30:00Z",
}
RESULT = {"sample_id": "s", "entity_id": "p", "variant": "v"}


def said(model: Any, value: Any) -> list[str]:
    return [fault.message for fault in judge(model, json.dumps(value))]


@pytest.mark.parametrize(
    ("model", "value", "message"),
    [
        (RoundRun, {**ROUND, "run_index": 0}, "expected at least 1, found 0"),
        (RoundRun, {**ROUND, "run_index": "1"}, 'expected a whole number, found "1"'),
        (
            RoundRun,
            {**ROUND, "round_id": ""},
            'expected text that is not blank, found ""',
        ),
        (
            EvaluationRecord,
            {**RESULT, "error": 5},
            "expected text or true or false or an object, found 5",
        ),
        (
            EvaluationRecord,
            {**RESULT, "rule_violations": [None]},
            "expected text or an object, found null",
        ),
        (
            EvaluationRecord,
            {**RESULT, "created_at": "soon"},
            'not an ISO 8601 time such as 2024-10-24T12:30:00Z, found "soon"',
        ),
        (TestCaseBundle, 5, "expected an object, found 5"),
    ],
)
def test_a_fault_says_what_was_found_and_what_was_expected(model, value, message):
    assert said(model, value) == [message]


def test_a_missing_key_names_the_one_that_looks_like_it():
    value = {**ROUND, "rawoutput": "x"}
    del value["raw_output"]
    assert said(RoundRun, value) == ['required, but missing; did you mean "rawoutput"?']


def test_a_key_that_the_contract_knows_is_no_slip_of_a_missing_one():
    value = {"task_id": "t", "case_id": "c", "round_id": "r", "dimension_id": "d"}
    [message] = said(ScoreRecord, {**value, "score": 8})
    assert message.startswith("required, but missing. Write text")


def test_a_choice_names_all_there_are_and_the_nearest():
    value = {
        "case_id": "c",
        "rounds": [],
        "baselines": [
            {"baseline_id": "b", "type": "golden", "payload": {}, "owner": "o"}
        ],
    }
    assert said(TestCaseBundle, value) == [
        "expected one of golden_answer, rules, script, manual_note,"
        ' found "golden"; did you mean "golden_answer"?'
    ]


def test_long_values_are_cut():
    [message] = said(RoundRun, {**ROUND, "run_index": "x" * 1000})
    assert len(message) < 120


def test_flaws_of_the_text_and_faults_of_the_contract_are_named_together():
    text = json.dumps({**ROUND, "run_index": 0, "metadata": {"a": float("nan")}})
    found = [(fault.keys, fault.code) for fault in judge(RoundRun, text)]
    assert found == [
        (("metadata", "a"), "not_a_number"),
        (("run_index",), "out_of_range"),
    ]


def test_a_flaw_is_not_named_twice():
    text = json.dumps({**RESULT, "overall_score": float("inf")})
    found = [(fault.keys, fault.code) for fault in judge(EvaluationRecord, text)]
    assert found == [(("overall_score",), "not_a_number")]


def test_a_rule_over_several_fields_points_to_the_one_to_change():
    value = dict.fromkeys(("task_id", "case_id", "round_id", "dimension_id"), "x")
    [fault] = judge(ScoreRecord, json.dumps({**value, "scorer": "s", "score": 3}))
    assert (fault.keys, fault.code) == (("score",), "score_above_scale")
