"""The test of a task against its reference runs, compared with a second implementation.

It is slow and simple: fractions, every possible sum, one case at a time.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from scipy import stats

from promptlab.cli import run_cli
from promptlab.database import dictionaries
from promptlab.reports.gate.policy import built_in_policy
from promptlab.reports.gate.rules import largest_p
from promptlab.warehouse import Warehouse
from tests.benchmarks import _verdicts as sql
from tests.ingest.test_load import task, write

Counts = tuple[int, int, int, int]
"""Of a case: all rounds, all passes, the candidate's rounds, its passes."""


def outcomes(n: int, s: int, k: int) -> dict[int, Fraction]:
    """Number of passes among the candidate's rounds → its chance."""
    return {
        v: Fraction(comb(k, v) * comb(n - k, s - v), comb(n, s))
        for v in range(max(0, s - (n - k)), min(k, s) + 1)
    }


def points_few(n: int, s: int, k: int) -> dict[int, int]:
    chances = outcomes(n, s, k)
    mean = sum(p * Fraction(1, 100) ** v for v, p in chances.items())
    return {
        v: round(64 * math.log(0.99 + 0.01 * float(Fraction(1, 100) ** v / mean)))
        for v in chances
    }


def points_broad(n: int, s: int, k: int) -> dict[int, int]:
    return {v: -v for v in outcomes(n, s, k)}


def distribution(cases: list[Counts], points: Any) -> tuple[int, dict[int, float]]:
    """The sum that was observed, and the chance of every sum."""
    observed, sums = 0, {0: 1.0}
    for n, s, k, x in cases:
        if 0 < k < n and 0 < s < n:
            of_case, chances = points(n, s, k), outcomes(n, s, k)
            observed += of_case[x]
            longer: dict[int, float] = defaultdict(float)
            for total, p in sums.items():
                for v, chance in chances.items():
                    longer[total + of_case[v]] += p * float(chance)
            sums = longer
    return observed, sums


def mid_p(cases: list[Counts], points: Any) -> float:
    observed, sums = distribution(cases, points)
    if len(sums) == 1:
        return 1.0
    more = math.fsum(p for total, p in sums.items() if total > observed)
    return more + sums[observed] / 2


def level(cases: list[Counts], points: Any) -> float:
    """The chance of all sums whose mid-p-value is an alarm."""
    _, sums = distribution(cases, points)
    if len(sums) == 1:
        return 0.0
    beyond = reached = 0.0
    for total in sorted(sums, reverse=True):
        if beyond + sums[total] / 2 <= 0.045 / n_tests_of(cases) + 1e-12:
            reached = beyond + sums[total]
        beyond += sums[total]
    return reached


def n_tests_of(cases: list[Counts]) -> int:
    """Two, unless the sum of one statistic determines that of the other."""
    varying = [case[:3] for case in cases if 0 < case[1] < case[0]]
    if len(varying) == 1 or (
        len(set(varying)) == 1 and len(outcomes(*varying[0])) == 2
    ):
        return 1
    return 2


def case_p(n: int, s: int, k: int, x: int) -> Fraction:
    return sum((p for v, p in outcomes(n, s, k).items() if v <= x), start=Fraction(0))


def by_chance(cases: list[Counts], threshold: Fraction) -> Fraction:
    """Expected number of cases with at most this p."""
    return sum(
        (
            p
            for n, s, k, _ in cases
            for v, p in outcomes(n, s, k).items()
            if case_p(n, s, k, v) <= threshold
        ),
        start=Fraction(0),
    )


def listed(cases: list[Counts]) -> list[bool]:
    own = [case_p(*case) for case in cases]
    best = Fraction(-1)
    for threshold in sorted(set(own)):
        found = sum(p <= threshold for p in own)
        if threshold < Fraction(1, 2) and by_chance(cases, threshold) <= Fraction(
            found, 20
        ):
            best = threshold
    return [p <= best for p in own]


def newly(n: int, s: int, k: int, before: int) -> tuple[Fraction, Fraction]:
    """Chances that all rounds of the baseline pass and not all new ones; and reverse."""

    def all_pass(m: int) -> Fraction:
        return Fraction(comb(s, m), comb(n, m))

    both = all_pass(before + k)
    return all_pass(before) - both, all_pass(k) - both


# ---------- suites


def suite(
    seed: int,
    cases: int,
    rounds: int,
    history: int,
    *,
    uneven: bool = False,
    errors: float = 0.0,
    flaky: float = 0.4,
    broken: int = 0,
) -> sql.Suites:
    """One suite; ``history`` runs in addition to baseline and candidate."""
    rng = np.random.default_rng(seed)
    shape = (1, cases, history + 2)
    p = np.where(rng.random(cases) < flaky, rng.uniform(0.4, 0.95, cases), 1.0)
    chances = np.repeat(p[None, :, None], history + 2, axis=2)
    chances[0, :broken, -1] = 0.05
    asked = np.full(shape, rounds)
    if uneven:
        asked = rng.integers(1, 2 * rounds, shape)
    failed = rng.binomial(asked, errors) if errors else np.zeros_like(asked)
    judged = asked - failed
    passes = rng.binomial(judged, chances)
    first = rng.random(shape) * np.maximum(judged, 1) < passes
    return sql.Suites(judged, passes, first, failed)


def counts_of(suites: sql.Suites) -> list[Counts]:
    """Of every case that both sides judged."""
    rows = zip(suites.rounds[0], suites.passes[0], strict=True)
    found = [(int(n.sum()), int(s.sum()), int(n[-1]), int(s[-1])) for n, s in rows]
    return [case for case in found if 0 < case[2] < case[0]]


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with sql.warehouse() as con:
        yield con


