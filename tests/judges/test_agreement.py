"""Agreement and corrected rates equal independent computations of the same numbers."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from promptlab import power
from tests.judges.suite import PEOPLE, answers, formats, loaded
from tests.judges.test_labels import load, rows
from tests.marts import only

only_judges = only("fct_corrected_pass_rates", "fct_judge_agreement")

Z = stats.norm.ppf(0.975)


Weighted = list[tuple[dict[str, Any], float]]
"""Labelled answers, and how many each stands for."""


def drawn_by_verdict() -> Weighted:
    """Twelve answers that the judge passed, and twelve that it failed."""
    draw = random.Random(4)
    found = []
    for verdict in (True, False):
        of_verdict = [each for each in answers() if each["judge"] == verdict]
        weight = len(of_verdict) / 12
        found += [(each, weight) for each in draw.sample(of_verdict, 12)]
    return found


def of_several_draws() -> Weighted:
    draw = random.Random(8)
    return [
        (each, draw.choice((1.0, 3.0) if each["judge"] else (1.0, 1.5)))
        for each in draw.sample(answers(), 80)
    ]


DRAWN = {"drawn": drawn_by_verdict(), "draws": of_several_draws()}
"""Dimension → its labels."""


@pytest.fixture(scope="module")
@only_judges
def warehouse(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agreement")
    warehouse = loaded(folder, ("quality", "timed", *DRAWN))
    load(warehouse, folder / "labels.csv", formats()["long.csv"])
    timed = formats()["label_studio.json"].replace('"quality"', '"timed"')
    load(warehouse, folder / "timed.json", timed)
    for dimension, labels in DRAWN.items():
        lines = ["round_id,labeler,label,draw,weight"] + [
            f"{each['round_id']},ann,{'pass' if each['labels']['ann'] else 'fail'},verdict,{w}"
            for each, w in labels
        ]
        file = folder / f"{dimension}.csv"
        load(warehouse, file, "\n".join(lines), dimension=dimension)
    warehouse.build()
    return warehouse


def truth(answer) -> bool | None:
    votes = [answer["labels"][person] for person in PEOPLE]
    return votes[0] if votes[0] == votes[1] else None


def pairs() -> list[tuple[str, bool, bool]]:
    """Return case, what people say and what the judge says, of undisputed answers."""
    return [
        (each["case_id"], truth(each), each["judge"])
        for each in answers()
        if truth(each) is not None
    ]


def counts() -> tuple[int, int, int, int]:
    both = [(people, judge) for _, people, judge in pairs()]
    return tuple(
        both.count(each)
        for each in ((True, True), (True, False), (False, True), (False, False))
    )


def wilson(k: int, n: int) -> tuple[float, float]:
    interval = stats.binomtest(k, n).proportion_ci(method="wilson")
    return interval.low, interval.high


def agreement(warehouse, dimension: str = "quality") -> dict:
    with warehouse.connect() as con:
        found = con.execute(
            "from marts.fct_judge_agreement"
            " where slice_kind = 'all' and dimension_id = ?",
            [dimension],
        )
        (row,) = found.fetchall()
        return dict(zip([c[0] for c in found.description], row, strict=True))


def test_labels_with_and_without_times_give_the_same_numbers(warehouse):
    both = agreement(warehouse), agreement(warehouse, "timed")
    assert [each.pop("dimension_id") for each in both] == ["quality", "timed"]
    assert both[0] == both[1]


def test_rates_of_the_judge_have_wilson_intervals(warehouse):
    a, b, c, d = counts()
    found = agreement(warehouse)
    assert (found["n_both_pass"], found["n_only_judge_fails"]) == (a, b)
    assert (found["n_only_judge_passes"], found["n_both_fail"]) == (c, d)
    assert found["n_disputed"] == 100 - (a + b + c + d)
    assert found["tpr"] == pytest.approx(a / (a + b), abs=1e-6)
    assert found["tnr"] == pytest.approx(d / (c + d), abs=1e-6)
    low, high = wilson(a, a + b)
    assert (found["tpr_low"], found["tpr_high"]) == pytest.approx((low, high), abs=1e-6)
    low, high = wilson(d, c + d)
    assert (found["tnr_low"], found["tnr_high"]) == pytest.approx((low, high), abs=1e-6)
    assert found["leniency"] == pytest.approx((c - b) / (a + b + c + d), abs=1e-6)
    p = stats.binomtest(min(b, c), b + c).pvalue
    assert found["leniency_p"] == pytest.approx(p, abs=1e-9)


def test_kappa_and_ac1_are_those_of_the_table(warehouse):
    n = sum(counts())
    a, b, c, d = (count / n for count in counts())
    chance = (a + b) * (a + c) + (c + d) * (b + d)
    kappa = (a + d - chance) / (1 - chance)
    found = agreement(warehouse)
    assert found["cohens_kappa"] == pytest.approx(kappa, abs=1e-6)
    # Fleiss, Cohen and Everitt 1969
    own = a * (1 - (2 * a + b + c) * (1 - kappa)) ** 2
    own += d * (1 - (2 * d + b + c) * (1 - kappa)) ** 2
    cross = b * ((a + c) + (c + d)) ** 2 + c * ((b + d) + (a + b)) ** 2
    rest = (kappa - chance * (1 - kappa)) ** 2
    se = math.sqrt(own + (1 - kappa) ** 2 * cross - rest) / (
        (1 - chance) * math.sqrt(n)
    )
    assert found["kappa_low"] == pytest.approx(kappa - Z * se, abs=1e-6)
    assert found["kappa_high"] == pytest.approx(kappa + Z * se, abs=1e-6)
    share = (2 * a + b + c) / 2
    by_chance = 2 * share * (1 - share)
    ac1 = (a + d - by_chance) / (1 - by_chance)
    assert found["gwet_ac1"] == pytest.approx(ac1, abs=1e-6)


def test_agreement_has_an_interval_over_cases(warehouse):
    same = [(case, float(people == judge)) for case, people, judge in pairs()]
    n = len(same)
    mean = sum(value for _, value in same) / n
    sums: dict[str, float] = {}
    for case, value in same:
        sums[case] = sums.get(case, 0) + value - mean
    g = len(sums)
    se = math.sqrt(g / (g - 1) * sum(each**2 for each in sums.values())) / n
    t = stats.t.ppf(0.975, g - 1)
    found = agreement(warehouse)
    assert found["agreement"] == pytest.approx(mean, abs=1e-6)
    assert found["agreement_low"] == pytest.approx(mean - t * se, abs=1e-6)
    assert found["agreement_high"] == pytest.approx(min(1, mean + t * se), abs=1e-6)


def test_alpha_of_people_comes_from_the_coincidences(warehouse):
    """Krippendorff: 1 - observed / expected disagreement, nominal."""
    values = [list(answer["labels"].values()) for answer in answers()]
    n = sum(map(len, values))
    passes = sum(map(sum, values))
    observed = sum(2 * sum(v) * (len(v) - sum(v)) / (len(v) - 1) for v in values) / n
    expected = 2 * passes * (n - passes) / (n * (n - 1))
    found = agreement(warehouse)
    assert found["people_alpha"] == pytest.approx(1 - observed / expected, abs=1e-6)
    alike = sum(len(set(v)) == 1 for v in values) / len(values)
    assert found["people_agreement"] == pytest.approx(alike, abs=1e-6)


def lang_reiczigel(p, n, tpr, m1, tnr, m0):
    """Return estimate and interval (Lang and Reiczigel 2014)."""
    estimate = min(1, max(0, (p + tnr - 1) / (tpr + tnr - 1)))
    p = (n * p + Z**2 / 2) / (n + Z**2)
    tnr, tpr = (m0 * tnr + 1) / (m0 + 2), (m1 * tpr + 1) / (m1 + 2)
    theta = min(1, max(0, (p + tnr - 1) / (tpr + tnr - 1)))
    miss, false = tpr * (1 - tpr) / (m1 + 2), tnr * (1 - tnr) / (m0 + 2)
    shift = 2 * Z**2 * (theta * miss - (1 - theta) * false)
    spread = p * (1 - p) / (n + Z**2) + (1 - theta) ** 2 * false + theta**2 * miss
    se = math.sqrt(spread) / (tpr + tnr - 1)
    low, high = theta + shift - Z * se, theta + shift + Z * se
    return estimate, max(0, low), min(1, high)


def test_a_rate_is_corrected_by_labels_that_were_not_drawn_from_the_run(warehouse):
    a, b, c, d = counts()
    judge = [answer["judge"] for answer in answers()]
    expected = lang_reiczigel(
        sum(judge) / 100, 50, a / (a + b), a + b, d / (c + d), c + d
    )
    found = rows(
        warehouse,
        "select method, corrected_rate, ci_low, ci_high"
        " from marts.fct_corrected_pass_rates where dimension_id = 'quality'",
    )
    assert found[0][0] == "corrected"
    assert found[0][1:] == pytest.approx(expected, abs=1e-5)


def by_strata(strata: list[tuple[int, int, int]]) -> tuple[float, float, float]:
    """Return rate and interval from (answers, labels, passing labels) by verdict.

    The distances of the Wilson ends from the share of each verdict, with the labels that
    an infinite run would need, are added as squares (Zou and Donner 2008).
    """
    total = sum(size for size, _, _ in strata)
    rate = below = above = 0.0
    for size, n, k in strata:
        p, weight = k / n, size / total
        rate += weight * p
        if n == size:
            continue
        effective = n / (1 - n / size)
        center = (p + Z**2 / 2 / effective) / (1 + Z**2 / effective)
        spread = p * (1 - p) / effective + Z**2 / 4 / effective**2
        half = Z * math.sqrt(spread) / (1 + Z**2 / effective)
        below += (weight * (p - center + half)) ** 2
        above += (weight * (center + half - p)) ** 2
    return rate, rate - math.sqrt(below), rate + math.sqrt(above)


@pytest.mark.parametrize(
    ("passing", "tpr", "tnr"), [(0.9, 0.97, 0.7), (0.8, 0.95, 0.8)]
)
def test_the_interval_of_weighted_labels_covers_where_the_plain_variance_does_not(
    passing, tpr, tnr
):
    draw = random.Random(5)
    runs, covered, covered_plainly = 300, 0, 0
    for _ in range(runs):
        people = [draw.random() < passing for _ in range(400)]
        judge = [draw.random() < (tpr if p else 1 - tnr) for p in people]
        truth = sum(people) / 400
        strata, variance = [], 0.0
        for verdict in (True, False):
            of_verdict = [p for p, j in zip(people, judge, strict=True) if j == verdict]
            drawn = draw.sample(of_verdict, min(25, len(of_verdict)))
            size, n, k = len(of_verdict), len(drawn), sum(drawn)
            strata.append((size, n, k))
            plain = k / n * (1 - k / n) / (n - 1) * (1 - n / size)
            variance += (size / 400) ** 2 * plain
        rate, low, high = by_strata(strata)
        covered += low <= truth <= high
        covered_plainly += abs(rate - truth) <= Z * math.sqrt(variance)
    assert covered / runs > 0.93
    assert covered_plainly / runs < 0.9


def test_labels_drawn_by_verdict_are_weighted(warehouse):
    """Half and half by the judge's verdict: the plain rates of the sheet are wrong."""
    chosen = DRAWN["drawn"]
    said = {
        verdict: [e["labels"]["ann"] for e, _ in chosen if e["judge"] == verdict]
        for verdict in (True, False)
    }
    share = {v: sum(labels) / 12 for v, labels in said.items()}
    n = {v: sum(e["judge"] == v for e in answers()) for v in (True, False)}
    strata = [(n[v], 12, sum(said[v])) for v in n]
    rate, low, high = by_strata(strata)
    found = rows(
        warehouse,
        "select method, corrected_rate, ci_low, ci_high"
        " from marts.fct_corrected_pass_rates where dimension_id = 'drawn'",
    )
    assert found[0][0] == "labels_weighted"
    assert found[0][1:] == pytest.approx((rate, low, high), abs=1e-5)
    tpr = n[True] * share[True] / (100 * rate)
    found = agreement(warehouse, "drawn")
    assert found["tpr"] == pytest.approx(tpr, abs=1e-6)
    k = sum(said[True])
    ends = of_draws(k, sum(said[False]), n[True] / 12, n[False] / 12)
    assert (found["tpr_low"], found["tpr_high"]) == pytest.approx(ends, abs=1e-6)
    ends = of_draws(12 - sum(said[False]), 12 - k, n[False] / 12, n[True] / 12)
    assert (found["tnr_low"], found["tnr_high"]) == pytest.approx(ends, abs=1e-6)


