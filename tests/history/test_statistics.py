"""Every number of a comparison against scipy, from the scores that went in."""

from __future__ import annotations

import math
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import pytest
from scipy import stats

from benchmarks.stored_steps import plan_with_stored_steps
from promptlab.build.execution import execute
from tests.history.conftest import PAIRED, random_runs

CLOSE = {"rel": 0, "abs": 1e-6}


class Row(NamedTuple):
    """The row of one subject in the marts."""

    n_pairs: int
    baseline_score: float
    candidate_score: float
    delta: float
    ci_low: float | None
    ci_high: float | None
    p_value: float
    p_adjusted: float | None
    smallest_detectable: float | None
    n_judged: int | None
    n_lost: int | None
    n_gained: int | None
    mcnemar_p: float | None


COLUMNS = ", ".join(Row._fields)


@pytest.fixture(scope="module")
def found(history_rows) -> dict[tuple[str, str, str, str], Row]:
    """Rows by baseline, candidate, level and subject."""
    rows = history_rows(
        f"select baseline_task_id, candidate_task_id, level, dimension_id, {COLUMNS}"
        " from marts.fct_task_comparisons union all"
        f" select baseline_task_id, candidate_task_id, 'tag', tag, {COLUMNS}"
        " from marts.fct_tag_comparisons"
    )
    return {row[:4]: Row(*row[4:]) for row in rows}


class Expected(NamedTuple):
    """The pairs of one subject, and whether both sides passed."""

    before: list[float]
    after: list[float]
    passes: list[tuple[bool, bool]] | None


def expected_subjects(size: int) -> Iterator[tuple[str, str, Expected]]:
    """Level, subject and pairs of a random title, made from what was written."""
    first, second = random_runs(size)
    for dimension in first.scores:
        pairs = [
            (first.scores[dimension][c], second.scores[dimension][c])
            for c in first.cases
        ]
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        values = {v for pair in known for v in pair}
        passes = [(a == 1, b == 1) for a, b in known] if values <= {0.0, 1.0} else None
        yield "dimension", dimension, Expected(*_sides(known), passes)
    overall = {
        c: (_overall(first, second, c), _overall(second, first, c)) for c in first.cases
    }
    passed = {
        c: (first.scores["binary"][c] == 1, second.scores["binary"][c] == 1)
        for c in first.cases
    }
    groups = {("overall", "overall"): first.cases}
    groups |= {
        ("tag", t): [c for c in first.cases if t in second.tags[c]]
        for t in ("x", "y", "z")
    }
    for (level, subject), cases in groups.items():
        if cases:
            yield (
                level,
                subject,
                Expected(
                    *_sides([overall[c] for c in cases]), [passed[c] for c in cases]
                ),
            )


def _overall(run, other, case):
    shared = [
        d
        for d in run.scores
        if None not in (run.scores[d][case], other.scores[d][case])
    ]
    total = sum(run.weights[d] for d in shared)
    return round(sum(run.weights[d] * run.scores[d][case] for d in shared) / total, 6)


def _sides(pairs):
    return [a for a, _ in pairs], [b for _, b in pairs]


EVERY = [
    (size, level, subject, expected)
    for size in PAIRED
    for level, subject, expected in expected_subjects(size)
]


@pytest.mark.parametrize(
    ("size", "level", "subject", "expected"), EVERY, ids=lambda v: str(v)[:12]
)
def test_scores_intervals_and_p_values_are_those_of_scipy(
    found, size, level, subject, expected
):
    row = found[f"random-{size}-before", f"random-{size}-after", level, subject]
    before, after = np.array(expected.before), np.array(expected.after)
    assert row.n_pairs == len(before)
    if not len(before):
        return
    assert row.baseline_score == pytest.approx(before.mean(), **CLOSE)
    assert row.candidate_score == pytest.approx(after.mean(), **CLOSE)
    deltas = np.round(after - before, 6)
    assert row.delta == pytest.approx(deltas.mean(), **CLOSE)
    if len(deltas) < 2 or deltas.std() == 0:
        assert (row.ci_low, row.ci_high, row.smallest_detectable) == (None, None, None)
        equal = not deltas.any()
        assert row.p_value == (1 if equal else 2.0 ** (1 - len(deltas)))
        return
    test = stats.ttest_1samp(deltas, 0)
    interval = test.confidence_interval(0.95)
    assert row.p_value == pytest.approx(test.pvalue, **CLOSE)
    assert row.ci_low == pytest.approx(max(-1, interval.low), **CLOSE)
    assert row.ci_high == pytest.approx(min(1, interval.high), **CLOSE)
    df = len(deltas) - 1
    reach = (stats.t.ppf(0.975, df) + stats.t.ppf(0.8, df)) * stats.sem(deltas)
    assert row.smallest_detectable == pytest.approx(reach, **CLOSE)


@pytest.mark.parametrize(
    ("size", "level", "subject", "expected"), EVERY, ids=lambda v: str(v)[:12]
)
def test_mcnemars_test_is_the_exact_binomial_one(found, size, level, subject, expected):
    row = found[f"random-{size}-before", f"random-{size}-after", level, subject]
    if expected.passes is None or not expected.passes:
        assert row.mcnemar_p is None
        return
    lost = sum(a and not b for a, b in expected.passes)
    gained = sum(b and not a for a, b in expected.passes)
    assert (row.n_judged, row.n_lost, row.n_gained) == (
        len(expected.passes),
        lost,
        gained,
    )
    changed = lost + gained
    exact = stats.binomtest(lost, changed).pvalue if changed else 1.0
    assert row.mcnemar_p == pytest.approx(exact, **CLOSE)


