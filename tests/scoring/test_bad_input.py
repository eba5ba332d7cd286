"""A dimension that cannot be scored as configured causes an alert, without a number.

What breaks the contract (an unknown mode, a weight beyond 0-1, a dimension twice, a
target or parameters that are not an object) is refused at ingest: tests/ingest.
"""

from __future__ import annotations

import pytest

from tests.scoring.tasks import answered, case, dimension, failed, task

RIGHT = case("x", golden="x", rules=[{"contains": "x"}])

# name, cases, the only dimension, the alert's code, what its English sentence says
UNSCORED = [
    ("scorer", [RIGHT], dimension("mystery"), "unknown_scorer", "the scorer mystery"),
    (
        "scorer-type",
        [RIGHT],
        dimension("accuracy", scorer=["accuracy"]),
        "unknown_scorer",
        'the scorer ["accuracy"]',
    ),
    *(
        (
            f"parameter-{place}",
            [RIGHT],
            dimension(scorer, mode="lower_better", target={"max": 9}, **parameters),
            "invalid_parameters",
            said,
        )
        for place, (scorer, parameters, said) in enumerate(
            [
                ("accuracy", {"match_rule": "fuzzy"}, "match_rule = fuzzy"),
                ("accuracy", {"match_rule": 3}, "match_rule = 3"),
                ("accuracy", {"tolerance": "0.1"}, 'tolerance = "0.1"'),
                ("accuracy", {"tolerance": -1}, "tolerance = -1"),
                ("accuracy", {"pass_score": 2}, "pass_score = 2"),
                ("accuracy", {"pass_score": [1]}, "pass_score = [1]"),
                ("accuracy", {"reducer": "average"}, "reducer = average"),
                ("accuracy", {"reducer": "pass_at_k", "k": 0}, "k = 0"),
                ("accuracy", {"reducer": "pass_at_k", "k": 1.5}, "k = 1.5"),
                ("accuracy", {"reducer": "pass_at_k", "k": "2"}, 'k = "2"'),
                ("accuracy", {"aggregation": True}, "aggregation = true"),
                ("accuracy", {"trim": 0.5}, "trim = 0.5"),
                ("accuracy", {"trim": "0.1"}, 'trim = "0.1"'),
                ("consistency", {"compare": "deep"}, "compare = deep"),
                ("keywords", {}, "must = null, must_not = null"),
                ("keywords", {"must": 5}, "must = 5"),
                ("keywords", {"must": [], "must_not": []}, "must = []"),
                ("format", {"required_keys": "a"}, 'required_keys = "a"'),
                ("format", {"required_keys": {"a": "date"}}, 'required_keys = {"a"'),
                ("cost", {"input_price_per_million": "2"}, "input_price_per_million"),
                ("cost", {"output_price_per_million": -2}, "output_price_per_million"),
                ("stability", {}, "of = null"),
                ("stability", {"of": 3}, "of = 3"),
            ]
        )
    ),
    *(
        (
            f"target-{place}",
            [case(answered("x", latency_ms=5))],
            dimension("latency", mode="lower_better", target=target),
            "invalid_target",
            said,
        )
        for place, (target, said) in enumerate(
            [
                ({"max": "5"}, "a limit is not a number"),
                ({"max": [5]}, "a limit is not a number"),
                ({"max": {}}, "a limit is not a number"),
                ({"max_ms": 1, "max_s": 1}, "two limits for one side"),
                ({"min": 5}, "the limit that the mode needs is missing"),
            ]
        )
    ),
    (
        "no-rounds",
        [case(golden="x")],
        dimension("accuracy"),
        "unscored_dimension",
        "0 of 0 rounds were scored; there are no rounds",
    ),
    (
        "no-baselines",
        [case("x")],
        dimension("accuracy"),
        "unscored_dimension",
        "0 of 1 rounds were scored; the case has no golden answer",
    ),
    (
        "no-rules",
        [case("x", golden="x")],
        dimension("rules"),
        "unscored_dimension",
        "the case has no rules",
    ),
    (
        "failed-rounds",
        [case(failed(), failed("quota"))],
        dimension("latency", mode="lower_better", target={"max": 5}),
        "unscored_dimension",
        "0 of 2 rounds were scored; the round ended in an error",
    ),
]

