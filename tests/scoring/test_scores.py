"""From metrics to scores: modes, targets, reducers, aggregations, raw metrics."""

from __future__ import annotations

from statistics import stdev

import pytest

from tests.scoring.tasks import answered, case, dimension, failed, score, task

LATENCIES = case(*(answered("", latency_ms=ms) for ms in (0, 500, 1000, 2000)))

# name, mode, target, the scores of 0, 500, 1000 and 2000 ms
MODES = [
    ("up-to-a-limit", "lower_better", {"max": 1000}, [1, 1, 1, 0.5]),
    ("any-max-key", "lower_better", {"max_latency_ms": 1000}, [1, 1, 1, 0.5]),
    ("plain-max-wins", "lower_better", {"max": 1000, "max_ms": 1}, [1, 1, 1, 0.5]),
    ("seconds", "lower_better", {"max_seconds": 0.5}, [1, 1, 0.5, 0.25]),
    ("nothing-allowed", "lower_better", {"max": 0}, [1, 0, 0, 0]),
    (
        "scores-are-no-limits",
        "lower_better",
        {"max": 500, "max_score": 1},
        [1, 1, 0.5, 0.25],
    ),
    ("from-a-limit", "higher_better", {"min": 1000}, [0, 0.5, 1, 1]),
    ("inside-a-range", "range", {"min": 500, "max": 1000}, [0, 1, 1, 0]),
    ("near-a-range", "range", {"min": 600, "max": 1600}, [0.4, 0.9, 1, 0.6]),
    ("a-single-point", "range", {"min": 500, "max": 500}, [0, 1, 0, 0]),
    ("one-side-of-a-range", "range", {"max": 1000}, [1, 1, 1, 0.5]),
    ("no-limit", "lower_better", {}, "target_missing"),
    ("the-other-side", "lower_better", {"min": 5}, "target_missing"),
    ("null-is-no-limit", "lower_better", {"max": None}, "target_missing"),
    ("two-limits", "lower_better", {"max_a": 1, "max_b": 2}, "target_ambiguous"),
    ("text", "lower_better", {"max": "1000"}, "target_not_a_number"),
    ("boolean", "lower_better", {"max": True}, "target_not_a_number"),
    ("negative", "lower_better", {"max": -1}, "target_negative"),
    ("not-positive", "higher_better", {"min": 0}, "target_not_positive"),
    ("crossed", "range", {"min": 2, "max": 1}, "target_crossed"),
]

SHARES = case("红 绿", "红", failed())

# metrics 1, 0.5 and 0 of keywords, the error scoring 0 whatever the mode
SHARE_MODES = [
    ("share-higher", "higher_better", {"max": 0.1}, [1, 0.5, 0]),
    ("share-lower", "lower_better", {}, [0, 0.5, 0]),
    ("share-range", "range", {"min": 0.4, "max": 0.6}, [0, 1, 0]),
]

JUDGED = {"a": [1, 0, 0, 0], "b": [1, 1, 0.5, 0.5], "c": [0.2]}

# reducer parameters, the case scores of a, b and c
REDUCERS = [
    ({"reducer": "mean"}, [0.25, 0.75, 0.2]),
    ({"reducer": "median"}, [0, 0.75, 0.2]),
    ({"reducer": "min"}, [0, 0.5, 0.2]),
    ({"reducer": "max"}, [1, 1, 0.2]),
    ({"reducer": "pass_at_k"}, [0.25, 0.5, 0]),
    ({"reducer": "pass_at_k", "k": 2}, [0.5, 0.833333, None]),
    ({"reducer": "pass_hat_k", "k": 2}, [0, 0.166667, None]),
    ({"reducer": "pass_hat_k", "k": 3, "pass_score": 0.5}, [0, 1, None]),
]

TWENTY = [round(0.5 + 0.01 * n, 2) for n in range(20)]

# aggregation parameters, the score of the case scores 0.5, 0.51 … 0.69
AGGREGATIONS = [
    ({}, 0.595),
    ({"aggregation": "median"}, 0.595),
    ({"aggregation": "trimmed_mean", "trim": 0.2}, 0.595),
    ({"aggregation": "winsorized_mean"}, 0.595),
    ({"aggregation": "min"}, 0.5),
    ({"aggregation": "p10"}, 0.519),
]


def judged_cases(scores, **fields):
    return [
        case(*("x" for _ in rounds), case_id=case_id, **fields)
        for case_id, rounds in scores.items()
    ]


def scores_of(task_id, dimension_id, scores):
    return [
        score(task_id, dimension_id, value, case_id=case_id, round_id=f"r{place}")
        for case_id, rounds in scores.items()
        for place, value in enumerate(rounds, start=1)
    ]


def reducer_dimension(place, parameters):
    return dimension(f"d{place}", scorer="judge", **parameters)