def of_draws(
    hits: float, misses: float, hit_weight: float, miss_weight: float
) -> tuple[float, ...]:
    """Return the interval of the share of hits; each label stands for its weight.

    Ends of the share among labels are where its score test just rejects.
    """
    n, p = hits + misses, hits / (hits + misses)
    ends = sorted(np.roots([n + Z**2, -(2 * n * p + Z**2), n * p**2]).real)
    return tuple(
        end * hit_weight / (end * hit_weight + (1 - end) * miss_weight) for end in ends
    )


def test_labels_of_several_draws_count_as_so_many_of_one_weight(warehouse):
    """Sheets of several runs have several weights; a slice has what is in it."""
    labels = DRAWN["draws"]
    found = rows(
        warehouse,
        "select slice, tpr, tpr_low, tpr_high, tnr, tnr_low, tnr_high"
        " from marts.fct_judge_agreement"
        " where slice_kind in ('all', 'tag') and dimension_id = 'draws'",
    )
    assert {name for name, *_ in found} == {"all", "odd", "even"}
    for name, *rates in found:
        parts = [
            (each["labels"]["ann"], each["judge"], w)
            for each, w in labels
            if name in ("all", "odd" if int(each["case_id"][1:]) % 2 else "even")
        ]
        worth = {
            verdict: sum(w**2 for _, v, w in parts if v == verdict)
            / sum(w for _, v, w in parts if v == verdict)
            for verdict in (True, False)
        }
        expected = []
        for people in (True, False):
            hits = sum(w for p, v, w in parts if p == v == people)
            misses = sum(w for p, v, w in parts if p == people != v)
            worths = worth[people], worth[not people]
            expected.append(hits / (hits + misses))
            expected += of_draws(hits / worths[0], misses / worths[1], *worths)
        assert rates == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("n", [50, 100, 200])
