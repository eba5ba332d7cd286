"""The rule of the verdict in numpy and scipy, written from its description.

One suite at a time. Counts are arrays of (case, run): passes, and rounds with a verdict; 0 of 0
where a case was not asked. The last run is the one that is judged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, logsumexp
from scipy.stats import t as student

Floats = npt.NDArray[np.float64]

MAX_RUNS, MAX_WINDOW, LEAD, FEW_RUNS, MIN_CASES, MIN_RUNS_BROAD = 40, 20, 5, 2, 5, 5


@dataclass(frozen=True)
class Counts:
    """Rounds of a variant."""

    x: Floats
    n: Floats

    def __truediv__(self, divisor: float) -> Counts:
        return Counts(self.x / divisor, self.n / divisor)

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.x + other.x, self.n + other.n)

    def of(self, runs: slice) -> Counts:
        """Return the same of some runs."""
        return Counts(self.x[:, runs], self.n[:, runs])

    def total(self) -> Counts:
        """Return sums over runs, arrays of (case)."""
        return Counts(self.x.sum(1), self.n.sum(1))


def ln_beta_binomial(a: float, b: float, counts: Counts) -> Floats:
    """ln of the likelihood of the rounds under Beta(a, b), in their order."""
    return np.asarray(betaln(a + counts.x, b + counts.n - counts.x) - betaln(a, b))


def ln_broken(counts: Counts) -> Floats:
    """ln of their likelihood if the case is broken."""
    return ln_beta_binomial(0.5, 4.5, counts)


@dataclass(frozen=True)
class Prior:
    """What cases of the suite are like: stable, flaky, always failing."""

    weights: tuple[float, float, float] = (0.7, 0.2, 0.1)
    failure_rate: float = 0.01
    """Of the stable ones."""

    def ln_kinds(self, counts: Counts) -> Floats:
        """ln of weight times likelihood, an array of (kind, case)."""
        stable = (200 * (1 - self.failure_rate), 200 * self.failure_rate)
        kinds = zip(self.weights, (stable, (2, 1), (1, 30)), strict=True)
        return np.array([np.log(w) + ln_beta_binomial(*ab, counts) for w, ab in kinds])

    def ln_usual(self, counts: Counts) -> Floats:
        """ln of the likelihood if the pass rate is what it always was."""
        return np.asarray(logsumexp(self.ln_kinds(counts), axis=0))

    def step(self, counts: Counts) -> Prior:
        """One step of expectation and maximisation; the start is worth ten cases."""
        shares = np.exp(self.ln_kinds(counts) - self.ln_usual(counts))
        sums = shares[:, counts.n > 0].sum(1) + np.array([7, 2, 1])
        failures = (shares[0] * (counts.n - counts.x)).sum() + 1
        rate = failures / ((shares[0] * counts.n).sum() + 100)
        weights = sums / sums.sum()
        return Prior(tuple(weights), float(np.clip(rate, 0.0005, 0.03)))


def design_effect(counts: Counts) -> float:
    """By how much runs differ more than rounds that are independent would."""
    x, n, total = counts.x, counts.n, counts.total()
    if x.shape[1] < 3:
        return 1.0
    p = total.x / np.maximum(total.n, 1)
    seen = ((x - n * p[:, None]) ** 2).sum()
    runs = np.maximum((n > 0).sum(1), 1)
    unbiased = p * (1 - p) * total.n / np.maximum(total.n - 1, 1)
    expected = (unbiased * total.n * (runs - 1) / runs).sum()
    return float(np.clip((seen + 1) / (expected + 1), 1, max(n.max(), 1)))


def solved(counts: Counts) -> Counts:
    """Leave out, of each case, the runs before its first pass if they are so many."""
    n = counts.n.copy()
    for case, passes in enumerate(counts.x[:, :-1] > 0):
        if passes.any() and passes.argmax() >= LEAD:
            n[case, : passes.argmax()] = 0
    return Counts(counts.x, n)


def evidence(counts: Counts) -> tuple[Floats, npt.NDArray[np.int64]]:
    """ln of how much likelier the rounds of each case are if it broke, and since how many runs.

    -inf, and one run, where no window counts.
    """
    counts = solved(counts.of(slice(-MAX_RUNS - 1, None)))
    cases, runs = counts.x.shape
    windows = range(1, min(MAX_WINDOW, runs - 1) + 1)
    if not windows:
        return np.full(cases, -np.inf), np.ones(cases, int)
    earlier = counts.of(slice(-1))
    known = earlier.total() / design_effect(earlier)
    prior = Prior().step(known).step(known)
    ratios = []
    for window in windows:
        apart = counts.of(slice(-window)), counts.of(slice(-window, None))
        before, since = apart[0].total(), apart[1].total()
        # exact counts: division would break ties
        fell = since.x * before.n < before.x * since.n
        effect = design_effect(apart[0])
        before, since = before / effect, since / effect
        now = counts.of(slice(-1, None)).total() / effect
        usual = prior.ln_usual(before)
        fits = usual + ln_broken(now) > prior.ln_usual(before + now)
        ratio = usual + ln_broken(since) - prior.ln_usual(before + since)
        ratios.append(np.where(fell & fits & (now.n > 0), ratio, -np.inf))
    weights = 1 / np.array(windows, float)
    weighed = np.array(ratios) + np.log(weights / weights.sum())[:, None]
    return np.logaddexp.reduce(weighed, 0), np.argmax(ratios, 0) + 1


def odds(variants: list[Counts]) -> tuple[float, Floats]:
    """Odds that a case of the run broke, and of each one, an array of (variant, case)."""
    variants = [v.of(slice(-MAX_RUNS - 1, None)) for v in variants]
    compared = [(v.n[:, -1] > 0) & (v.n[:, :-1].sum(1) > 0) for v in variants]
    cases = max(int(np.any(compared, 0).sum()), MIN_CASES)
    in_one = np.exp([evidence(v)[0] for v in variants]) / cases
    in_all = np.zeros(len(in_one[0]))
    if len(variants) > 1:
        in_one /= 2 * len(variants)
        asked = np.all([v.n > 0 for v in variants], 0)
        pooled = Counts(
            np.sum([v.x * asked for v in variants], 0),
            np.sum([v.n * asked for v in variants], 0),
        )
        in_all = np.exp(evidence(pooled)[0]) / cases / 2
    chances = np.append(in_one, in_all)
    if variants[0].x.shape[1] - 1 <= FEW_RUNS:
        return float(chances.sum()), in_one + in_all
    return float(np.expm1(min(np.log1p(chances).sum(), 300))), in_one + in_all


def p_lower(values: Floats) -> float | None:
    """Chance of so low a mean if the true one is 0: a t test; with one value None."""
    if len(values) < 2:
        return None
    error = values.std(ddof=1) / np.sqrt(len(values)) + 1e-9
    return float(student.cdf(values.mean() / error, len(values) - 1))


def p_whole(rates: Floats, clusters: list[int] | None = None) -> float | None:
    """Chance of so low a pass rate or score of all cases together; None: not tested.

    Args:
        rates: mean of each case and run; nan where it was not asked.
        clusters: of each case; with six or more clusters their means are tested.
    """
    rates = rates[:, -MAX_RUNS - 1 :]
    asked = ~np.isnan(rates[:, -1]) & ~np.isnan(rates[:, :-1]).all(1)
    known = rates[~np.isnan(rates[:, :-1]).all(1)]
    change = known - np.nanmean(known[:, :-1], 1, keepdims=True)
    now = change[~np.isnan(change[:, -1]), -1]
    units = now
    if clusters is not None:
        of_case = np.array(clusters)[asked]
        if len(set(of_case)) >= 6:
            units = np.array([now[of_case == c].mean() for c in sorted(set(of_case))])
    p, earlier = p_lower(units), rates.shape[1] - 1
    means = np.array(
        [c[~np.isnan(c)].mean() for c in change.T[:-1] if (~np.isnan(c)).any()]
    )
    if p is not None and earlier >= MIN_RUNS_BROAD and len(means) > 1:
        error = means.std(ddof=1) * np.sqrt(1 + 1 / earlier) + 1e-9
        p = max(p, float(student.cdf((now.mean() - means.mean()) / error, earlier - 1)))
    return p
