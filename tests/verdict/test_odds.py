"""The SQL of the verdict equals a reference that was written from its description."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import duckdb
import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import ttest_1samp

from benchmarks import verdict_suites as sql
from tests.verdict import reference

RUNS = 48
CASES = 16
JUDGED = (0, 1, 2, 3, 4, 5, 6, 9, 14, 22, 41, 46, 47)
"""Runs that are judged, from 0: the first ones, and with more than 40 before."""


@dataclass(frozen=True)
class Kind:
    """How a suite was made up."""

    rounds: int = 1
    variants: int = 1
    cases: int = CASES
    flaky: float = 0.2
    missing: float = 0.0
    """Share of cases that a run did not ask."""
    new_cases: int = 0
    """So many cases are asked from run 5 on."""
    late: int = 0
    """Run from which the last variant is there."""
    copies: float = 0.0
    """Share of runs of a case whose rounds are alike."""
    spread: float = 0.0
    """Standard deviation of whole runs in logits."""
    unsolved: int = 0
    """So many cases fail until run 7."""
    broken_at: int = RUNS
    """Run from which two cases fail, in the first variant."""
    rechecked: float = 0.0
    """Share of failing cases that are asked again."""


KINDS = {
    "one round": Kind(),
    "a small suite": Kind(cases=3),
    "nothing flaky": Kind(flaky=0, broken_at=4),
    "a break": Kind(flaky=0.4, broken_at=14),
    "an old break": Kind(broken_at=20),
    "three rounds": Kind(rounds=3, broken_at=9),
    "copies": Kind(rounds=3, copies=1, flaky=0.5),
    "some copies": Kind(rounds=5, copies=0.5),
    "runs that differ": Kind(rounds=2, spread=1.5, flaky=0.6),
    "missing cells": Kind(rounds=2, missing=0.3, flaky=0.5),
    "many missing cells": Kind(missing=0.6, rounds=2, flaky=0.6),
    "new cases": Kind(new_cases=5, broken_at=6),
    "not yet solved": Kind(unsolved=4, rounds=2),
    "not yet solved, and missing cells": Kind(unsolved=4, missing=0.4),
    "two variants": Kind(variants=2, broken_at=5),
    "three variants, missing cells": Kind(variants=3, missing=0.2, rounds=2),
    "a late variant": Kind(variants=3, late=5, broken_at=6),
    "a later variant": Kind(variants=2, late=14, rounds=3, unsolved=3),
    "re-checks": Kind(rechecked=0.5, flaky=0.5, broken_at=3),
    "re-checks of variants": Kind(variants=2, rounds=3, rechecked=0.5, flaky=0.5),
}


@dataclass(frozen=True)
class Made:
    """Counts, arrays of (variant, case, run), and those of re-checks."""

    x: npt.NDArray[np.int64]
    n: npt.NDArray[np.int64]
    x_again: npt.NDArray[np.int64]
    n_again: npt.NDArray[np.int64]


def make(kind: Kind, rng: np.random.Generator) -> Made:
    """Make up a suite of a kind."""
    shape = (kind.variants, CASES, RUNS)
    is_flaky = rng.random(CASES) < kind.flaky
    rate = np.where(is_flaky, rng.uniform(0.3, 0.95, CASES), rng.random(CASES) > 0.12)
    p = np.broadcast_to(rate[:, None], shape).copy()
    p[:, : kind.unsolved, :7] = 0
    p[0, 5:7, kind.broken_at :] = 0.1
    logit = np.log(np.clip(p, 0.01, 0.99) / np.clip(1 - p, 0.01, 0.99))
    shifted = 1 / (1 + np.exp(-logit - rng.normal(0, kind.spread, RUNS)))
    p = shifted if kind.spread else p
    passed = rng.random((*shape, kind.rounds)) < p[..., None]
    alike = rng.random(shape) < kind.copies
    passed = np.where(alike[..., None], passed[..., :1], passed)
    n = np.where(rng.random(shape) < kind.missing, 0, kind.rounds)
    n[:, kind.cases :] = 0
    n[:, CASES - kind.new_cases :, :5] = 0
    n[-1, :, : kind.late] = 0
    n[:, 0] = np.maximum(n[:, 0], n.max(1))  # every run asks something
    x = passed.sum(-1) * (n > 0)
    again = (x < n) & (rng.random(shape) < kind.rechecked)
    n_again = np.where(again, 5, 0)
    return Made(x, n, rng.binomial(n_again, p), n_again)


def padded(suites: list[Made], x: str, n: str) -> list[tuple[sql.Counts, sql.Counts]]:
    """Return the counts of each variant, of all suites."""
    most = max(len(suite.x) for suite in suites)
    found = []
    for variant in range(most):
        sides = []
        for name in (x, n):
            counts = np.zeros((len(suites), CASES, RUNS), int)
            for number, suite in enumerate(suites):
                if variant < len(suite.x):
                    counts[number] = getattr(suite, name)[variant]
            sides.append(counts)
        found.append((sides[0], sides[1]))
    return found


@dataclass(frozen=True)
class Answers:
    """What the SQL says; keys are suite, run, variant and case."""

    odds: dict[tuple[int, int], float | None]
    p: dict[tuple[int, int, int], float | None]
    cases: dict[tuple[int, int, int, int], tuple[float, float | None, int | None]] = (
        field(default_factory=dict)
    )
    """Odds, log of the evidence in one variant, and since how many runs."""


def answers(con: duckdb.DuckDBPyConnection) -> Answers:
    """Run the models and read the marts."""
    odds = sql.judge(con).odds
    p = con.execute(f"select {sql.KEYS}, p_whole from marts.fct_verdicts").fetchall()
    cases = con.execute(
        f"""
        select
            {sql.KEYS}, cast(case_id[2:] as int), coalesce(odds, 0), log_evidence,
            cast(split_part(task_id, '-', 2) as int)
            - cast(split_part(since_run_id, '-', 2) as int) + 1
        from marts.fct_case_odds
        """
    ).fetchall()
    return Answers(
        odds,
        {(s, r, v): value for s, r, v, value in p},
        {(s, r, v, c): tuple(values) for s, r, v, c, *values in cases},
    )


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with sql.warehouse() as con:
        yield con


@pytest.fixture(scope="module")
def suites() -> list[Made]:
    return [
        make(kind, np.random.default_rng(n)) for n, kind in enumerate(KINDS.values())
    ]


@pytest.fixture(scope="module")
def found(con: duckdb.DuckDBPyConnection, suites: list[Made]) -> Answers:
    sql.fill(
        con,
        padded(suites, "x", "n"),
        JUDGED,
        rechecks=padded(suites, "x_again", "n_again"),
    )
    return answers(con)


def history(suite: Made, run: int) -> tuple[list[int], list[reference.Counts]]:
    """Return the variants of a run and their counts until then, re-checks included."""
    there = [v for v in range(len(suite.n)) if suite.n[v, :, run].any()]
    runs = [r for r in range(run + 1) if suite.n[there, :, r].any()]
    x, n = suite.x + suite.x_again, suite.n + suite.n_again
    return there, [
        reference.Counts(*(a[v][:, runs].astype(float) for a in (x, n))) for v in there
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_odds_of_runs_and_cases_are_those_of_the_reference(
    kind: str, suites: list[Made], found: Answers
) -> None:
    number = list(KINDS).index(kind)
    suite = suites[number]
    n_breaks = 0
    for run in JUDGED:
        there, counts = history(suite, run)
        whole, each = reference.odds(counts)
        said = found.odds[number, run]
        if run == 0:
            assert said is None
            continue
        assert said is not None
        assert math.log1p(said) == pytest.approx(math.log1p(whole), abs=1e-6), run
        for place, variant in enumerate(there):
            evidence, since = reference.evidence(counts[place])
            for case in range(CASES):
                key = (number, run, variant, case)
                if not counts[place].n[case, -1]:
                    continue
                odds, log_evidence, began = found.cases[key]
                expected = float(each[place, case])
                assert math.log1p(odds) == pytest.approx(
                    math.log1p(expected), abs=1e-6
                ), key
                if log_evidence is None:
                    assert evidence[case] == -np.inf, key
                    continue
                assert log_evidence == pytest.approx(evidence[case], abs=1e-6), key
                n_breaks += 1
                if began is not None and len(there) == 1:
                    assert began == since[case], key
    assert n_breaks > 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_chance_of_so_low_a_whole_pass_rate_is_that_of_the_reference(
    kind: str, suites: list[Made], found: Answers
) -> None:
    number = list(KINDS).index(kind)
    n_tested = 0
    for run in JUDGED[1:]:
        there, counts = history(suites[number], run)
        for variant, of_variant in zip(there, counts, strict=True):
            rates = np.where(
                of_variant.n > 0, of_variant.x / np.maximum(of_variant.n, 1), np.nan
            )
            expected = reference.p_whole(rates)
            said = found.p[number, run, variant]
            if expected is None:
                assert said is None, (run, variant)
                continue
            assert said == pytest.approx(expected, abs=1e-6), (run, variant)
            n_tested += 1
    assert n_tested > 0


def test_the_whole_score_is_tested_where_there_are_no_verdicts(
    con: duckdb.DuckDBPyConnection,
) -> None:
    rng = np.random.default_rng(1)
    scores = np.clip(rng.normal(0.6, 0.2, (3, CASES, 9)), 0, 1).round(3)
    scores[1, :, 8] -= 0.15
    scores[2, 3:, 2] = np.nan
    sql.fill(con, [], [1, 3, 8], scores=[scores])
    found = answers(con)
    for suite in range(3):
        for run in (1, 3):
            now, before = scores[suite, :, run], scores[suite, :, :run]
            change = now - np.nanmean(before, 1)
            expected = ttest_1samp(change, 0, alternative="less").pvalue
            assert found.p[suite, run, 0] == pytest.approx(expected, abs=1e-6)
        assert found.p[suite, 8, 0] == pytest.approx(
            reference.p_whole(scores[suite]), abs=1e-6
        )
    [(measures, odds)] = con.execute(
        "select list(distinct measure), max(odds) from marts.fct_verdicts"
    ).fetchall()
    assert (measures, odds) == (["score"], 0)


@pytest.mark.parametrize("n_clusters", [1, 5, 6, 8])
def test_six_or_more_clusters_are_tested_instead_of_cases(
    n_clusters: int, con: duckdb.DuckDBPyConnection
) -> None:
    rng = np.random.default_rng(n_clusters)
    n = np.ones((1, CASES, 4), int)
    x = rng.binomial(n, np.array([0.9, 0.9, 0.9, 0.6]))
    clusters = (np.arange(CASES) % n_clusters).tolist()
    sql.fill(con, [(x, n)], [3], clusters=clusters)
    change = x[0, :, 3] - x[0, :, :3].mean(1)
    means = [change[np.equal(clusters, c)].mean() for c in range(n_clusters)]
    units = means if n_clusters >= 6 else change
    expected = ttest_1samp(units, 0, alternative="less").pvalue
    assert answers(con).p[0, 3, 0] == pytest.approx(expected, abs=1e-6)


def test_one_case_is_not_tested_as_a_whole(con: duckdb.DuckDBPyConnection) -> None:
    n = np.ones((1, 1, 6), int)
    sql.fill(con, [(n * [1, 1, 1, 1, 1, 0], n)], [5])
    assert answers(con).p == {(0, 5, 0): None}