@pytest.mark.parametrize(
    ("fails", "missed", "wrong"), [(0.05, 0.02, 0.1), (0.1, 0.03, 0.4), (0.3, 0.1, 0.1)]
)
def test_the_rates_of_a_sheet_by_verdict_are_covered(n, fails, missed, wrong):
    """Of 1,000 answers the judge fails a share, and misses failures among the others."""
    draw = np.random.default_rng(2)
    n_failed = int(1000 * fails)
    caught = int(n_failed * (1 - wrong))
    slipped = int((1000 - n_failed) * missed)
    drawn = min(n_failed, n // 2)
    weights = n_failed / drawn, (1000 - n_failed) / (n - drawn)
    tnr = caught / (caught + slipped)
    sheets, covered, too_high = 2000, 0, 0
    for _ in range(sheets):
        hits = draw.hypergeometric(caught, n_failed - caught, drawn)
        misses = draw.hypergeometric(slipped, 1000 - n_failed - slipped, n - drawn)
        low, high = of_draws(hits, misses, *weights)
        covered += low <= tnr <= high
        too_high += low > tnr
    assert covered / sheets >= 0.92
    assert too_high / sheets <= 0.03


@pytest.mark.parametrize("df", [1, 2, 5, 30, 31, 100, 1000])
def test_t_quantiles_are_those_of_scipy(df):
    assert power.t_quantile(df) == pytest.approx(stats.t.ppf(0.975, df), abs=2e-4)


@pytest.mark.parametrize(
    ("cases", "difference", "sd"), [(10, 0.5, 0.6), (50, 0.05, 0.2), (500, 0.03, 0.24)]
)
def test_power_of_a_mean_is_that_of_the_noncentral_t(cases, difference, sd):
    shift = difference / sd * math.sqrt(cases)
    limit = stats.t.ppf(0.975, cases - 1)
    expected = 1 - stats.nct.cdf(limit, cases - 1, shift)
    assert power.paired_power(cases, difference, sd) == pytest.approx(
        expected, abs=1e-4
    )


@pytest.mark.parametrize("df", [1, 2, 3, 5, 30])
@pytest.mark.parametrize(("difference", "sd"), [(0.5, 0.5), (0.9, 0.3), (0.1, 0.4)])
def test_power_of_a_mean_is_right_from_two_cases_on(df, difference, sd):
    """The share of t statistics beyond the limit, by integration over the sd."""
    shift = difference / sd * math.sqrt(df + 1)
    limit = stats.t.ppf(0.975, df)
    expected, _ = integrate.quad(
        lambda s: stats.chi.pdf(s, df) * stats.norm.sf(limit * s / df**0.5 - shift),
        0,
        math.inf,
        epsabs=1e-10,
    )
    found = power.paired_power(df + 1, difference, sd)
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("cases", "broken", "fixed"), [(50, 0.2, 0.02), (200, 0.1, 0.05), (498, 0.1, 0.05)]
)
def test_power_of_mcnemar_is_summed_over_every_outcome(cases, broken, fixed):
    expected = 0.0
    for changed in range(cases + 1):
        chance = stats.binom.pmf(changed, cases, broken + fixed)
        few = range(changed + 1)
        expected += chance * sum(
            stats.binom.pmf(k, changed, broken / (broken + fixed))
            for k in few
            if chance > 1e-13
            and 2 * stats.binom.cdf(min(k, changed - k), changed, 0.5) <= 0.05
        )
    assert power.mcnemar_power(cases, broken, fixed) == pytest.approx(
        expected, abs=1e-6
    )


