"""Allowed behaviour of scorers, and the handling of errors."""

from __future__ import annotations

import math

import pytest

from promptlab.errors import SettingsError
from promptlab.scorers import RoundScore, golden_answers
from promptlab.scorers.job import score_case
from tests.scorers.fakes import BUNDLE, TONE, lengths, scorer
from tests.scoring import tasks


def score(function, **own):
    return score_case(scorer(function, **own)(), "t", TONE, BUNDLE)


def test_scores_become_records_of_the_contract():
    found = score(lengths, scale=10, version="2025-01")
    assert found.faults == []
    first = found.records[0].model_dump()
    assert first == {
        "task_id": "t",
        "case_id": "c1",
        "round_id": "r1",
        "dimension_id": "tone",
        "score": 3.0,
        "scale": 10.0,
        "summary": "3 characters",
        "payload": {"n": 3},
        "scorer": "tone",
        "scorer_version": "2025-01",
    }


def test_a_round_that_is_left_out_has_no_record():
    found = score(lambda _d, _c: [RoundScore("r2", None, "too short to judge")])
    assert found.faults == []
    assert [(r.round_id, r.score, r.summary) for r in found.records] == [
        ("r2", None, "too short to judge")
    ]


def test_a_score_may_say_its_own_version():
    found = score(lambda _d, _c: [RoundScore("r1", 1, version="1+model")])
    assert [r.scorer_version for r in found.records] == ["1+model"]


GOOD = RoundScore("r1", 0.5)


def raising(_dimension, _case):
    raise RuntimeError("the judge is ill")


def stopping_half_way(_dimension, _case):
    yield GOOD
    raise RuntimeError("the judge fell ill")


@pytest.mark.parametrize(
    ("function", "scores", "message"),
    [
        (raising, [None, None], "RuntimeError: the judge is ill"),
        (stopping_half_way, [0.5, None], "RuntimeError: the judge fell ill"),
        (lambda d, c: None, [None, None], "score() gave None, expected a list"),
        (lambda d, c: 0.5, [None, None], "score() gave 0.5, expected a list"),
        (lambda d, c: [GOOD, 0.7], [0.5, None], "found 0.7, expected a RoundScore"),
        (lambda d, c: [GOOD, RoundScore("r9", 1)], [0.5, None], "scored round 'r9', which is not in the case"),
        (lambda d, c: [GOOD, RoundScore("r1", 1)], [0.5, None], "scored round 'r1' twice"),
        (lambda d, c: [GOOD, RoundScore("r2", 1.5)], [0.5, None], "round r2: score is 1.5, expected 0 to 1"),
        (lambda d, c: [GOOD, RoundScore("r2", -0.1)], [0.5, None], "score is -0.1, expected 0 to 1"),
        (lambda d, c: [GOOD, RoundScore("r2", math.nan)], [0.5, None], "score is nan, expected 0 to 1"),
        (lambda d, c: [GOOD, RoundScore("r2", True)], [0.5, None], "score is True, expected a number or None"),
        (lambda d, c: [GOOD, RoundScore("r2", "1")], [0.5, None], "score is '1', expected a number or None"),
        (lambda d, c: [GOOD, RoundScore("r2", 1, 7)], [0.5, None], "summary is 7, expected a text or None"),
        (lambda d, c: [GOOD, RoundScore("r2", 1, version=2)], [0.5, None], "version is 2, expected a text or None"),
        (lambda d, c: [GOOD, RoundScore("r2", 1, None, {"x": {1}})], [0.5, None], "payload is no JSON object"),
        (lambda d, c: [GOOD, RoundScore("r2", 1, None, {"x": math.inf})], [0.5, None], "payload is no JSON object"),
        (lambda d, c: [GOOD, RoundScore("r2", 1, None, [1])], [0.5, None], "payload is no JSON object"),
    ],
)  # fmt: skip
def test_a_fault_costs_its_round_or_case_alone_and_says_why(function, scores, message):
    found = score(function)
    assert [record.score for record in found.records] == scores
    assert len(found.faults) == 1
    assert message in found.faults[0]
    summary = found.records[1].summary
    assert summary is not None
    assert summary.startswith("scorer failed: ")
    # the sentence of the warning is also in the score
    assert summary.removeprefix("scorer failed: ") in found.faults[0]


def test_a_scorer_that_cannot_work_at_all_is_not_the_fault_of_a_case():
    def without_key(_dimension, _case):
        raise SettingsError("no key")

    with pytest.raises(SettingsError, match="no key"):
        score(without_key)


def test_what_a_scorer_does_to_its_arguments_does_not_last():
    def greedy(dimension, case):
        dimension.parameters["seen"] = True
        case.context["seen"] = True
        case.rounds.clear()
        return [GOOD]

    found = score(greedy)
    assert (TONE.parameters, BUNDLE.context) == ({}, {})
    assert [r.round_id for r in BUNDLE.rounds] == ["r1", "r2"]
    assert len(found.records) == 1


@pytest.mark.parametrize(
    ("payload", "answers"),
    [
        ({"text": "a"}, ["a"]),
        ({"answer": "a", "output": "b"}, ["a"]),
        ({"text": None, "output": "b"}, ["b"]),
        ({"text": ["a", "b"]}, ["a", "b"]),
        ({"text": ["a", None, 3]}, ["a", "3"]),
        ({"output": 4.5}, ["4.5"]),
        ({"answer": {"city": "上海", "n": 1}}, ['{"city":"上海","n":1}']),
        ({"answer": True}, ["true"]),
        ({"note": "a"}, []),
    ],
)
def test_golden_answers_are_those_of_the_warehouse(payload, answers):
    baseline = {"baseline_id": "b", "owner": "test", "payload": payload}
    case = BUNDLE.model_validate(
        {"case_id": "c", **tasks.case("x")}
        | {
            "baselines": [
                {**baseline, "type": "manual_note"},
                {**baseline, "type": "golden_answer"},
            ]
        }
    )
    assert golden_answers(case) == answers
