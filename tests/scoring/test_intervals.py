"""The intervals of the warehouse are those of scipy, on fixed numbers."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.scoring.tasks import case, dimension, score, task

random.seed(7)
SOME = [round(random.random(), 3) for _ in range(12)]
MANY = [round(random.betavariate(2, 1), 3) for _ in range(75)]
RIGHT_OR_WRONG = [1.0] * 9 + [0.0] * 3
ALL_RIGHT = [1.0] * 8
ALL_ALIKE = [0.4] * 8
WEIGHTS = [1.0, 0.5, 0.25, 0.8] * 3

SAMPLES = {
    "some": SOME,
    "many": MANY,
    "right-or-wrong": RIGHT_OR_WRONG,
    "all-right": ALL_RIGHT,
    "all-alike": ALL_ALIKE,
    "single": [1.0],
    "five": SOME[:5],
}
AGGREGATIONS = ["mean", "median", "trimmed_mean", "winsorized_mean", "min", "p10"]


def sample_task(name: str, values: list[float]) -> dict[str, Any]:
    return task(
        f"interval-{name}",
        [case("x") for _ in values],
        [
            dimension(
                each,
                scorer="judge",
                aggregation=each,
                weight=1 if each == "mean" else 0,
            )
            for each in AGGREGATIONS
        ],
    )


def weighted_task(name: str, values: list[float]) -> dict[str, Any]:
    return task(
        f"weighted-{name}",
        [
            case("x", golden="x", confidence=weight)
            for weight, _ in zip(WEIGHTS, values, strict=True)
        ],
        [dimension("mean", scorer="judge")],
    )


CLUSTERS = [*"aaabbbcccdd", None]

TASKS = [
    task(
        "clusters",
        [
            case("x", tags=["all"], **({"cluster": each} if each else {}))
            for each in CLUSTERS
        ],
        [dimension("mean", scorer="judge", pass_score=1)],
    ),
    *(
        task(
            f"clusters-{name}",
            [
                case("x", tags=["all"], **({"cluster": each} if each else {}))
                for each in CLUSTERS
            ],
            [dimension("mean", scorer="judge", pass_score=1)],
        )
        for name in ("right", "wrong")
    ),
    *(sample_task(name, values) for name, values in SAMPLES.items()),
    weighted_task("some", SOME),
    weighted_task("right-or-wrong", RIGHT_OR_WRONG),
    task(
        "overall",
        [case("x") for _ in range(12)],
        [
            dimension("one", scorer="judge", weight=0.6),
            dimension("two", scorer="judge", weight=0.2),
            dimension("shown", scorer="judge", weight=0),
        ],
    ),
]


def lines(task_id: str, dimension_id: str, values: list[float]) -> list[dict[str, Any]]:
    return [
        score(task_id, dimension_id, value, case_id=f"c{place}")
        for place, value in enumerate(values, start=1)
    ]


SCORES = [
    [
        *(
            line
            for name, values in SAMPLES.items()
            for each in AGGREGATIONS
            for line in lines(f"interval-{name}", each, values)
        ),
        *lines("clusters", "mean", RIGHT_OR_WRONG),
        *lines("clusters-right", "mean", [1.0] * 12),
        *lines("clusters-wrong", "mean", [0.0] * 12),
        *lines("weighted-some", "mean", SOME),
        *lines("weighted-right-or-wrong", "mean", RIGHT_OR_WRONG),
        *lines("overall", "one", SOME),
        *lines("overall", "two", RIGHT_OR_WRONG[:8]),
        *lines("overall", "shown", RIGHT_OR_WRONG),
    ]
]


def t_interval(values: list[float]) -> tuple[float, float]:
    found = stats.t.interval(
        0.95, len(values) - 1, stats.tmean(values), stats.sem(values)
    )
    return max(0.0, found[0]), min(1.0, found[1])


def wilson_interval(n_right: int, n: int) -> tuple[float, float]:
    found = stats.binomtest(n_right, n).proportion_ci(0.95, method="wilson")
    return found.low, found.high


def median_interval(values: list[float]) -> tuple[float, float]:
    ordered, n = sorted(values), len(values)
    cut = int(stats.binom.ppf(0.025, n, 0.5))
    while stats.binom.cdf(cut, n, 0.5) > 0.025:
        cut -= 1
    return ordered[cut], ordered[n - 1 - cut]


def robust_interval(values: list[float], centre: float) -> tuple[float, float]:
    low, high = stats.mstats.trimmed_mean_ci(
        values, limits=(0.1, 0.1), inclusive=(True, True)
    )
    half = (high - low) / 2
    return max(0.0, centre - half), min(1.0, centre + half)


@pytest.mark.parametrize(
    ("name", "aggregation", "method", "expected"),
    [
        ("some", "mean", "t", t_interval(SOME)),
        ("many", "mean", "t", t_interval(MANY)),
        ("five", "mean", "t", t_interval(SOME[:5])),
        ("right-or-wrong", "mean", "wilson", wilson_interval(9, 12)),
        ("all-right", "mean", "wilson", wilson_interval(8, 8)),
        ("some", "median", "order_statistics", median_interval(SOME)),
        ("many", "median", "order_statistics", median_interval(MANY)),
        (
            "some",
            "trimmed_mean",
            "tukey_mclaughlin",
            robust_interval(SOME, float(stats.trim_mean(SOME, 0.1))),
        ),
        (
            "many",
            "trimmed_mean",
            "tukey_mclaughlin",
            robust_interval(MANY, float(stats.trim_mean(MANY, 0.1))),
        ),
        (
            "many",
            "winsorized_mean",
            "tukey_mclaughlin",
            robust_interval(
                MANY,
                float(stats.mstats.winsorize(np.array(MANY), limits=(0.1, 0.1)).mean()),
            ),
        ),
    ],
)
def test_an_interval_is_the_textbooks(scored, name, aggregation, method, expected):
    found = scored.dimension(f"interval-{name}", aggregation)
    assert found["ci_method"] == method
    assert (found["ci_low"], found["ci_high"]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "aggregation", "reason"),
    [
        ("single", "mean", "too_few_cases"),
        ("five", "median", "too_few_cases"),
        ("all-alike", "mean", "no_spread"),
        ("all-alike", "median", "no_spread"),
        ("all-right", "trimmed_mean", "no_spread"),
        ("some", "min", "no_interval_for_aggregation"),
        ("some", "p10", "no_interval_for_aggregation"),
    ],
)
def test_without_an_interval_there_is_a_reason(scored, name, aggregation, reason):
    found = scored.dimension(f"interval-{name}", aggregation)
    assert (found["ci_low"], found["ci_high"]) == (None, None)
    assert found["ci_reason"] == reason


def test_a_weighted_mean_has_the_weighted_t_interval(scored):
    found = scored.dimension("weighted-some", "mean")
    total = sum(WEIGHTS)
    mean = sum(w * x for w, x in zip(WEIGHTS, SOME, strict=True)) / total
    spread = sum((w * (x - mean)) ** 2 for w, x in zip(WEIGHTS, SOME, strict=True))
    half = stats.t.ppf(0.975, 11) * math.sqrt(12 / 11 * spread) / total
    assert found["score"] == pytest.approx(mean, abs=1e-6)
    assert found["ci_low"] == pytest.approx(mean - half, abs=1e-6)
    assert found["ci_high"] == pytest.approx(min(1, mean + half), abs=1e-6)


def test_cases_of_a_cluster_are_one_piece_of_evidence(scored):
    """The ratio of two sums over clusters; the same for scores and rates of all 0 or 1."""
    mean = sum(RIGHT_OR_WRONG) / 12
    pulls: dict[str | None, float] = {}
    for cluster, value in zip(CLUSTERS, RIGHT_OR_WRONG, strict=True):
        pulls[cluster] = pulls.get(cluster, 0) + value - mean
    error = math.sqrt(5 / 4 * sum(pull**2 for pull in pulls.values())) / 12
    half = stats.t.ppf(0.975, 4) * error
    expected = pytest.approx((mean - half, min(1.0, mean + half)), abs=1e-6)
    found = scored.dimension("clusters", "mean")
    assert found["ci_method"] == "clusters"
    assert (found["ci_low"], found["ci_high"]) == expected
    overall = scored.summary("clusters")
    assert (overall["ci_low"], overall["ci_high"]) == expected
    for measure in ("pass_rate", "tag_pass_rate"):
        rate = scored.row("fct_trends", "clusters", measure=measure)
        assert (rate["ci_low"], rate["ci_high"]) == expected


@pytest.mark.parametrize("name", ["right", "wrong"])
def test_clusters_of_nothing_but_right_or_wrong_cases_are_one_answer_each(scored, name):
    """Wilson of five clusters of 3, 3, 3, 2 and 1 cases."""
    z2 = stats.norm.ppf(0.975) ** 2
    n = 12**2 / (3 * 3**2 + 2**2 + 1)
    bounds = (n / (n + z2), 1) if name == "right" else (0, z2 / (n + z2))
    expected = pytest.approx(bounds, abs=1e-6)
    found = scored.dimension(f"clusters-{name}", "mean")
    assert found["ci_method"] == "wilson"
    assert (found["ci_low"], found["ci_high"]) == expected
    overall = scored.summary(f"clusters-{name}")
    assert (overall["ci_low"], overall["ci_high"]) == expected
    for measure in ("pass_rate", "tag_pass_rate"):
        rate = scored.row("fct_trends", f"clusters-{name}", measure=measure)
        assert (rate["ci_low"], rate["ci_high"]) == expected


def test_a_weighted_share_has_wilsons_interval_at_its_effective_size(scored):
    found = scored.dimension("weighted-right-or-wrong", "mean")
    n = sum(WEIGHTS) ** 2 / sum(w * w for w in WEIGHTS)
    share = sum(w * x for w, x in zip(WEIGHTS, RIGHT_OR_WRONG, strict=True)) / sum(
        WEIGHTS
    )
    z = stats.norm.ppf(0.975)
    half = z * math.sqrt(n * share * (1 - share) + z * z / 4)
    low, high = (
        (n * share + z * z / 2 + side * half) / (n + z * z) for side in (-1, 1)
    )
    assert found["ci_method"] == "wilson"
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((low, high), abs=1e-6)


def test_the_overall_interval_follows_each_case_through_all_its_dimensions(scored):
    found = scored.summary("overall")
    two = RIGHT_OR_WRONG[:8]
    means = sum(SOME) / 12, sum(two) / 8
    overall = 0.75 * means[0] + 0.25 * means[1]
    z = [
        0.75 * (SOME[i] - means[0])
        + (0.25 * 12 / 8 * (two[i] - means[1]) if i < 8 else 0)
        for i in range(12)
    ]
    half = stats.t.ppf(0.975, 11) * stats.tstd(z) / math.sqrt(12)
    assert found["overall_score"] == pytest.approx(overall, abs=1e-6)
    assert found["ci_low"] == pytest.approx(overall - half, abs=1e-6)
    assert found["ci_high"] == pytest.approx(min(1, overall + half), abs=1e-6)


def test_the_overall_interval_is_that_of_the_only_dimension(scored):
    found = scored.summary("interval-some")
    assert (found["ci_low"], found["ci_high"]) == pytest.approx(
        t_interval(SOME), abs=1e-6
    )


def test_a_confidence_weighted_dimension_leaves_the_overall_score_without_interval(
    scored,
):
    found = scored.summary("weighted-some")
    assert found["overall_score"] is not None
    assert found["ci_low"] is None
