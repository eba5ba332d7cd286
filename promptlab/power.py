"""Sample sizes of comparisons, and the changes that a run can detect.

Paired pass or fail with one round per case is planned by the exact power of McNemar's
test (Connor's formula promises more than the exact test gives); several rounds per
case, and scores, by the variance of a paired difference: between cases, and within
cases divided by the rounds (Miller 2024, arXiv 2411.00640).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

_NORMAL = NormalDist()
_ALPHA = 0.05
_MOST_CASES = 100_000
ASSUMED = 0.05
"""Variance within cases where it is not known: a fair guess for a language model."""
_STEADY = 10
"""Exact power is not monotonic in n: a number of cases is accepted if the power is
reached for this many further numbers."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes that a suite can detect, and its size for another drop."""

    cases: int
    rounds: int
    """Rounds per case."""
    within_variance: float | None
    """Variance of the rounds of a case, on average; ``None``: not known."""
    assumed_variance: float | None
    """The variance that the figures assume, if it is not known."""
    n_results: int
    """Results of the suite; 0: the variance was given."""
    n_clusters: int | None
    """Clusters of the cases, such as conversations; ``None``: no two cases share one.
    The figures are those of cases that change independently."""
    power: float
    """Probability with which a drop must be detected."""
    smallest_drop: float | None
    """The smallest drop of the pass rate that is detected with this probability;
    ``None``: there is none."""
    drop: float | None
    """The drop of the next three fields; by default half of the smallest."""
    power_now: float | None
    """Probability with which the suite detects it."""
    cases_needed: int | None
    """Cases that detect it with probability ``power``; ``None``: over 100,000."""
    cases_needed_with_one_more_round: int | None


def plan(
    cases: int,
    rounds: int,
    within: float | None,
    *,
    n_results: int = 0,
    n_clusters: int | None = None,
    drop: float | None = None,
    power: float = 0.8,
) -> Plan:
    """Compute what a suite can detect; arguments as of :class:`Plan`.

    *within* is ``None`` where no case was asked twice: the figures then assume
    ``ASSUMED``.
    """
    measured, within = within, ASSUMED if within is None else within
    smallest = smallest_drop(cases, rounds, within, power)
    if drop is None and smallest is not None:
        drop = smallest / 2
    needed = None if drop is None else cases_for_drop(rounds, drop, within, power)
    more = needed  # of cases that are not flaky, another round adds nothing
    if drop is not None and within > 0:
        more = cases_for_drop(rounds + 1, drop, within, power)
    return Plan(
        cases=cases,
        rounds=rounds,
        within_variance=measured,
        assumed_variance=within if measured is None else None,
        n_results=n_results,
        n_clusters=n_clusters,
        power=power,
        smallest_drop=smallest,
        drop=drop,
        power_now=round(drop_power(cases, rounds, drop, within), 4)
        if drop is not None
        else None,
        cases_needed=needed,
        cases_needed_with_one_more_round=more,
    )


def drop_power(cases: int, rounds: int, drop: float, within: float) -> float:
    """Return the power to detect a drop of the pass rate, at 5 % false alarms.

    Args:
        cases: Cases on both sides.
        rounds: Rounds per case on both sides.
        drop: Share of cases that break, 0 to 1.
        within: Variance of the rounds of a case, on average; 0: no case is flaky.
    """
    if rounds == 1:
        noise = min(within, (1 - drop) / 2)
        return mcnemar_power(cases, noise + drop, noise)
    variance = drop * (1 - drop) + 2 * within / rounds
    return paired_power(cases, drop, math.sqrt(variance))


def cases_for_drop(
    rounds: int, drop: float, within: float, power: float = 0.8
) -> int | None:
    """Return the fewest cases to detect *drop* with a power; ``None``: over 100,000."""
    return _fewest(lambda cases: drop_power(cases, rounds, drop, within) >= power)


@cache
def smallest_drop(
    cases: int, rounds: int, within: float, power: float = 0.8
) -> float | None:
    """Return the smallest drop that is detected with *power*, to 0.001; ``None``: none.

    With one round and more than 200 cases it is that of the normal approximation with
    a correction for continuity, which is within 0.002 of the exact one.
    """
    if rounds == 1 and cases > 200:
        c = (_NORMAL.inv_cdf(0.975) + _NORMAL.inv_cdf(power)) ** 2
        root = math.sqrt(c**2 + 8 * (cases + c) * c * within)
        drop = (c + root) / (2 * (cases + c)) + 1.25 / cases
        return math.ceil(1000 * drop) / 1000
    low, high = 0, 1000
    if drop_power(cases, rounds, 1.0, within) < power:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if drop_power(cases, rounds, middle / 1000, within) >= power:
            high = middle
        else:
            low = middle
    return high / 1000