TASKS = [
    *(
        task(name, [LATENCIES], [dimension("latency", mode=mode, target=target)])
        for name, mode, target, _ in MODES
    ),
    *(
        task(
            name,
            [SHARES],
            [dimension("keywords", mode=mode, target=target, must=["红", "绿"])],
        )
        for name, mode, target, _ in SHARE_MODES
    ),
    task(
        "reduced",
        judged_cases(JUDGED),
        [reducer_dimension(place, given) for place, (given, _) in enumerate(REDUCERS)],
    ),
    task(
        "aggregated",
        judged_cases({f"c{n:02}": [value] for n, value in enumerate(TWENTY)}),
        [
            reducer_dimension(place, given)
            for place, (given, _) in enumerate(AGGREGATIONS)
        ],
    ),
    task(
        "confident",
        [
            case("x", golden="x", confidence=0.9),
            case("y", golden="x", confidence=0.3),
            case("y", golden="x", confidence=0),
        ],
        [
            dimension("accuracy"),
            dimension("robust", scorer="accuracy", aggregation="median"),
        ],
    ),
    task(
        "without-confidence",
        [case("x", golden="x", confidence=0)],
        [dimension("accuracy")],
    ),
    task(
        "measured",
        [
            case(*(answered("", latency_ms=ms) for ms in (100, 200, 300, 400))),
            case(*(answered("", latency_ms=ms) for ms in (500, 600, 700, 800, 900))),
            case(answered("", latency_ms=10000), answered("")),
        ],
        [dimension("latency", mode="lower_better", target={"max": 500})],
    ),
    task("empty", [], [dimension("accuracy")]),
]

SCORES = [
    [
        line
        for place in range(len(REDUCERS))
        for line in scores_of("reduced", f"d{place}", JUDGED)
    ],
    [
        line
        for place in range(len(AGGREGATIONS))
        for line in scores_of(
            "aggregated",
            f"d{place}",
            {f"c{n:02}": [value] for n, value in enumerate(TWENTY)},
        )
    ],
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [(name, expected) for name, _, _, expected in MODES],
    ids=[name for name, *_ in MODES],
)
def test_a_mode_makes_the_score_of_a_measure(scored, name, expected):
    if isinstance(expected, list):
        assert scored.scores(name, "latency") == expected
        return
    rows = scored.rows("fct_round_scores", name)
    assert {each["reason"] for each in rows} == {expected}
    assert {each["status"] for each in rows} == {"unscored"}
    assert all(each["metric"] is not None for each in rows)
    assert "invalid_target" in scored.alerts(name)
    assert scored.dimension(name, "latency")["score"] is None
    assert scored.summary(name)["grade"] == "n/a"


@pytest.mark.parametrize(
    ("name", "expected"), [(name, expected) for name, _, _, expected in SHARE_MODES]
)
def test_a_share_needs_no_target_and_an_error_scores_0_in_every_mode(
    scored, name, expected
):
    assert scored.scores(name, "keywords") == expected


@pytest.mark.parametrize("place", range(len(REDUCERS)))
def test_a_reducer_makes_one_score_of_the_rounds_of_a_case(scored, place):
    found = {
        each["case_id"]: each["dimension_scores"][f"d{place}"]
        for each in scored.rows("fct_case_results", "reduced")
    }
    assert [found[case_id] for case_id in "abc"] == REDUCERS[place][1]


@pytest.mark.parametrize("place", range(len(AGGREGATIONS)))
def test_an_aggregation_makes_one_score_of_the_cases(scored, place):
    found = scored.dimension("aggregated", f"d{place}")
    assert found["score"] == AGGREGATIONS[place][1]
    assert found["n_cases"] == 20


def test_a_mean_weighs_each_case_by_its_confidence(scored):
    found = scored.dimension("confident", "accuracy")
    assert found["score"] == 0.75  # 0.9 of 0.9 + 0.3 + 0
    assert found["n_cases"] == 3


def test_other_aggregations_leave_confidence_aside_and_say_so(scored):
    assert scored.dimension("confident", "robust")["score"] == 0
    alert = scored.alerts("confident")["confidences_differ"]
    assert (alert["severity"], alert["dimension_ids"]) == ("info", ["robust"])


def test_without_any_confidence_there_is_no_score(scored):
    found = scored.dimension("without-confidence", "accuracy")
    assert found["score"] is None
    assert found["diagnosis"]["unscored_reason"] == "no_confidence"


def test_raw_metrics_describe_the_scored_rounds(scored):
    found = scored.dimension("measured", "latency")["raw_metrics"]
    assert found["n_cases"] == 3
    assert found["n_rounds"] == 11
    assert found["n_scored_rounds"] == 10
    assert found["mean"] == 1450
    assert found["median"] == 550
    assert found["mad"] == 250
    assert found["p25"] == 325
    assert found["p95"] == pytest.approx(5905)
    assert found["trimmed_mean"] == 550  # without 100 and 10000
    assert found["sd"] == pytest.approx(stdev([*range(100, 1000, 100), 10000]))
    assert found["within_target_ratio"] == 0.5


def test_raw_metrics_have_every_key_always(scored):
    keys = {
        *("n_cases", "n_rounds", "n_scored_cases", "n_scored_rounds", "mean", "sd"),
        *("median", "mad", "min", "max", "p05", "p25", "p75", "p95", "trimmed_mean"),
        *("ci_low", "ci_high", "ci_method", "correct_ratio"),
    }
    nothing = scored.dimension("empty", "accuracy")["raw_metrics"]
    something = scored.dimension("measured", "latency")["raw_metrics"]
    assert keys <= nothing.keys() == something.keys()
    assert nothing["mean"] is None
    assert nothing["n_cases"] == 0