def judged(con: duckdb.DuckDBPyConnection, suites: sql.Suites) -> dict[str, Any]:
    sql.fill(con, suites)
    sql.run(con)
    [verdict] = dictionaries(con, "from marts.fct_verdicts")
    return verdict


SUITES = {
    "one round, no history": suite(1, 30, 1, 0),
    "one round, history": suite(2, 30, 1, 8, broken=1),
    "three rounds": suite(3, 40, 3, 0, broken=2),
    "three rounds, history": suite(4, 40, 3, 3, broken=1),
    "uneven rounds": suite(5, 40, 3, 3, uneven=True),
    "uneven rounds, broken": suite(6, 25, 4, 1, uneven=True, broken=3),
    "some errors": suite(7, 30, 3, 1, errors=0.2),
    "all broken": suite(8, 40, 3, 2, flaky=0.0, broken=40),
    "all passed": suite(9, 20, 3, 1, flaky=0.0),
    "a single case": suite(10, 1, 3, 3, flaky=0.0, broken=1),
    "many rounds": suite(11, 5, 60, 1, broken=1),
    "300 cases": suite(12, 300, 3, 3, broken=1),
}


@pytest.mark.parametrize("name", SUITES)
def test_p_values_are_those_of_every_sum_that_is_possible(con, name):
    cases = counts_of(SUITES[name])
    verdict = judged(con, SUITES[name])
    few, broad = mid_p(cases, points_few), mid_p(cases, points_broad)
    close = {"abs": 2e-9}
    assert verdict["n_cases"] == len(cases)
    assert verdict["p_few"] == pytest.approx(few, **close)
    assert verdict["p_broad"] == pytest.approx(broad, **close)
    assert verdict["p_uncalibrated"] == pytest.approx(
        min(1, n_tests_of(cases) * min(few, broad)), **close
    )


@pytest.mark.parametrize("name", SUITES)
def test_the_attained_level_is_the_chance_of_all_alarms(con, name):
    cases = counts_of(SUITES[name])
    verdict = judged(con, SUITES[name])
    levels = [level(cases, points) for points in (points_few, points_broad)]
    expected = sum(levels) if n_tests_of(cases) == 2 else max(levels)
    assert verdict["attained_level"] == pytest.approx(min(1, expected), abs=3e-6)


@pytest.mark.parametrize("name", SUITES)
def test_cases_have_their_chance_and_are_listed_by_what_chance_explains(con, name):
    suites = SUITES[name]
    cases = counts_of(suites)
    verdict = judged(con, suites)
    rows = {
        row["case_id"]: row
        for row in dictionaries(con, "from marts.fct_verdict_cases where p is not null")
    }
    numbered = [
        f"c{i}"
        for i in range(suites.rounds.shape[1])
        if 0 < suites.rounds[0, i, -1] < suites.rounds[0, i].sum()
    ]
    assert set(rows) == set(numbered)
    marks = listed(cases)
    for case_id, case, is_listed in zip(numbered, cases, marks, strict=True):
        row, p = rows[case_id], case_p(*case)
        assert row["p"] == pytest.approx(float(p), abs=2e-9)
        assert row["is_listed"] is is_listed
        if p < Fraction(1, 2):
            expected = float(by_chance(cases, p))
            assert row["n_by_chance"] == pytest.approx(expected, abs=2e-6)
    assert verdict["n_listed"] == sum(marks)


def test_the_first_failure_in_eleven_runs_of_one_round_is_just_no_alarm(con):
    """One chance in 11, halved: both statistics are one test, and nothing is doubled.

    The gate refuses up to 0.045.
    """
    passes = np.ones((1, 40, 11), int)
    passes[0, 0, -1] = 0
    verdict = judged(
        con, sql.Suites(np.ones_like(passes), passes, passes > 0, np.zeros_like(passes))
    )
    assert verdict["p"] == pytest.approx(1 / 22, abs=1e-9)
    assert verdict["attained_level"] == 0


def test_what_chance_gives_of_newly_failing_cases_is_counted_case_by_case(con):
    suites = SUITES["three rounds, history"]
    verdict = judged(con, suites)
    chances = [
        newly(n, s, k, int(suites.rounds[0, i, -2]))
        for i, (n, s, k, _) in enumerate(counts_of(suites))
    ]
    before, now = suites.passes[0, :, -2], suites.passes[0, :, -1]
    assert verdict["n_newly_failing"] == ((before == 3) & (now < 3)).sum()
    assert verdict["n_newly_passing"] == ((before < 3) & (now == 3)).sum()
    for column, expected in zip(
        ("n_newly_failing_by_chance", "n_newly_passing_by_chance"),
        map(sum, zip(*chances, strict=True)), strict=True,
    ):  # fmt: skip
        assert verdict[column] == pytest.approx(float(expected), abs=2e-6)


@pytest.mark.parametrize(("cases", "flaky"), [(3_000, 1.0), (20_000, 1.0)])
def test_a_sum_that_is_wider_than_its_window_has_the_same_chances(con, cases, flaky):
    suites = suite(13, cases, 3, 1, flaky=flaky)
    verdict = judged(con, suites)
    counts = counts_of(suites)
    for column, points in (("p_few", points_few), ("p_broad", points_broad)):
        assert verdict[column] == pytest.approx(by_fft(counts, points), abs=1e-8)


