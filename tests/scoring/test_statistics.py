"""The statistics macros give what scipy gives, run on the engine without a warehouse."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import duckdb
import jinja2
import pytest
from scipy import stats

from promptlab.paths import dbt_project


@pytest.fixture(scope="module")
def run() -> Callable[..., Any]:
    """Evaluate a macro over one row of named values."""
    folder = dbt_project() / "macros"
    files = sorted((folder / "statistics").glob("*.sql"))
    environment = jinja2.Environment(
        extensions=["jinja2.ext.do"], undefined=jinja2.StrictUndefined
    )
    environment.globals.update(ref=lambda package, name: name)
    texts = [path.read_text("utf-8") for path in files]
    macros = vars(environment.from_string("".join(texts)).module)
    con = duckdb.connect()
    seeds = dbt_project() / "seeds" / "scoring"
    con.read_csv(str(seeds / "promptlab_t_quantiles.csv")).create(
        "promptlab_t_quantiles"
    )

    def evaluate(name: str, *args: Any, **values: Any) -> Any:
        expression = str(macros[name](*args))
        columns = ", ".join(f"? as {name}" for name in values)
        query = f"select {expression.strip()} from (select {columns})"
        return con.execute(query, list(values.values())).fetchone()[0]

    return evaluate


@pytest.mark.parametrize("df", [*range(1, 41), 60, 99, 1000, 100_000])
@pytest.mark.parametrize(("quantile", "p"), [("t_975", 0.975), ("t_800", 0.8)])
def test_the_quantile_of_t_is_scipys(run, df, quantile, p):
    found = run("t_quantile", "freedom", quantile, freedom=df)
    assert found == pytest.approx(stats.t.ppf(p, df), abs=5e-8)


@pytest.mark.parametrize(("right", "n"), [(0, 1), (0, 9), (5, 9), (9, 9), (812, 1000)])
def test_the_wilson_interval_is_scipys(run, right, n):
    low, high = (
        run("wilson_bound", "share", "n", side, share=right / n, n=n)
        for side in (-1, 1)
    )
    expected = stats.binomtest(right, n).proportion_ci(0.95, method="wilson")
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize(("right", "n"), [(0, 1), (0, 9), (5, 9), (9, 9), (812, 1000)])
@pytest.mark.parametrize("weights", [(1, 1), (7.5, 7.5), (1, 19), (3, 0.5)])
def test_the_odds_of_a_wilson_interval_are_weighted_by_the_draw(run, right, n, weights):
    values = {
        "k": float(right),
        "m": float(n - right),
        "u": weights[0],
        "v": weights[1],
    }
    low, high = (
        run("wilson_bound_of_draws", "k", "m", "u", "v", side, **values)
        for side in (-1, 1)
    )
    plain = stats.binomtest(right, n).proportion_ci(0.95, method="wilson")
    for found, end in ((low, plain.low), (high, plain.high)):
        # the odds: answers that are hits for each that is a miss
        hits, misses = end * weights[0], (1 - end) * weights[1]
        assert found == pytest.approx(hits / (hits + misses), abs=1e-12)
    if weights[0] == weights[1]:
        assert (low, high) == pytest.approx((plain.low, plain.high), abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 40, 1000])
@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_the_chances_of_k_draws_are_exact(run, n, k):
    for c in {0, 1, n // 2, n - 1, n}:
        at, hat = (
            run(name, "n", "c", "k", n=n, c=c, k=k)
            for name in ("pass_at_k", "pass_hat_k")
        )
        if k > n:
            assert (at, hat) == (None, None)
            continue
        draws = math.comb(n, k)
        assert at == pytest.approx(1 - math.comb(n - c, k) / draws, abs=1e-9)
        assert hat == pytest.approx(math.comb(c, k) / draws, abs=1e-9)


@pytest.mark.parametrize(
    ("n", "trim", "cut"), [(10, 0.1, 1), (9, 0.1, 0), (100, 0.29, 29), (30, 0.1, 3)]
)
def test_trimming_cuts_the_floor_of_the_share(run, n, trim, cut):
    assert run("n_trimmed", "n", "trim", n=n, trim=trim) == cut