@pytest.mark.parametrize("size", PAIRED)
def test_dimensions_and_tags_are_adjusted_together_as_benjamini_and_hochberg_do(
    found, size
):
    pair = (f"random-{size}-before", f"random-{size}-after")
    family = {k: r for k, r in found.items() if k[:2] == pair and k[2] != "overall"}
    tested = [r for r in family.values() if r.p_value is not None]
    adjusted = stats.false_discovery_control([r.p_value for r in tested])
    assert [r.p_adjusted for r in tested] == pytest.approx(list(adjusted), **CLOSE)
    assert {r.p_adjusted for r in family.values() if r.p_value is None} <= {None}
    assert found[(*pair, "overall", "overall")].p_adjusted is None


def test_backwards_every_difference_turns_its_sign_and_nothing_else(found):
    for (before, after, level, subject), row in found.items():
        if not before.startswith("random") or level == "tag":
            continue
        other = found[after, before, level, subject]
        negated = [
            None if v is None else -v for v in (row.delta, row.ci_high, row.ci_low)
        ]
        assert [other.delta, other.ci_low, other.ci_high] == negated
        assert (other.p_value, other.mcnemar_p) == (row.p_value, row.mcnemar_p)
        assert (other.n_lost, other.n_gained) == (row.n_gained, row.n_lost)


# ---------- the tests themselves, far beyond what a small warehouse brings


@pytest.fixture(scope="module")
def tested(history_db: Path):
    """The SQL of int_comparison_tests, run on sums of our choice."""
    with duckdb.connect() as con:
        con.execute(f"attach '{history_db}' as stored (read_only)")
        con.execute("create schema intermediate; create schema policy")
        for seed in ("promptlab_t_quantiles", "promptlab_comparison_policy"):
            con.execute(f"create table policy.{seed} as from stored.policy.{seed}")
        con.execute(
            "create table intermediate.int_task_pairs as"
            " select 'a' as baseline_task_id, 'b' as candidate_task_id;"
            "create table intermediate.int_comparisons_to_build as"
            " select 'b' as candidate_task_id;"
            "create table intermediate.int_dimension_pairs ("
            " baseline_task_id varchar, candidate_task_id varchar, dimension_id varchar,"
            " name varchar, reason varchar, dimension_position bigint, weight double)"
        )

        def run(sums: str) -> list[dict]:
            con.execute(
                "create or replace table intermediate.int_comparison_sums as select"
                f" * replace (cast(n_pairs as bigint) as n_pairs) from ({sums})"
            )
            con.execute(
                "create or replace view intermediate.int_comparison_subjects as "
                + sql_of("int_comparison_subjects")
            )
            rows = con.execute(sql_of("int_comparison_tests")).fetchall()
            names = [c[0] for c in con.description or ()]
            return [dict(zip(names, row, strict=True)) for row in rows]

        yield run


def sql_of(name: str) -> str:
    return next(
        node.query for node in plan_with_stored_steps().nodes if node.name == name
    )


def sums(n: int, mean: float, sd: float, lost: int, gained: int) -> str:
    return (
        f"select 'a' as baseline_task_id, 'b' as candidate_task_id, 'tag' as level,"
        f" '{n} {mean} {lost} {gained}' as subject, {n} as n_shared, {n} as n_comparable,"
        f" {n} as n_pairs, 1 as n_better, 1 as n_worse, 0 as n_same,"
        f" 0.5 as baseline_mean, 0.5 as candidate_mean, null as baseline_metric, null as candidate_metric,"
        f" {mean!r}::double as mean_delta,"
        f" {sd!r}::double as sd, {lost + gained} as n_judged, {lost} as n_lost,"
        f" {gained} as n_gained, false as is_all_or_nothing,"
        " null::bigint as n_clusters, null::double as cluster_error"
    )


def test_t_and_mcnemar_are_right_for_any_size(tested):
    rng = random.Random(5)
    drawn = [
        (
            n,
            rng.uniform(-0.3, 0.3),
            rng.uniform(0.01, 0.5),
            rng.randrange(60),
            rng.randrange(60),
        )
        for n in [*range(2, 60), *(rng.randrange(60, 20_000) for _ in range(40))]
    ]
    drawn += [
        (5, 0.0, 0.1, 0, 0),
        (5, 0.9, 1e-6, 900, 1000),
        (100_000, 1e-3, 0.2, 0, 50),
    ]
    rows = tested(" union all ".join(sums(*each) for each in drawn))
    by_subject = {row["subject"]: row for row in rows}
    for n, mean, sd, lost, gained in drawn:
        row = by_subject[f"{n} {mean} {lost} {gained}"]
        t = mean / (sd / math.sqrt(n))
        assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), n - 1), **CLOSE)
        width = stats.t.ppf(0.975, n - 1) * sd / math.sqrt(n)
        ends = max(-1, mean - width), min(1, mean + width)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(ends, abs=1e-6)
        if lost + gained:
            exact = stats.binomtest(lost, lost + gained).pvalue
            assert row["mcnemar_p"] == pytest.approx(exact, **CLOSE)


class Stop(Exception):
    """A build has come far enough."""


def test_the_same_rows_in_another_order_give_the_same_bits(history_db, tmp_path):
    def stop(name: str, *_: int) -> None:
        if name == "int_comparison_sums":
            raise Stop

    results = []
    with duckdb.connect(shutil.copy(history_db, tmp_path / "w.duckdb")) as con:
        con.begin()
        with pytest.raises(Stop):
            execute(con, plan_with_stored_steps(), full_refresh=True, on_node=stop)
        con.execute("set preserve_insertion_order = false")
        for threads in (1, 4):
            con.execute(f"set threads = {threads}")
            rows = con.execute(sql_of("int_comparison_sums")).fetchall()
            results.append(sorted(map(repr, rows)))
    assert results[0]
    assert results[0] == results[1]
