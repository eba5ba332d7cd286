"""Statuses of rounds and cases, must-haves, and evaluation results."""

from __future__ import annotations

import pytest

from tests.scoring.tasks import answered, case, dimension, failed, score, task

TESTSETS = {
    "small_suite": [
        {"id": "match", "expected_outputs": {"output": "yes"}},
        {"id": "pattern", "expected_outputs": {"output": "regex:(?=x)"}},
        {"id": "nothing"},
        {"id": "never-run", "expected_outputs": {"output": "yes"}},
        {
            "id": "steps",
            "intermediate_expectations": {"a": {"n": 1}, "b": {"n": 2}},
            "expected_outputs": {"output": "yes"},
        },
    ]
}


def stepped(answer, **steps):
    return answered(answer, metadata={"step_outputs": steps, "final_output": answer})


# name, case, dimensions, statuses of its rounds, status of the case
VERDICTS = [
    (
        "right",
        case("x", "x", golden="x"),
        [dimension("accuracy")],
        ["pass", "pass"],
        "pass",
    ),
    (
        "half",
        case("x", "y", golden="x"),
        [dimension("accuracy")],
        ["pass", "fail"],
        "fail",
    ),
    (
        "error-and-pass",
        case("x", failed(), golden="x"),
        [dimension("accuracy")],
        ["pass", "error"],
        "fail",
    ),
    (
        "all-errors",
        case(failed(), failed(), golden="x"),
        [dimension("accuracy")],
        ["error", "error"],
        "error",
    ),
    (
        "nothing-asked",
        case("x"),
        [dimension("accuracy")],
        ["unevaluated"],
        "unevaluated",
    ),
    ("no-dimension", case("x", golden="x"), [], ["unevaluated"], "unevaluated"),
    (
        "soft-rule",
        case("x", golden="x"),
        [dimension("accuracy", match_rule="token_f1")],
        ["unevaluated"],
        "unevaluated",
    ),
    (
        "pass-score",
        case("a b", "a", "c", golden="a b"),
        [dimension("accuracy", match_rule="token_f1", pass_score=0.6)],
        ["pass", "pass", "fail"],
        "fail",
    ),
    (
        "bad-pattern",
        case("x", golden="("),
        [dimension("accuracy", match_rule="regex")],
        ["unevaluated"],
        "unevaluated",
    ),
    (
        "fail-before-unevaluated",
        case("x", golden="("),
        [dimension("accuracy", match_rule="regex"), dimension("format")],
        ["fail"],
        "fail",
    ),
    ("no-rounds", case(golden="x"), [dimension("accuracy")], [], "unevaluated"),
    (
        "too-few-rounds",
        case("x"),
        [dimension("consistency", pass_score=0.5)],
        ["unevaluated"],
        "unevaluated",
    ),
    (
        "unknown-scorer",
        case("x"),
        [dimension("mystery", pass_score=0.5)],
        ["unevaluated"],
        "unevaluated",
    ),
    (
        "rules-and-format",
        case(answered("x", parsed_output={}), rules=[{"contains": "x"}]),
        [dimension("rules"), dimension("format")],
        ["pass"],
        "pass",
    ),
    (
        "no-baseline-beside-a-pass",
        case(answered("x", parsed_output={})),
        [dimension("accuracy"), dimension("format")],
        ["pass"],
        "pass",
    ),
]

TASKS = [
    *(
        task(f"verdict-{name}", [one], dimensions)
        for name, one, dimensions, _, _ in VERDICTS
    ),
    task(
        "suite",
        [
            case(answered("yes"), answered("no"), failed(), case_id="match"),
            case(answered("yes"), case_id="pattern"),
            case(answered("yes"), case_id="nothing"),
            case(answered("yes"), case_id="stranger"),
        ],
        [dimension("expectations")],
        testset="small_suite",
    ),
    task(
        "musts",
        [
            case(
                "x",
                rules=[{"contains": "y", "severity": "must"}],
                case_id="rule",
            ),
            case("x", rules=[{"contains": "y"}], case_id="advice"),
            case(
                "x",
                rules=[
                    {"contains": "x", "severity": "must"},
                    {"contains": "y", "severity": "should"},
                ],
                case_id="must_and_advice",
            ),
            case("x", case_id="judge"),
        ],
        [dimension("judge")],
    ),
]

SCORES = [
    [
        score(
            "musts",
            "judge",
            1,
            case_id="judge",
            payload={"must_haves": [{"name": "a", "satisfied": False}]},
        )
    ]
]

RESULT = {"entity_type": "pipeline", "entity_id": "pipe", "variant": "v1"}

