"""Finding scorers by name, their allowed behaviour, and the handling of errors."""

from __future__ import annotations

import math
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from promptlab.errors import SettingsError, UsageError
from promptlab.scorers import RoundScore, golden_answers
from promptlab.scorers.job import GROUP, load_scorer, score_case, scorer_names
from tests.scorers.fakes import BUNDLE, TONE, lengths, scorer
from tests.scoring import tasks

# ---------- allowed behaviour of scorers, and the handling of errors


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


# ---------- finding scorers by name, and the sentences when that does not work


ROOT = Path(__file__).resolve().parents[2]


def broken() -> None:
    raise ValueError("bad setup")


class Broken:
    def __init__(self) -> None:
        broken()


def test_a_registered_class_becomes_a_new_scorer_each_time(register):
    register(tone=scorer(lengths))
    assert scorer_names() == ["tone"]
    assert load_scorer("tone").name == "tone"
    assert load_scorer("tone") is not load_scorer("tone")


def test_names_are_listed_without_importing_anything(register):
    register(b="nowhere.at_all:X", a="nowhere.else:Y")
    assert scorer_names() == ["a", "b"]


def test_an_unknown_name_gets_the_nearest_one(register):
    register(semantic="x:Y", tone="x:Z")
    with pytest.raises(
        UsageError, match="`semantik`; did you mean `semantic`"
    ) as error:
        load_scorer("semantik")
    assert "installed: semantic, tone" in str(error.value)


def test_where_none_is_installed_that_is_reported(register):
    with pytest.raises(UsageError, match="installed: none"):
        load_scorer("tone")


def test_two_packages_with_one_name_are_refused(register):
    register(tone="one:X")
    register(tone="two:X")
    with pytest.raises(UsageError, match="several packages bring it: one:X, two:X"):
        load_scorer("tone")


def test_one_scorer_seen_twice_is_one(register):
    register(tone=f"{__name__}:Tone")
    register(tone=f"{__name__}:Tone")
    assert load_scorer("tone").version == "1"


Tone = scorer(lengths)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_package_here.at:All", "cannot be loaded: ModuleNotFoundError"),
        (f"{__name__}:Gone", "cannot be loaded: AttributeError"),
        (f"{__name__}:Broken", "cannot be loaded: ValueError: bad setup"),
        (f"{__name__}:ROOT", r"no method `score\(dimension, case\)`"),
    ],
)
def test_a_scorer_that_cannot_be_loaded_says_why(register, value, message):
    register(tone=value)
    with pytest.raises(SettingsError, match=message) as error:
        load_scorer("tone")
    assert value in str(error.value)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"name": "mood"}, "its `name` is 'mood', expected 'tone'"),
        ({"version": 2}, "its `version` is 2, expected a text"),
        ({"version": " "}, "its `version` is ' ', expected a text"),
        ({"scale": 0}, "its `scale` is 0, expected a number above 0"),
        ({"scale": "10"}, "its `scale` is '10', expected a number above 0"),
        ({"scale": True}, "its `scale` is True, expected a number above 0"),
        ({"scale": float("inf")}, "its `scale` is inf, expected a number above 0"),
    ],
)
def test_a_scorer_with_wrong_attributes_is_refused(register, own, message):
    register(tone=scorer(lengths, **own))
    with pytest.raises(SettingsError, match="is no scorer: ") as error:
        load_scorer("tone")
    assert message in str(error.value)


def test_the_scorers_of_this_package_are_registered_under_their_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for name, value in project["entry-points"][GROUP].items():
        module, _, attribute = value.partition(":")
        assert getattr(import_module(module), attribute).name == name