@pytest.mark.parametrize(
    ("rounds", "drop", "within"),
    [(1, 0.1, 0.03), (1, 0.2, 0.1), (3, 0.1, 0.05), (3, 0.05, 0.02), (5, 0.15, 0.15)],
)
def test_the_promised_power_is_reached_in_simulation(rounds, drop, within):
    """Cases break completely with chance *drop*; the others keep their pass rate."""
    cases = power.cases_for_drop(rounds, drop, within)
    assert cases is not None
    draw = random.Random(7)
    found, runs = 0, 400
    # so many cases pass in half of their rounds that the variance is as planned
    flaky = min(1.0, within / (1 - drop) / 0.25) if rounds == 1 else within / 0.25
    for _ in range(runs):
        differences = []
        for _ in range(cases):
            p = 0.5 if draw.random() < flaky else 1.0
            now = 0.0 if p == 1.0 and draw.random() < drop / (1 - flaky) else p
            before = sum(draw.random() < p for _ in range(rounds)) / rounds
            after = sum(draw.random() < now for _ in range(rounds)) / rounds
            differences.append(after - before)
        if rounds == 1:
            lost, won = differences.count(-1), differences.count(1)
            p_value = stats.binomtest(lost, lost + won).pvalue if lost + won else 1
        else:
            p_value = stats.ttest_1samp(differences, 0).pvalue
        found += p_value <= 0.05
    assert found / runs == pytest.approx(0.8, abs=0.09)


def test_what_is_not_known_of_the_cases_is_assumed_and_not_zero():
    unknown, assumed, steady = (power.plan(500, 1, each) for each in (None, 0.05, 0.0))
    assert (unknown.within_variance, unknown.assumed_variance) == (None, 0.05)
    assert unknown.smallest_drop == assumed.smallest_drop == 0.051
    assert unknown.cases_needed == assumed.cases_needed
    assert (steady.within_variance, steady.assumed_variance) == (0.0, None)
    assert steady.smallest_drop == 0.018
    assert steady.cases_needed_with_one_more_round == steady.cases_needed


@pytest.mark.parametrize(("rate", "cases"), [(0.9, 141), (0.8, 245), (0.5, 381)])
def test_a_rate_needs_so_many_cases_for_five_points(rate, cases):
    def width(n: int) -> float:
        low, high = wilson(round(rate * n), n)
        return (high - low) / 2

    assert power.cases_for_rate(rate, 0.05) == cases
    assert width(cases + 20) < 0.05 < width(cases - 20)
