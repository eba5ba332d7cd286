"""Laws of an analysis: what must not change when something else does."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from tests.scoring.tasks import answered, case, dimension, failed, score, task

Document = dict[str, Any]

random.seed(11)
WORDS = ["红", "绿", "蓝", "apple", "pear", "12", "7.5"]


def some_round(place: int) -> Document:
    if random.random() < 0.08:
        return failed()
    words = random.sample(WORDS, 3)
    return answered(
        " ".join(words),
        parsed_output={"first": words[0], "n": random.randint(1, 2)},
        latency_ms=random.randint(100, 3000),
        output_tokens=random.randint(1, 90),
    )


CASES = [
    {
        **case(
            *(some_round(place) for place in range(random.randint(1, 4))),
            golden=random.sample(WORDS, 2),
            confidence=random.choice([None, 0.5, 0.9]),
            rules=[{"contains_any": ["红", "pear"]}, {"max_chars": 12}],
        ),
        "case_id": f"case-{number:02}",
    }
    for number in range(40)
]

WRONG = next(
    place
    for place, one in enumerate(CASES)
    if not any(
        wanted in one["rounds"][0]["raw_output"]
        for wanted in one["baselines"][0]["payload"]["text"]
    )
)

DIMENSIONS = [
    dimension("accuracy", weight=0.4, match_rule="contains"),
    dimension("words", weight=0.2, scorer="accuracy", match_rule="token_f1"),
    dimension("rules", weight=0.1),
    dimension("consistency", weight=0.1),
    dimension("stability", weight=0.05, of="words"),
    dimension("keywords", weight=0.05, must=["红", "apple"]),
    dimension("robust", weight=0, scorer="keywords", must=["绿"], aggregation="trimmed_mean"),
    dimension(
        "latency", weight=0.1, mode="lower_better", target={"max_ms": 800}, aggregation="median"
    ),
]  # fmt: skip


def shuffled(task_id: str) -> Document:
    again = copy.deepcopy(task(task_id, CASES, DIMENSIONS))
    for one in again["cases"]:
        random.shuffle(one["rounds"])
        random.shuffle(one["baselines"])
    random.shuffle(again["cases"])
    random.shuffle(again["dimensions"])
    return again


def changed_round(task_id: str, **fields: Any) -> Document:
    again = copy.deepcopy(task(task_id, CASES, DIMENSIONS))
    again["cases"][WRONG]["rounds"][0] |= {"metadata": {}, **fields}
    return again


OUTLIERS = ["trimmed_mean", "winsorized_mean", "median"]
CENTRES = [round(0.8 + 0.005 * n, 3) for n in range(20)]


def judged(task_id: str) -> Document:
    return task(
        task_id,
        [case("x") for _ in CENTRES],
        [dimension(each, scorer="judge", aggregation=each) for each in OUTLIERS],
    )


TASKS = [
    task("base", CASES, DIMENSIONS),
    shuffled("shuffled-1"),
    shuffled("shuffled-2"),
    *(
        task(
            f"without-{left_out['dimension_id']}",
            CASES,
            [each for each in DIMENSIONS if each is not left_out],
        )
        for left_out in (DIMENSIONS[0], DIMENSIONS[2], DIMENSIONS[7])
    ),
    task(
        "scaled", CASES, [{**each, "weight": each["weight"] / 4} for each in DIMENSIONS]
    ),
    task("zeroed", CASES, [each for each in DIMENSIONS if each["weight"] > 0]),
    changed_round("righted", raw_output=" ".join(WORDS)),
    changed_round("slower", latency_ms=9000),
    judged("clean"),
    judged("outlier"),
]

SCORES = [
    [
        score(task_id, each, value, case_id=f"c{place}")
        for task_id, values in (("clean", CENTRES), ("outlier", [*CENTRES[:-1], 0.0]))
        for each in OUTLIERS
        for place, value in enumerate(values, start=1)
    ]
]

NUMBERS = [
    "score",
    "ci_low",
    "ci_high",
    "n_cases",
    "n_rounds",
    "raw_metrics",
    "diagnosis",
]


def dimensions_of(scored, task_id: str, *columns: str) -> dict[str, list[Any]]:
    return {
        each["dimension_id"]: [each[column] for column in columns]
        for each in scored.rows("fct_dimension_scores", task_id)
    }


def summary_of(scored, task_id: str) -> Document:
    found = scored.summary(task_id)
    del found["task_id"]
    return found


def test_the_base_is_worth_comparing_with(scored):
    found = dimensions_of(scored, "base", "score")
    assert all(0 < score < 1 for (score,) in found.values())
    assert len({score for (score,) in found.values()}) == len(DIMENSIONS)


@pytest.mark.parametrize("task_id", ["shuffled-1", "shuffled-2"])
def test_the_order_of_cases_rounds_and_dimensions_changes_nothing(scored, task_id):
    assert summary_of(scored, task_id) == summary_of(scored, "base")
    columns = [*NUMBERS, "weight_used"]
    assert dimensions_of(scored, task_id, *columns) == dimensions_of(
        scored, "base", *columns
    )
    for mart, columns in (
        (
            "fct_case_results",
            ["case_id", "status", "aggregated_score", "dimension_scores"],
        ),
        (
            "fct_evidence",
            ["dimension_id", "evidence_rank", "case_id", "round_id", "payload"],
        ),
        ("fct_alerts", ["code", "facts", "dimension_ids", "case_ids"]),
    ):
        ours, theirs = (
            sorted(
                (
                    str(
                        [
                            each[column]
                            for column in columns
                            if column != "dimension_scores"
                        ]
                    )
                )
                for each in scored.rows(mart, name)
            )
            for name in (task_id, "base")
        )
        assert ours == theirs


@pytest.mark.parametrize("left_out", ["accuracy", "rules", "latency"])
def test_leaving_a_dimension_out_changes_no_other(scored, left_out):
    expected = dimensions_of(scored, "base", *NUMBERS)
    del expected[left_out]
    assert dimensions_of(scored, f"without-{left_out}", *NUMBERS) == expected


def test_scaling_all_weights_changes_nothing(scored):
    ours, theirs = summary_of(scored, "scaled"), summary_of(scored, "base")
    assert ours["overall_score"] == theirs["overall_score"]
    assert ours["grade"] == theirs["grade"]
    assert dimensions_of(scored, "scaled", *NUMBERS) == dimensions_of(
        scored, "base", *NUMBERS
    )
    for dimension_id, (weight,) in dimensions_of(
        scored, "scaled", "weight_used"
    ).items():
        assert weight == pytest.approx(
            scored.dimension("base", dimension_id)["weight_used"], abs=1e-12
        )


def test_a_weight_of_zero_shows_the_score_and_does_not_move_the_overall_one(scored):
    assert scored.dimension("base", "robust")["score"] is not None
    assert scored.dimension("base", "robust")["weight_used"] == 0
    assert (
        scored.summary("zeroed")["overall_score"]
        == scored.summary("base")["overall_score"]
    )


@pytest.mark.parametrize("aggregation", OUTLIERS)
def test_one_outlier_in_twenty_moves_a_robust_centre_under_a_tenth(scored, aggregation):
    clean = scored.dimension("clean", aggregation)["score"]
    outlier = scored.dimension("outlier", aggregation)["score"]
    assert clean == pytest.approx(0.8475, abs=1e-6)
    assert abs(outlier - clean) < 0.1 * clean


def test_a_wrong_round_made_right_never_lowers_accuracy(scored):
    before = scored.dimension("base", "accuracy")["score"]
    assert scored.dimension("righted", "accuracy")["score"] > before


def test_a_slower_round_never_raises_the_score_of_latency(scored):
    before = scored.dimension("base", "latency")["score"]
    after = scored.dimension("slower", "latency")["score"]
    assert after <= before
    assert scored.scores("slower", "latency") != scored.scores("base", "latency")