TASKS = [
    *(task(f"bad-{name}", cases, [asked]) for name, cases, asked, _, _ in UNSCORED),
    task("all-failed", [case(failed(), failed(), golden="x")], [dimension("accuracy")]),
    task(
        "bad-threshold",
        [case("x", golden="x")],
        [dimension("accuracy", target={"min_score": "high"})],
    ),
    task(
        "gaps-beside-scores",
        [case("x", golden="x"), case("x"), case(golden="x")],
        [dimension("accuracy")],
    ),
    task(
        "tokens-at-the-limit",
        [case(answered("x", input_tokens=2**63 - 1, output_tokens=2**63 - 1))],
        [dimension("total_tokens", mode="lower_better", target={"max": 2**62})],
    ),
    task(
        "hardly-any-weight",
        [case("x", golden="x"), case("x", golden="y", rules=[{"contains": "x"}])],
        [dimension("accuracy", weight=1e-300), dimension("rules")],
    ),
    task(
        "hardly-any-confidence",
        [
            case("x", golden="x", confidence=1.5e-9),
            case("x", golden="x", confidence=1e-300),
        ],
        [dimension("accuracy")],
    ),
]


@pytest.mark.parametrize(
    ("name", "dimension_id", "code", "said"),
    [
        (f"bad-{name}", asked["dimension_id"], code, said)
        for name, _, asked, code, said in UNSCORED
    ],
    ids=[name for name, *_ in UNSCORED],
)
def test_an_alert_says_why_there_is_no_score(scored, name, dimension_id, code, said):
    found = scored.dimension(name, dimension_id)
    assert (found["score"], found["ci_low"], found["weight_used"]) == (None, None, 0)
    assert set(scored.scores(name, dimension_id)) <= {None}
    assert said in scored.message(name, code)
    summary = scored.summary(name)
    assert (summary["overall_score"], summary["grade"]) == (None, "n/a")


def test_a_case_of_failed_rounds_is_wrong_and_reported(scored):
    assert scored.scores("all-failed", "accuracy") == [0, 0]
    assert scored.dimension("all-failed", "accuracy")["score"] == 0
    message = scored.message("all-failed", "high_error_share")
    assert message.startswith("2 of 2 rounds ended in an error (100.0%)")


def test_a_threshold_that_is_no_number_raises_an_alert_and_costs_no_score(scored):
    assert scored.dimension("bad-threshold", "accuracy")["score"] == 1
    message = scored.message("bad-threshold", "invalid_target")
    assert "a limit is not a number" in message


def test_cases_that_cannot_be_scored_are_counted_beside_those_that_can(scored):
    found = scored.dimension("gaps-beside-scores", "accuracy")
    assert (found["score"], found["n_cases"]) == (1, 1)
    alerts = scored.alerts("gaps-beside-scores")
    assert alerts["case_without_rounds"]["case_ids"] == ["c3"]
    assert alerts["case_without_baseline"]["case_ids"] == ["c2"]


def test_numbers_at_the_limit_of_the_contract_add_up(scored):
    assert scored.metrics("tokens-at-the-limit", "total_tokens") == [2.0**64]
    assert scored.scores("tokens-at-the-limit", "total_tokens") == [0.25]


def test_a_weight_below_a_billionth_is_none(scored):
    assert scored.dimension("hardly-any-weight", "accuracy")["weight_used"] == 0
    assert scored.dimension("hardly-any-weight", "rules")["weight_used"] == 1
    first, second = scored.rows("fct_case_results", "hardly-any-weight")
    assert (first["aggregated_score"], second["aggregated_score"]) == (None, 1)


def test_a_mean_weighs_by_confidences_as_small_as_a_billionth(scored):
    assert scored.dimension("hardly-any-confidence", "accuracy")["score"] == 1