def by_fft(cases: list[Counts], points: Any) -> float:
    """Mid-p-value over a circle that is far longer than the sum is wide."""
    length = 2**18
    kinds: dict[tuple[int, int, int], int] = defaultdict(int)
    observed, log = 0, np.zeros(length // 2 + 1, complex)
    for n, s, k, x in cases:
        if 0 < s < n:
            kinds[n, s, k] += 1
            observed += points(n, s, k)[x] - min(points(n, s, k).values())
    for kind, n_cases in kinds.items():
        of_case = points(*kind)
        row = np.zeros(length)
        for v, p in outcomes(*kind).items():
            row[of_case[v] - min(of_case.values())] += float(p)
        log += n_cases * np.log(np.fft.rfft(row) + 1e-300)
    chances = np.fft.irfft(np.exp(log), length)
    return float(chances[observed:].sum() - chances[observed] / 2)


# ---------- runs


def test_whole_runs_that_differ_widen_p(con):
    rng = np.random.default_rng(3)
    p = rng.uniform(0.4, 0.9, (40, 1))
    shift = np.array([0.9, -0.9, 1.1, -1.2, 0.8, -0.9, 1.0, -1.0])
    passes = rng.binomial(3, 1 / (1 + np.exp(-np.log(p / (1 - p)) - shift)))[None]
    suites = sql.Suites(
        np.full_like(passes, 3), passes, passes > 1, np.zeros_like(passes)
    )
    verdict = judged(con, suites)
    z = []
    totals = passes[0, :, :-1].sum(1)
    n = 3 * 7
    for run in range(7):
        expected = 3 * totals / n
        variance = 3 * (totals / n) * (1 - totals / n) * (n - 3) / (n - 1)
        z.append((expected - passes[0, :, run]).sum() / math.sqrt(variance.sum()))
    # each of 7 runs is a part of what it is compared with: its square is 7/6 of that of z
    spread = math.sqrt(sum(v * v for v in z) * 6 / 7 / 6)
    assert spread**2 * 6 > stats.chi2.ppf(0.9, 6)
    assert verdict["run_spread"] == pytest.approx(spread, abs=2e-6)
    assert verdict["calibration"] == "run_shifts"
    expected_p = stats.t.sf(stats.norm.isf(verdict["p_uncalibrated"]) / spread, 6)
    assert verdict["p"] == pytest.approx(expected_p, rel=1e-4, abs=1e-8)
    assert verdict["p"] > 2 * verdict["p_uncalibrated"]


@pytest.mark.parametrize(
    "p", [1e-9, 1e-8, 3e-7, 0.01, 0.074, 0.08, 0.5, 0.93, 0.999999]
)
def test_z_is_that_of_the_normal_distribution(p):
    """The expression of the model that widens p."""
    from promptlab.build import plan

    [node] = [n for n in plan.load().nodes if n.name == "int_verdict_p_values"]
    with duckdb.connect() as con:
        con.execute("create schema intermediate; create schema policy")
        con.execute(
            "create table policy.promptlab_verdict_policy (min_clusters bigint)"
        )
        con.execute(
            "create table intermediate.int_cluster_tests"
            " (task_id varchar, treatment varchar, n_clusters bigint, p double)"
        )
        con.execute(
            "create table intermediate.int_exact_tests as select 't' as task_id,"
            " 'x' as treatment, 0.5e0 as p_few, 0.5e0 as p_broad, ?::double as p", [p],
        )  # fmt: skip
        con.execute(
            "create table intermediate.int_run_shifts as select 't' as task_id, 6 as df,"
            " 1e0 as spread, false as is_shifting"
        )
        scaled = node.query.split("widened as (")[0].rstrip().rstrip(",")
        [(z,)] = con.execute(f"{scaled} select t from scaled").fetchall()
    assert z == pytest.approx(stats.norm.isf(p), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("df", range(4, 11))
def test_the_limit_of_the_spread_is_that_of_chi_square(df):
    z = 1.2815515655446004
    limit = df * (1 - 2 / (9 * df) + z * math.sqrt(2 / (9 * df))) ** 3
    assert limit == pytest.approx(stats.chi2.ppf(0.9, df), rel=5e-3)


def copies(rng: np.random.Generator, runs: int) -> sql.Suites:
    """Three rounds per run that are one answer, thrice."""
    p = np.where(rng.random(40) < 0.4, rng.uniform(0.4, 0.9, 40), 1.0)
    passes = 3 * rng.binomial(1, np.repeat(p[None, :, None], runs, axis=2))
    return sql.Suites(
        np.full_like(passes, 3), passes, passes > 0, np.zeros_like(passes)
    )


def mid_p_of_ranks(cases: list[tuple[list[float], int]]) -> float:
    """All assignments of the rounds of all cases; the task's are the first k scores."""
    sums, observed = {0.0: 1.0}, 0.0
    for scores, k in cases:
        ranks = stats.rankdata(scores) / (len(scores) + 1)
        observed += float(ranks[:k].sum())
        drawn = [float(sum(each)) for each in itertools.combinations(ranks, k)]
        longer: dict[float, float] = defaultdict(float)
        for total, p in sums.items():
            for each in drawn:
                longer[round(total + each, 9)] += p / len(drawn)
        sums = longer
    lower = math.fsum(p for total, p in sums.items() if total < observed - 1e-6)
    return lower + sums.get(round(observed, 9), 0.0) / 2


@pytest.mark.parametrize("grades", [3, 100])
@pytest.mark.parametrize("history", [0, 2])
def test_scores_are_tested_by_their_ranks_and_by_the_lowest_of_each_case(
    con, history, grades
):
    # seeds whose rounds do not look like copies of each other
    rng = np.random.default_rng(history + 3)
    drawn = np.round(rng.random((1, 12, history + 2, 2)) * grades) / grades
    drawn[0, :, -1] = np.round(0.7 * drawn[0, :, -1] * grades) / grades
    sql.fill_scores(con, drawn)
    sql.run(con)
    [verdict] = dictionaries(con, "from marts.fct_verdicts")
    [tested] = dictionaries(con, "from intermediate.int_exact_tests")
    counts, ranked = [], []
    for case in drawn[0]:
        now, before = case[-1].tolist(), case[:-1].ravel().tolist()
        every = sorted([*now, *before])
        lower = [score for score in every if score < every[-1]]
        cut = min(every[1], lower[-1] if lower else every[-1])
        above, own = (sum(score > cut for score in of) for of in (every, now))
        counts.append((len(every), above, 2, own))
        ranked.append(([*now, *before], 2))
    few, broad = mid_p(counts, points_few), mid_p_of_ranks(ranked)
    assert tested["p_few"] == pytest.approx(few, abs=2e-9)
    assert tested["p_broad"] == pytest.approx(broad, abs=0.01)
    together = min(1, 2 * min(tested["p_few"], tested["p_broad"]))
    assert verdict["p_scores"] == pytest.approx(together, abs=2e-9)
    assert (verdict["n_cases"], verdict["n_cases_scored"], verdict["p"]) == (
        0,
        12,
        None,
    )


def test_two_scores_of_a_case_one_on_either_side_are_not_tested(con):
    sql.fill_scores(con, np.random.default_rng(1).random((1, 12, 2, 1)))
    sql.run(con)
    [verdict] = dictionaries(con, "from marts.fct_verdicts")
    assert (verdict["n_cases_scored"], verdict["p_scores"]) == (0, None)


def test_rounds_that_are_copies_count_once(con):
    suites = copies(np.random.default_rng(1), 5)
    verdict = judged(con, suites)
    once = sql.Suites(
        suites.rounds // 3, suites.passes // 3, suites.first, suites.errors
    )
    cases = counts_of(once)
    assert verdict["round_correlation"] == 1.0
    assert verdict["is_one_round_per_run"]
    assert (verdict["n_rounds_now"], verdict["n_rounds_before"]) == (40, 160)
    assert verdict["p_few"] == pytest.approx(mid_p(cases, points_few), abs=2e-9)
    assert "rounds_independent" not in json.loads(verdict["assumptions"])


def test_two_runs_do_not_show_copies_and_the_verdict_says_so(con):
    verdict = judged(con, copies(np.random.default_rng(1), 3))
    assert verdict["round_correlation"] is None
    assert not verdict["is_one_round_per_run"]
    assert json.loads(verdict["assumptions"]) == ["no_run_shift", "rounds_independent"]


def test_runs_of_another_prompt_version_than_the_baseline_say_nothing(con):
    suites = SUITES["three rounds, history"]
    alone = sql.Suites(
        *(
            a[:, :, -3:]
            for a in (suites.rounds, suites.passes, suites.first, suites.errors)
        )
    )
    [expected] = [judged(con, alone)]
    sql.fill(con, suites, versions=[0, 1, 2, 2, 3])
    sql.run(con)
    [verdict] = dictionaries(con, "from marts.fct_verdicts")
    assert (verdict["n_reference_runs"], verdict["n_runs_of_other_versions"]) == (2, 2)
    assert verdict["p"] == expected["p"]
    assert "earlier_versions_alike" not in json.loads(verdict["assumptions"])


def test_other_versions_that_a_policy_takes_are_no_copies_and_no_shifts(con):
    """Each of the versions has other passes, and the rounds of a run are alike."""
    rng = np.random.default_rng(5)
    passes = np.where(rng.random((1, 40, 6)) < 0.5, 3, 0)
    suites = sql.Suites(
        np.full_like(passes, 3), passes, passes > 1, np.zeros_like(passes)
    )
    con.execute("update policy.promptlab_verdict_policy set max_tier = 2")
    try:
        sql.fill(con, suites, versions=range(6))
        sql.run(con)
        [verdict] = dictionaries(con, "from marts.fct_verdicts")
    finally:
        con.execute("update policy.promptlab_verdict_policy set max_tier = 1")
    assert verdict["n_reference_runs"] == 5
    assert not verdict["is_one_round_per_run"]
    assert verdict["calibration"] == "too_few_runs"
    assert json.loads(verdict["assumptions"]) == [
        "earlier_versions_alike", "no_run_shift", "rounds_independent",
    ]  # fmt: skip


# ---------- errors


def test_many_errors_are_tested_as_passes_too(con):
    rounds = np.array([[[3, 1]] * 10 + [[3, 3]] * 10])
    errors = np.array([[[0, 2]] * 10 + [[0, 0]] * 10])
    passes = np.array([[[3, 0]] * 10 + [[3, 3]] * 10])
    verdict = judged(con, sql.Suites(rounds, passes, passes > 0, errors))
    cases = [(4, 3, 1, 0)] * 10
    as_passes = [(6, 5, 3, 2)] * 10
    for column, of in (("p", cases), ("p_errors_as_passes", as_passes)):
        expected = n_tests_of(of) * min(mid_p(of, points_few), mid_p(of, points_broad))
        assert verdict[column] == pytest.approx(expected, abs=2e-9)
    assert verdict["n_errors_now"] == 20


def test_few_errors_are_only_left_out(con):
    rounds = np.full((1, 50, 2), 3)
    errors = np.zeros_like(rounds)
    rounds[0, 0, 1], errors[0, 0, 1] = 2, 1
    verdict = judged(con, sql.Suites(rounds, rounds, rounds > 0, errors))
    assert verdict["p_errors_as_passes"] is None
    assert (verdict["n_rounds_now"], verdict["n_errors_now"]) == (149, 1)


def test_a_task_of_nothing_but_errors_has_no_p_value(con):
    rounds = np.array([[[3, 0]] * 5])
    errors = 3 - rounds
    verdict = judged(con, sql.Suites(rounds, rounds, rounds > 0, errors))
    assert (verdict["n_cases"], verdict["n_errors_now"]) == (0, 15)
    assert verdict["p"] is verdict["p_few"] is verdict["attained_level"] is None


def test_the_order_of_the_rows_changes_no_digit(con):
    suites = SUITES["uneven rounds"]
    first = judged(con, suites)
    tables = ("int_case_rounds", "int_case_contents")
    for seed in (1, 2):
        for table in tables:
            rows = con.execute(f"from intermediate.{table}").fetchall()
            random.Random(seed).shuffle(rows)
            con.execute(f"truncate table intermediate.{table}")
            marks = ", ".join("?" * len(rows[0]))
            con.executemany(f"insert into intermediate.{table} values ({marks})", rows)
        sql.run(con)
        assert dictionaries(con, "from marts.fct_verdicts") == [first]


# ---------- several variants, clusters, falls over time


def of_runs(passes: Any, rounds: int) -> sql.Suites:
    """Return suites of which every case was asked so often in every run."""
    return sql.Suites(
        np.full_like(passes, rounds), passes, passes > 0, np.zeros_like(passes)
    )


def doubled(cases: list[Counts]) -> float:
    smaller = min(mid_p(cases, points_few), mid_p(cases, points_broad))
    return min(1, n_tests_of(cases) * smaller)


def test_the_variants_of_a_run_are_tested_together_and_each_by_itself(con):
    rng = np.random.default_rng(21)
    p = np.where(rng.random((3, 15, 1)) < 0.4, 0.7, 1.0)
    passes = rng.binomial(3, np.repeat(p, 3, 2))
    passes[:2, 0, -1] = 0
    sql.fill(con, of_runs(passes, 3), variants=3, changed=1)
    sql.run(con)
    verdicts = dictionaries(con, "from marts.fct_verdicts order by task_id")
    cases = [[(9, int(s.sum()), 3, int(s[-1])) for s in variant] for variant in passes]
    own = [doubled(variant) for variant in cases]

    def of_run(tested: list[int]) -> float:
        pooled = doubled([case for v in tested for case in cases[v]])
        ordered = sorted(own[v] for v in tested)
        simes = min(p * len(tested) / n for n, p in enumerate(ordered, 1))
        return min(1, 2 * min(pooled, simes))

    assert [v["p"] for v in verdicts] == pytest.approx(own, abs=2e-9)
    for verdict in verdicts:
        assert verdict["p_run"] == pytest.approx(of_run([0, 1, 2]), abs=2e-9)
        assert verdict["p_unchanged"] == pytest.approx(of_run([1, 2]), abs=2e-9)
    assert min(v["p_in_run"] for v in verdicts) == verdicts[0]["p_run"]


def of_any_run(rounds: Any, passes: Any, cluster_size: int) -> Fraction:
    """Return the share of totals as low or lower, if any run could be the newest one.

    Nothing is rounded.
    """
    values: dict[int, list[Fraction]] = {}
    for place, (n, s) in enumerate(zip(rounds, passes, strict=True)):
        rates = [Fraction(int(x), int(k)) for k, x in zip(n, s, strict=True)]
        before = values.get(place // cluster_size, [Fraction(0)] * len(rates))
        values[place // cluster_size] = [
            a + b for a, b in zip(before, rates, strict=True)
        ]
    whole = math.lcm(*(each.denominator for runs in values.values() for each in runs))
    ways = {0: 1}
    for runs in values.values():
        new: dict[int, int] = defaultdict(int)
        for total, n_ways in ways.items():
            for each in runs:
                new[total + int(whole * each)] += n_ways
        ways = new
    seen = int(whole * sum(runs[-1] for runs in values.values()))
    lower = sum(n_ways for total, n_ways in ways.items() if total <= seen)
    return Fraction(lower, rounds.shape[1] ** len(values))


def clustered(
    rounds: int, runs: int, clusters: int, missing: float = 0.0
) -> sql.Suites:
    """Twenty suites of clusters of four cases, of which some fail more often now."""
    rng = np.random.default_rng(runs)
    shape = (20, 4 * clusters, runs + 1)
    p = np.repeat(rng.choice([1, 1, 0.85, 0.6], (*shape[:2], 1)), runs + 1, axis=2)
    p[..., -1] -= rng.choice([0, 0.3], shape[:2])
    asked = np.full(shape, rounds) - rng.binomial(rounds - 1, missing, shape)
    passes = rng.binomial(asked, p)
    return sql.Suites(asked, passes, passes > 0, np.zeros_like(passes))


def of_clusters(
    con: duckdb.DuckDBPyConnection, suites: sql.Suites
) -> tuple[list[float], list[float]]:
    """Return the p-values of clusters of four, and those without rounding."""
    sql.fill(con, suites, cluster_size=4)
    # all rounds count: none of them is a copy
    con.execute(
        "create or replace temp table kept as from policy.promptlab_verdict_policy"
    )
    con.execute("update policy.promptlab_verdict_policy set min_runs_correlation = 99")
    sql.run(con)
    con.execute("create or replace table policy.promptlab_verdict_policy as from kept")
    verdicts = dictionaries(
        con, "from marts.fct_verdicts order by split_part(task_id, '-', 1)::int"
    )
    assert {v["n_clusters"] for v in verdicts} == {suites.rounds.shape[1] // 4}
    assert [v["p"] for v in verdicts] == [v["p_clusters"] for v in verdicts]
    every = zip(suites.rounds, suites.passes, strict=True)
    exact = [float(of_any_run(rounds, passes, 4)) for rounds, passes in every]
    return [v["p_clusters"] for v in verdicts], exact


@pytest.mark.parametrize(
    ("rounds", "runs", "clusters"),
    [(1, 1, 8), (1, 7, 8), (1, 8, 16), (3, 3, 8), (3, 9, 10), (5, 2, 12), (3, 7, 40)],
)
def test_clusters_have_the_share_of_totals_of_any_runs_that_are_so_low(
    con, rounds, runs, clusters
):
    found, exact = of_clusters(con, clustered(rounds, runs, clusters))
    assert found == pytest.approx(exact, abs=2e-9)


@pytest.mark.parametrize("clusters", [8, 16])
def test_equal_sums_are_equal_where_no_small_number_makes_the_differences_whole(
    con, clusters
):
    """Rounds of every number from 1 to 9: the common denominator has many digits."""
    found, exact = of_clusters(con, clustered(9, 1, clusters, missing=0.3))
    more = np.subtract(found, exact)
    assert more.min() >= -1e-9
    assert more.max() < 0.0002


def test_thirds_that_cancel_in_every_cluster_are_no_difference(con):
    """A third is not a binary number: three of them and -1 are not quite 0."""
    passes = np.tile([[3, 2], [3, 2], [3, 2], [0, 3]], (6, 1))[None]
    sql.fill(con, of_runs(passes, 3), cluster_size=4)
    sql.run(con)
    [verdict] = dictionaries(con, "from marts.fct_verdicts")
    assert (verdict["p_clusters"], verdict["n_clusters"]) == (1, 6)


@pytest.mark.parametrize(("size", "is_known"), [(1, True), (4, False)])
def test_nothing_is_said_of_the_power_where_cases_share_clusters_and_no_round_varies(
    con, size, is_known
):
    sql.fill(con, of_runs(np.full((1, 40, 8), 3), 3), cluster_size=size)
    sql.run(con)
    [verdict] = dictionaries(con, "from marts.fct_verdicts")
    found = [verdict[name] is None for name in ("attained_level", "power_of_one_break")]
    assert found == [not is_known] * 2
    clusters = verdict["n_clusters"], verdict["p_clusters"]
    assert clusters == ((None, None) if is_known else (10, 1))


def stored_power(con: duckdb.DuckDBPyConnection, rounds: int, runs: int) -> float:
    """Of 40 cases."""
    [(share,)] = con.execute(
        "select share_found from policy.promptlab_verdict_power"
        " where n_cases = 40 and n_rounds = ? and n_runs = ?",
        [rounds, runs],
    ).fetchall()
    return float(share)


@pytest.mark.parametrize(
    ("judged_otherwise", "n_runs", "history"),
    [
        # 3 rounds now, and 21 or 3 before
        (0, 7, [5]),
        (40, 1, [0]),
        # a new assertion of half of the cases
        (20, 7, [5, 0]),
    ],
)
def test_the_power_is_that_of_the_runs_that_the_test_uses(
    con, judged_otherwise, n_runs, history
):
    """A run that judged in another way is the baseline, or none."""
    sql.fill(con, of_runs(np.full((1, 40, 8), 3), 3))
    con.execute(
        "update intermediate.int_case_contents set assertions_hash = 'new'"
        " where task_id = '0-7' and substr(case_id, 2)::int < ?",
        [judged_otherwise],
    )
    sql.run(con)
    [verdict] = dictionaries(con, "from marts.fct_verdicts")
    assert verdict["n_reference_runs"] == n_runs
    power = np.mean([stored_power(con, 3, runs) for runs in history])
    assert verdict["power_of_one_break"] == pytest.approx(power, abs=1e-6)


def test_the_power_counts_rounds_before_and_not_runs(con):
    """Seven runs of one round before are less than seven of three."""
    passes = np.full((1, 40, 8), 1)
    passes[..., -1] = 3
    sql.fill(con, sql.Suites(passes, passes, passes > 0, np.zeros_like(passes)))
    sql.run(con)
    [verdict] = dictionaries(con, "from marts.fct_verdicts")
    assert verdict["n_reference_runs"] == 7
    assert verdict["power_of_one_break"] == stored_power(con, 3, 0)


def test_cases_with_more_rounds_do_not_lend_them_to_the_others(con):
    """Fifteen cases have two rounds and five have four: 2.5 are not 3."""
    rounds = np.full((1, 20, 2), 2)
    rounds[:, :5] = 4
    sql.fill(con, sql.Suites(rounds, rounds, rounds > 0, np.zeros_like(rounds)))
    sql.run(con)
    [verdict] = dictionaries(con, "from marts.fct_verdicts")
    power = (15 * stored_power(con, 1, 0) + 5 * stored_power(con, 3, 0)) / 20
    assert verdict["power_of_one_break"] == pytest.approx(power, abs=1e-6)
    assert verdict["n_rounds_per_case"] == 2


@pytest.mark.parametrize(("n_variants", "is_known"), [(1, True), (3, False)])
def test_nothing_is_said_of_the_power_where_variants_are_tested_together(
    con, n_variants, is_known
):
    """The gate goes by `p_in_run`, which is larger than the p of a variant alone."""
    sql.fill(con, of_runs(np.full((3, 40, 2), 3), 3), variants=n_variants)
    sql.run(con)
    for verdict in dictionaries(con, "from marts.fct_verdicts"):
        for name in ("attained_level", "power_of_one_break"):
            assert (verdict[name] is not None) is is_known


def test_nothing_is_said_of_the_power_where_whole_runs_differ(con):
    """What widens p hides a break; the simulated runs do not differ."""
    rng = np.random.default_rng(3)
    chances = np.array([0.5, 0.95, 0.6, 0.9, 0.4, 0.95, 0.5, 0.9])
    sql.fill(con, of_runs(rng.binomial(3, np.tile(chances, (1, 40, 1))), 3))
    sql.run(con)
    [verdict] = dictionaries(con, "from marts.fct_verdicts")
    assert verdict["calibration"] == "run_shifts"
    assert verdict["power_of_one_break"] is None


def test_the_level_of_the_marts_is_the_p_that_the_built_in_policy_refuses(con):
    false_alarm = built_in_policy().rules.regression.false_alarm
    [policy] = dictionaries(con, "from policy.promptlab_verdict_policy")
    assert policy["false_alarm"] == false_alarm
    assert policy["max_p"] == pytest.approx(largest_p(false_alarm), abs=1e-12)


def test_five_clusters_are_too_few_and_the_verdict_says_so(con):
    passes = np.random.default_rng(1).binomial(1, 0.6, (1, 20, 2))
    sql.fill(con, of_runs(passes, 1), cluster_size=4)
    sql.run(con)
    [verdict] = dictionaries(con, "from marts.fct_verdicts")
    assert verdict["n_clusters"] == 5
    assert verdict["p"] == verdict["p_uncalibrated"]
    assert "cases_independent" in json.loads(verdict["assumptions"])


@pytest.mark.parametrize("seed", range(6))
def test_a_decline_has_the_share_of_all_orders_with_so_many_falls(con, seed):
    """Few cases, so that some runs are equal."""
    rng = np.random.default_rng(seed)
    passes = rng.binomial(1, np.linspace(0.9, 0.4, 6), (1, 4, 6))
    sql.fill(con, of_runs(passes, 1))
    sql.run(con, drift=True)
    [fall] = dictionaries(con, "from marts.fct_drift where measure = 'pass_rate'")

    def falls(totals: Any) -> int:
        return sum(a > b for a, b in itertools.combinations(totals, 2))

    totals = passes[0].sum(0).tolist()
    orders = [falls(order) for order in itertools.permutations(totals)]
    expected = sum(n >= falls(totals) for n in orders) / len(orders)
    assert fall["p_decline"] == pytest.approx(expected, abs=2e-9)
    rises = falls(totals[::-1])
    assert fall["tau"] == pytest.approx((rises - falls(totals)) / 15, abs=1e-6)


def test_a_step_is_dated_by_the_likeliest_split_and_pays_for_all_of_them(con):
    rng = np.random.default_rng(4)
    p = np.where(rng.random((30, 1)) < 0.3, 0.7, 1.0) * np.ones((30, 9))
    p[:2, 5:] = 0.3
    passes = rng.binomial(2, p)[None]
    sql.fill(con, of_runs(passes, 2))
    sql.run(con, drift=True)
    [fall] = dictionaries(con, "from marts.fct_drift where measure = 'pass_rate'")
    splits = {
        first: [
            (18, int(s.sum()), 2 * (9 - first), int(s[first:].sum())) for s in passes[0]
        ]
        for first in range(2, 8)
    }
    likeliest = max(
        splits, key=lambda first: distribution(splits[first], points_few)[0]
    )
    assert fall["step_task_id"] == f"0-{likeliest}"
    assert fall["p_step"] == pytest.approx(
        min(1, 6 * doubled(splits[likeliest])), abs=2e-8
    )
    shares = passes[0].mean(0) / 2
    assert fall["value_before"] == pytest.approx(shares[:likeliest].mean(), abs=1e-6)
    assert fall["value_after"] == pytest.approx(shares[likeliest:].mean(), abs=1e-6)
    assert fall["is_step"]


# ---------- what commands say


def run_of(
    title: str, day: int, n_passing: int, *, variant: str = "m", prompt: str = "v1"
) -> dict[str, Any]:
    """Return a run of 24 cases; the first ``n_passing`` of them pass."""
    document = task(f"{title}-{variant}-{day}", cases=24)
    document["task"] |= {
        "title": title,
        "variant": variant,
        "run_id": f"{title}-{day}",
        "prompt_version": prompt,
        "created_at": f"2026-01-{day:02}T00:00:00Z",
    }
    document["dimensions"] = [
        {
            "dimension_id": "accuracy", "name": "Accuracy", "weight": 1, "target": {},
            "parameters": {"match_rule": "exact"}, "scoring_mode": "higher_better",
        }
    ]  # fmt: skip
    for n, case in enumerate(document["cases"]):
        case["context"] = {"question": f"{n}?"}
        case["rounds"][0]["raw_output"] = "yes" if n < n_passing else "no"
        case["baselines"] = [
            {
                "baseline_id": "g", "type": "golden_answer", "payload": {"text": "yes"},
                "owner": "t", "confidence": 1,
            }
        ]  # fmt: skip
    return document


def slow_run(title: str, day: int, slow: int, rng: random.Random) -> dict[str, Any]:
    """Return a run whose rounds only have a latency; some cases are slow on day 6."""
    document = run_of(title, day, 24)
    document["dimensions"] = [
        {
            "dimension_id": "latency", "name": "Latency", "weight": 1,
            "target": {"max_ms": 1000}, "parameters": {}, "scoring_mode": "lower_better",
        }
    ]  # fmt: skip
    for n, case in enumerate(document["cases"]):
        case["baselines"] = []
        once = case["rounds"][0]
        case["rounds"] = [
            once
            | {
                "round_id": f"{once['round_id']}-{r}",
                "run_index": r + 1,
                "latency_ms": rng.randint(1100, 1500)
                + (9_000 if day == 6 and n < slow else 0),
            }
            for r in range(3)
        ]
    return document


@pytest.fixture(scope="module")
def titles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with the runs of a title for each test; these only read it."""
    folder = tmp_path_factory.mktemp("titles")
    runs = []
    for size in (12, 3):
        runs += [run_of(f"{size} a cluster", day, n) for day, n in ((1, 24), (2, 0))]
    for title, slow in (("0 slow", 0), ("3 slow", 3), ("slow in 2 clusters", 3)):
        rng = random.Random(1)
        runs += [slow_run(title, day, slow, rng) for day in range(1, 7)]
    for name, day, n, prompt in (
        ("a", 1, 24, "v1"), ("b", 1, 24, "v1"), ("a", 2, 0, "v2"), ("b", 2, 0, "v1"),
    ):  # fmt: skip
        runs.append(run_of("all fail", day, n, variant=name, prompt=prompt))
    for day in range(1, 9):
        runs.append(run_of("falling", day, 24 if day < 6 else 18))
    for run in runs:
        write(folder / "in" / f"{run['task']['task_id']}.json", run)
    warehouse = Warehouse(folder / "w.duckdb")
    assert warehouse.ingest(folder / "in").n_rejected == 0
    with warehouse.writable() as con:
        for size, title in (
            (12, "12 a cluster"), (3, "3 a cluster"), (12, "slow in 2 clusters"),
        ):  # fmt: skip
            con.execute(
                "update raw.cases set cluster = substr(case_id, 2)::int // $size"
                " where task_id like $title || '%'",
                {"size": size, "title": title},
            )
    warehouse.build()
    return warehouse.settings.db


@pytest.mark.parametrize(
    ("size", "decision"), [(12, "cannot_tell"), (3, "do_not_ship")]
)
def test_cases_of_two_conversations_are_too_few_to_refuse_a_run(
    titles, capsys, size, decision
):
    run_cli(["gate", f"{size} a cluster-m-2", "--db", str(titles), "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    [rule] = [r for r in found["rules"] if r["rule"] == "regression.false_alarm"]
    assert (found["decision"], "conversations" in (rule["note"] or "")) == (
        decision,
        decision == "cannot_tell",
    )


def test_what_a_run_of_clusters_could_find_is_not_said(titles, capsys):
    run_cli(["gate", "3 a cluster-m-2", "--db", str(titles), "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    names = ("attained_level", "power_of_one_break", "smallest_drop")
    assert [found[name] for name in names] == [None] * 3
    run_cli(["power", "3 a cluster-m-2", "--db", str(titles)])
    assert "The cases belong to 8 cluster(s)." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("policy", "is_known"),
    [
        ("false_alarm = 0.05", True),
        ("false_alarm = 0.0001", False),
        ("max_drop = 0.02", False),
    ],
)
def test_what_a_run_could_find_is_said_for_the_limit_of_the_built_in_policy(
    titles, tmp_path, capsys, policy, is_known
):
    """Level and power of another limit, or of no test, are other numbers."""
    path = tmp_path / "policy.toml"
    path.write_text(f"[regression]\n{policy}\n", encoding="utf-8")
    options = ["--db", str(titles), "--policy", str(path), "--no-record"]
    run_cli(["gate", "falling-m-5", *options, "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert found["decision"] == "ship"
    for name in ("attained_level", "power_of_one_break"):
        assert (found[name] is not None) is is_known
    said = "a break of one case would have been found"
    assert (said in found["headline"]) is is_known


@pytest.mark.parametrize(
    ("title", "verdict", "note"),
    [
        ("0 slow", "pass", ""),
        ("3 slow", "fail", "scores are lower than chance"),
        (
            "slow in 2 clusters",
            "inconclusive",
            "belong to 2 conversations or documents",
        ),
    ],
)
def test_three_slow_cases_of_24_stop_a_run_without_verdicts(
    titles, capsys, title, verdict, note
):
    """The mean over all cases hides them: the paired t-test does not see a change."""
    run_cli(["gate", f"{title}-m-6", "--db", str(titles), "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    [rule] = [r for r in found["rules"] if r["rule"] == "regression.false_alarm"]
    assert rule["verdict"] == verdict
    assert bool(rule["note"]) is bool(note)
    assert note in (rule["note"] or "")


def test_unchanged_variants_that_fail_too_point_at_the_model_or_the_judge(
    titles, capsys
):
    run_cli(["gate", "all fail-a-2", "--db", str(titles)])
    assert "the model or the judge changed, not your prompt" in " ".join(
        capsys.readouterr().out.split()
    )


def test_trends_say_how_far_a_variant_fell_and_since_when(titles, capsys):
    run_cli(["trends", "falling", "--db", str(titles), "--measure", "pass_rate"])
    said = " ".join(capsys.readouterr().out.split())
    fell = "m: 75.0 of the rounds of a case pass on average, -25.0 since 2026-01-06 in the last 8 runs"
    assert f"{fell}, more than chance explains (cases in all of them: 24)" in said


def test_runs_of_one_time_are_in_the_order_of_loading(tmp_path, capsys):
    warehouse = Warehouse(tmp_path / "w.duckdb")
    for night, day, n in ((8, 1, 18), (9, 2, 24), (10, 2, 19)):
        document = run_of("T", day, n)
        document["task"] |= {"task_id": f"nightly-{night}", "run_id": f"run {night}"}
        warehouse.ingest(write(tmp_path / f"{night}.json", document))
        warehouse.build()
        code = run_cli(["gate", "latest", "--db", str(tmp_path / "w.duckdb")])
        capsys.readouterr()
    assert code == 3  # and not 0, as of the night before
    baselines = warehouse.sql(
        "select task_id, baseline_task_id from marts.dim_task_baselines order by 1"
    )
    assert ("nightly-10", "nightly-9") in baselines.rows()