RESULTS = {
    "results_one": [
        {**RESULT, "run_id": "results", "sample_id": "match", "overall_score": 8.5,
         "must_have_pass": True, "final_output": "yes", "execution_time": 1.5,
         "testset": "small_suite", "step_outputs": {}},
        {**RESULT, "run_id": "results", "sample_id": "nothing", "overall_score": None,
         "must_have_pass": True, "final_output": "yes", "step_outputs": {},
         "testset": "small_suite"},
        {**RESULT, "run_id": "results", "sample_id": "steps", "overall_score": 0,
         "must_have_pass": False, "final_output": "yes", "testset": "small_suite",
         "step_outputs": {"a": {"n": 1}, "b": {"n": 3}}},
    ],
    "results_two": [
        {**RESULT, "run_id": "untested", "sample_id": "s1", "must_have_pass": True,
         "final_output": "yes", "execution_time": 1.5, "step_outputs": {}},
        {**RESULT, "run_id": "untested", "sample_id": "s2", "must_have_pass": False,
         "final_output": "yes", "step_outputs": {}},
        {**RESULT, "run_id": "untested", "sample_id": "s3", "final_output": "yes",
         "step_outputs": {}, "rule_violations": [{"id": "r", "severity": "minor"}]},
        {**RESULT, "run_id": "untested", "sample_id": "s4", "final_output": "yes",
         "step_outputs": {}, "rule_violations": ["max_chars"]},
        {**RESULT, "run_id": "untested", "sample_id": "s5", "step_outputs": {},
         "failed_steps": ["a"]},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "rounds", "status"),
    [(name, rounds, status) for name, _, _, rounds, status in VERDICTS],
    ids=[name for name, *_ in VERDICTS],
)
def test_a_status_is_the_worst_verdict(scored, name, rounds, status):
    found = scored.rows("fct_rounds", f"verdict-{name}")
    assert [each["status"] for each in found] == rounds
    assert scored.row("fct_case_results", f"verdict-{name}")["status"] == status


def test_the_pass_rate_counts_cases_and_leaves_the_unevaluated_aside(scored):
    found = scored.summary("suite")
    counts = [found[f"n_{each}"] for each in ("pass", "fail", "error", "unevaluated")]
    assert counts == [0, 1, 0, 3]
    assert found["pass_rate"] == 0


def test_expectations_are_the_share_of_evaluated_scopes_that_match(scored):
    found = {
        (each["case_id"], each["round_id"]): each["metric"] or each["reason"]
        for each in scored.rows("fct_round_scores", "suite")
    }
    assert found == {
        ("match", "r1"): 1,
        ("match", "r2"): None,
        ("match", "r3"): "error_round",
        ("pattern", "r1"): "invalid_pattern",
        ("nothing", "r1"): "nothing_expected",
        ("stranger", "r1"): "nothing_expected",
    }
    assert scored.dimension("suite", "expectations")["score"] == 0.333333


def test_one_sided_cases_and_bad_patterns_are_reported(scored):
    alerts = scored.alerts("suite")
    assert alerts["case_not_in_testset"]["case_ids"] == ["stranger"]
    assert alerts["testset_case_missing"]["case_ids"] == ["never-run", "steps"]
    assert alerts["invalid_pattern"]["case_ids"] == ["pattern"]
    found = [each["code"] for each in scored.rows("fct_alerts", "suite")]
    assert len(found) == len(set(found))


def test_evaluation_results_have_the_dimensions_of_the_seed(scored):
    found = {
        each["dimension_id"]: (each["score"], each["weight_used"], each["n_rounds"])
        for each in scored.rows("fct_dimension_scores", "results")
    }
    assert found == {
        "expectations": (0.833333, 0.5, 2),  # 1, and 2 of 3 scopes
        "judge": (0.425, 0.5, 2),
        "latency": (None, 0, 0),
    }
    latency = scored.dimension("results", "latency")["raw_metrics"]
    assert latency["n_rounds"] == 3
    assert not {"invalid_target", "weights_not_one"} & scored.alerts("results").keys()


def test_what_a_file_says_of_must_haves_yields_to_the_testset(scored):
    found = {
        each["case_id"]: (each["must_have_pass"], each["reported_must_have_pass"])
        for each in scored.rows("fct_case_results", "results")
    }
    assert found == {
        "match": (True, True),
        "nothing": (None, True),
        "steps": (False, False),
    }


def test_without_a_testset_the_file_and_its_violations_say_it(scored):
    found = {
        each["case_id"]: each["must_have_pass"]
        for each in scored.rows("fct_case_results", "untested")
    }
    assert found == {"s1": True, "s2": False, "s3": None, "s4": False, "s5": False}


def test_a_rule_of_severity_must_and_a_judges_must_haves_count(scored):
    found = {
        each["case_id"]: each["must_have_pass"]
        for each in scored.rows("fct_case_results", "musts")
    }
    assert found == {
        "rule": False,
        "advice": None,
        "must_and_advice": True,
        "judge": False,
    }