def mcnemar_power(cases: int, broken: float, fixed: float) -> float:
    """Return the exact power of McNemar's exact, two-sided test at 5 %.

    Args:
        cases: Pairs.
        broken: Chance that a pair passes before and fails now.
        fixed: Chance that it fails before and passes now.
    """
    changed = broken + fixed
    if changed <= 0:
        return 0.0
    share = broken / changed
    spread = 8 * math.sqrt(cases * changed * (1 - changed)) + 8
    total = 0.0
    for pairs in range(
        max(0, int(cases * changed - spread)),
        min(cases, int(cases * changed + spread)) + 1,
    ):
        chance = _binomial(pairs, cases, changed)
        if chance > 1e-12:
            total += chance * _rejected(pairs, round(share, 12))
    return total


@cache
def _rejected(pairs: int, share: float) -> float:
    """Return the chance that the test rejects if this many pairs changed."""
    most_fixed = _most_fixed(pairs)
    if most_fixed < 0:
        return 0.0
    tail = 0.0
    for chance in (share, 1 - share):
        if chance <= 0:
            continue
        term = chance**pairs
        for n_fixed in range(most_fixed + 1):
            tail += term
            term *= (1 - chance) / chance * (pairs - n_fixed) / (n_fixed + 1)
    return tail


@cache
def _most_fixed(pairs: int) -> int:
    """Return the largest smaller count that the test rejects; -1: none."""
    tail = 0.0
    for n_fixed in range(pairs // 2 + 1):
        tail += _binomial(n_fixed, pairs, 0.5)
        if 2 * tail > _ALPHA:
            return n_fixed - 1
    return pairs // 2


def _binomial(k: int, n: int, p: float) -> float:
    if p <= 0 or p >= 1:
        return float(k == (n if p >= 1 else 0))
    return math.exp(
        math.lgamma(n + 1)
        - math.lgamma(k + 1)
        - math.lgamma(n - k + 1)
        + k * math.log(p)
        + (n - k) * math.log1p(-p)
    )


def paired_power(cases: int, difference: float, sd: float) -> float:
    """Return the power of a paired, two-sided t-test at 5 %.

    Args:
        cases: Pairs, at least 2.
        difference: True mean of the differences.
        sd: Their standard deviation.
    """
    if cases < 2:
        return 0.0
    if sd <= 0:
        return float(difference != 0)
    df = cases - 1
    shift = abs(difference) / sd * math.sqrt(cases)
    limit = t_quantile(df)
    # noncentral t: average the normal tail over the spread of the estimated sd; the
    # density of the variance has a pole at 0 with one degree of freedom
    steps = 200
    width = 8 / math.sqrt(2 * df)
    low, high = max(1e-9, 1 - width), 1 + width
    total = weights = 0.0
    for step in range(steps + 1):
        ratio = low + (high - low) * step / steps  # of the estimated sd
        density = math.exp(
            (df - 1) * math.log(ratio) - df * (ratio**2 - 1) / 2
        )  # chi with df degrees of freedom, up to a constant
        weight = density * (1 if step in (0, steps) else 4 if step % 2 else 2)
        tail = 1 - _NORMAL.cdf(limit * ratio - shift)
        total += weight * tail
        weights += weight
    return total / weights


@cache
def t_quantile(df: int) -> float:
    """Return the 97.5 % quantile of Student's t, by bisection of its distribution."""
    if df > 30:  # Cornish-Fisher
        z = _NORMAL.inv_cdf(0.975)
        return (
            z
            + (z**3 + z) / (4 * df)
            + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * df**3)
        )
    is_odd = df % 2 == 1

    def upper(limit: float) -> float:
        # the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4
        angle = math.atan(limit / math.sqrt(df))
        total, term = 0.0, math.cos(angle) if is_odd else 1.0
        for place in range(3 if is_odd else 2, df + 1, 2):
            total += term
            term *= math.cos(angle) ** 2 * (place - 1) / place
        inside = math.sin(angle) * total
        if is_odd:
            inside = 2 / math.pi * (angle + inside)
        return (1 - inside) / 2

    low, high = 1.9, 13.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if upper(middle) > 0.025 else (low, middle)
    return (low + high) / 2


def cases_for_rate(rate: float, within: float) -> int | None:
    """Return the fewest cases whose Wilson interval is no wider than ±*within*."""
    z = _NORMAL.inv_cdf(0.975)

    def is_enough(cases: int) -> bool:
        spread = z * math.sqrt(rate * (1 - rate) / cases + z**2 / (4 * cases**2))
        return spread / (1 + z**2 / cases) <= within

    return _fewest(is_enough)


def _fewest(is_enough: Callable[[int], bool]) -> int | None:
    low, high = 1, 2
    while not is_enough(high):
        low, high = high, high * 2
        if high > _MOST_CASES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    while not all(is_enough(high + more) for more in range(_STEADY + 1)):
        high += 1
    return high
