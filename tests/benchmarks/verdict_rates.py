"""``python -m tests.benchmarks.verdict_rates [PART…]``: how often the verdict is right.

Suites of which the truth is known are judged by the models that a build runs. A case is
stable (it always passes; one in eight always fails) or flaky (it passes in 50 to 95 %); a
broken case passes in 5 %. All tables are Markdown: those of ``docs/verdict-method.md``, where
``--accept`` puts them, as it does the figures of the seed ``verdict_power``. The last line
counts the rows in which nothing is broken.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

from tests.benchmarks import _verdicts as sql

SUITES = 200
MAX_P = "(select max_p from policy.promptlab_verdict_policy)"
"""What the built-in policy refuses at once."""
FALSE_ALARM = "(select false_alarm from policy.promptlab_verdict_policy)"
"""Its limit where nothing is left to the overall score: re-checks, errors as passes, falls over time."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """Suites of one kind; the last run is the candidate, the one before it the baseline."""

    cases: int = 40
    flaky: float = 0.15
    rounds: int = 3
    history: int = 0
    """Runs before the baseline."""
    suites: int = SUITES
    broken: int = 0
    copies: float = 0.0
    """Share of the case-runs whose rounds are one answer."""
    run_effect: float = 0.0
    """Standard deviation of whole runs, in logits."""
    decline: bool = False
    """True if every case of the candidate passes a little less often."""
    errors: float = 0.0
    """Share of the candidate's passing rounds that end in an error."""
    edits: int = 0
    """Cases that each run before the baseline had otherwise: another prompt version."""
    max_tier: int = 1
    """2: runs of other prompt versions count."""
    missing_point: bool = False
    """Whether questions have three test points, of which the candidate lacks the easiest."""


@dataclass(frozen=True)
class Rates:
    """Shares of the suites."""

    alarms: float
    few: float
    broad: float
    listed: float
    attained: float
    """Mean of what the test can alarm at most by chance."""
    newly_failing: float
    """Share with any case that newly fails: what a gate without a test would say."""
    both: float
    """Alarms that stay when errors are taken for passes."""
    one_round: float
    """Share in which a run counted one round per case."""


def truth(rng: np.random.Generator, shape: tuple[int, ...], flaky: float) -> Floats:
    """Return how often each case passes."""
    stable = np.where(rng.random(shape) < 0.125, 0.0, 1.0)
    return np.where(rng.random(shape) < flaky, rng.uniform(0.5, 0.95, shape), stable)


def broken(rng: np.random.Generator, p: Floats, n: int) -> Floats:
    """Return the same with so many broken cases in each suite."""
    found = p.copy()
    for suite in found:
        passing = np.flatnonzero(suite == 1.0)
        suite[rng.choice(passing, min(n, passing.size), replace=False)] = 0.05
    return found


def asked(rng: np.random.Generator, p: Floats, rounds: int) -> sql.Suites:
    """Ask every case of every run so often."""
    passed = rng.random((*p.shape, rounds)) < p[..., None]
    judged = np.full(p.shape, rounds)
    return sql.Suites(judged, passed.sum(-1), passed[..., 0], np.zeros_like(judged))


def suites(row: Row, rng: np.random.Generator) -> sql.Suites:
    """Counts of the suites of a row."""
    p = truth(rng, (row.suites, row.cases), row.flaky)
    if row.missing_point:
        p = np.repeat(p[:, : row.cases // 3], 3, axis=1)
        easier = _shifted(p, np.tile([-1.0, 0.0, 1.0], row.cases // 3))
        p = np.where((p > 0) & (p < 1), easier, p)
    is_asked = np.arange(row.cases) % 3 < (2 if row.missing_point else 3)
    p = np.repeat(p[:, :, None], row.history + 2, axis=2)
    for suite in p:
        for run in range(row.history) if row.edits else ():
            edited = rng.choice(row.cases, row.edits, replace=False)
            suite[edited, : run + 1] = np.where(
                suite[edited, run, None] > 0.5, 0.0, 1.0
            )
        passing = np.flatnonzero((suite[:, -2] == 1.0) & is_asked)
        n = min(row.broken, passing.size)
        suite[rng.choice(passing, n, replace=False), -1] = 0.05
    if row.decline:
        p[:, :, -1] = _declined(p[:, :, -1])
    if row.run_effect:
        p = _shifted(p, rng.normal(0, row.run_effect, (row.suites, 1, p.shape[2])))
    passed = rng.random((*p.shape, row.rounds)) < p[..., None]
    alike = rng.random(p.shape) < row.copies
    passed = np.where(alike[..., None], passed[..., :1], passed)
    in_error = np.zeros_like(passed)
    if row.errors:
        draws = rng.random(passed[:, :, -1].shape)
        in_error[:, :, -1] = passed[:, :, -1] & (draws < row.errors)
    judged = ~in_error
    if row.missing_point:
        judged[:, ~is_asked, -1] = False
    first = np.take_along_axis(passed, judged.argmax(-1)[..., None], -1)[..., 0]
    return sql.Suites(
        judged.sum(-1),
        (passed & judged).sum(-1),
        first & judged.any(-1),
        in_error.sum(-1),
    )


def _declined(p: Floats) -> Floats:
    """Return the same with every case passing a little less often."""
    return np.where(p == 1, 0.97, np.maximum(p - 0.15, 0))


def _shifted(p: Floats, shift: Floats) -> Floats:
    logit = np.log(np.clip(p, 0.01, 0.99) / (1 - np.clip(p, 0.01, 0.99)))
    return 1 / (1 + np.exp(-logit - shift))


_RATES = f"""
select
    avg((p <= {MAX_P})::int),
    avg((p_few <= {MAX_P})::int),
    avg((p_broad <= {MAX_P})::int),
    avg((n_listed > 0)::int),
    avg(attained_level),
    avg((n_newly_failing > 0)::int),
    avg((p <= {MAX_P} and coalesce(p_errors_as_passes, 0) <= {FALSE_ALARM})::int),
    avg(is_one_round_per_run::int)
from marts.fct_verdicts
"""


def rates(con: duckdb.DuckDBPyConnection, row: Row, seed: int) -> Rates:
    """Judge the suites of a row."""
    versions = range(row.history + 2) if row.edits else ()
    con.execute(
        "update policy.promptlab_verdict_policy set max_tier = ?", [row.max_tier]
    )
    sql.fill(con, suites(row, np.random.default_rng(seed)), versions)
    sql.run(con)
    found = con.execute(_RATES).fetchone()
    assert found is not None
    return Rates(*(100 * share for share in found))


def _settings(*settings: tuple[int, int], **others: object) -> Iterator[Row]:
    for rounds, history in settings:
        yield replace(Row(rounds=rounds, history=history), **others)  # type: ignore[arg-type]


GRID = [(k, h) for k in (1, 3, 5) for h in (0, 5, 10)]
DOCS = Path("docs/verdict-method.md")
POWER = Path("dbt_project/seeds/history/promptlab_verdict_power.csv")
TABLES: list[list[str]] = []
POWERS: list[tuple[int, int, int, float]] = []
"""Cases, rounds, history, and the share of suites in which one broken case is found."""
NULL_ROWS: list[tuple[float, bool]] = []
"""Alarms of every row in which nothing is broken, and whether the data could show what
is not taken for granted."""
PARTS: dict[str, tuple[str, list[Row], dict[str, Row]]] = {}
"""Name → title, rows, and what is changed in each of them, by column."""


def _part(name: str, title: str, rows: list[Row], **columns: dict[str, object]) -> None:
    PARTS[name] = (title, rows, columns)  # type: ignore[assignment]


BREAKS: dict[str, dict[str, object]] = {
    "nothing": {}, "one": {"broken": 1}, "three": {"broken": 3},
}  # fmt: skip
for _n in (15, 40, 200, 1000):
    _part(
        f"cases-{_n}", f"{_n:,} cases: rounds, history, share of flaky cases",
        [r for flaky in (0.0, 0.15, 0.4) for r in _settings(*GRID, flaky=flaky, cases=_n)],
        **BREAKS,
    )  # fmt: skip
_part(
    "decline", "Every case passes a little less often, 15 % flaky",
    [r for n in (40, 200) for r in _settings((1, 0), (1, 10), (3, 0), (3, 5), cases=n)],
    **BREAKS, decline={"decline": True},
)  # fmt: skip
_part(
    "copies", "Rounds of a run that are copies of one answer, 40 cases",
    [
        r for copies in (0.5, 1.0) for flaky in (0.15, 0.4)
        for r in _settings((3, 0), (3, 3), (3, 5), (3, 10), copies=copies, flaky=flaky)
    ],
    **BREAKS,
)  # fmt: skip
_part(
    "shifts", "Whole runs that differ, 40 cases, 40 % flaky",
    [
        r for sd in (0.25, 0.5, 1.0)
        for r in _settings((3, 0), (3, 3), (3, 5), (3, 10), run_effect=sd, flaky=0.4)
    ],
    **BREAKS,
)  # fmt: skip
_part(
    "errors", "Errors in place of the candidate's passing rounds, 40 cases",
    [
        r for errors in (0.02, 0.2, 0.5) for flaky in (0.15, 0.4)
        for r in _settings((3, 0), (3, 5), errors=errors, flaky=flaky)
    ],
    **BREAKS,
)  # fmt: skip
_part(
    "points", "A memory benchmark whose candidate lacks the easiest of three test points",
    [
        r for flaky in (0.15, 0.4)
        for r in _settings((3, 0), (3, 5), flaky=flaky, cases=120, missing_point=True)
    ],
    **BREAKS,
)  # fmt: skip
_part(
    "versions", "Every run has a prompt version of its own, 40 cases, 15 % flaky",
    [
        r for tier in (1, 2) for edits in (1, 2, 4)
        for r in _settings((1, 5), (3, 5), (3, 10), edits=edits, max_tier=tier)
    ],
    **BREAKS,
)  # fmt: skip


def _share(
    con: duckdb.DuckDBPyConnection, condition: str, column: str = "task_id"
) -> float:
    """Return how many of the suites, in percent, have a verdict like that."""
    [(n,)] = con.execute(
        f"select count(distinct {column}) from marts.fct_verdicts where {condition}"
    ).fetchall()
    return float(n) / SUITES * 100


def rechecked(con: duckdb.DuckDBPyConnection, row: Row, seed: int) -> float:
    """Return the alarms after new rounds of both sides for what newly fails."""
    rng = np.random.default_rng(seed)
    p = truth(rng, (SUITES, row.cases), row.flaky)
    now = broken(rng, p, row.broken)
    before, after = rng.binomial(row.rounds, p), rng.binomial(row.rounds, now)
    fails = (before == row.rounds) & (after < row.rounds)
    fails &= np.cumsum(fails, 1) <= 20
    rounds = np.where(fails.sum(1, keepdims=True) <= 3, 10, 5) * fails
    asked_twice = np.repeat(rounds[..., None], 2, 2)
    passes = rng.binomial(asked_twice, np.stack([p, now], -1))
    nothing = np.zeros_like(passes)
    sql.fill(con, sql.Suites(asked_twice, passes, passes > 0, nothing))
    sql.run(con)
    return _share(con, f"p <= {FALSE_ALARM}")


def refused(con: duckdb.DuckDBPyConnection, row: Row, seed: int) -> tuple[float, float]:
    """Return the alarms of first decisions, and those that a re-check of them leaves."""
    rng = np.random.default_rng(seed)
    p = truth(rng, (SUITES, row.cases), row.flaky)
    now = _declined(p) if row.decline else broken(rng, p, row.broken)
    runs = np.stack([p] * (row.history + 1) + [now], -1)
    sql.fill(con, asked(rng, runs, row.rounds))
    sql.run(con)
    alarms = f"p <= {MAX_P}"
    first = _share(con, alarms)
    suspects = con.execute(
        "select split_part(task_id, '-', 1)::int, substr(case_id, 2)::int,"
        " n_rounds_to_recheck from marts.fct_verdict_cases"
        " where recheck_place is not null"
    ).fetchnumpy()
    suite, case, rounds = (np.asarray(column) for column in suspects.values())
    both = [rng.binomial(rounds, side[suite, case]) for side in (now, p)]
    sql.fill_recheck(con, row.history + 1, suite, case, rounds, *both)
    sql.run(con)
    kept = f"""
        {alarms} and (
            p_few > p_broad or p_recheck <= {FALSE_ALARM}
            or task_id in (
                select task_id from marts.fct_verdict_cases
                where is_listed and is_rechecked is not true
            )
        )
    """
    return first, _share(con, kept)


def nights(con: duckdb.DuckDBPyConnection, row: Row, seed: int) -> list[float]:
    """Return the alarms of four nights after a break; refused runs are not references."""
    rng = np.random.default_rng(seed)
    p = truth(rng, (SUITES, row.cases), row.flaky)
    now = broken(rng, p, row.broken)
    runs = [p] * row.history + [now] * 4
    return _by_night(con, asked(rng, np.stack(runs, -1), row.rounds), row.history)


def unchanged(con: duckdb.DuckDBPyConnection, row: Row, seed: int) -> list[float]:
    """Return the alarms of twenty nights after the first one, in which nothing breaks."""
    of_all = suites(replace(row, history=19), np.random.default_rng(seed))
    return _by_night(con, of_all, 1)


def _by_night(
    con: duckdb.DuckDBPyConnection, all_runs: sql.Suites, first: int
) -> list[float]:
    """Judge one run after the other; a refused run is not a reference of the next."""
    n_runs = all_runs.rounds.shape[2]
    accepted = np.ones((SUITES, n_runs), bool)
    found = []
    for night in range(first, n_runs):
        until = (a[:, :, : night + 1] for a in vars(all_runs).values())
        sql.fill(con, sql.Suites(*until), refused=~accepted[:, : night + 1])
        sql.run(con)
        rows = con.execute(
            "select split_part(task_id, '-', 1)::int from marts.fct_verdicts"
            f" where p <= {MAX_P}"
        ).fetchall()
        accepted[[suite for (suite,) in rows], night] = False
        found.append(len(rows) / SUITES * 100)
    return found


def variants(
    con: duckdb.DuckDBPyConnection, row: Row, n: int, where: str, seed: int
) -> tuple[float, float, float]:
    """Return the alarms of runs with so many variants; one case breaks in one or all.

    Where three break in one, the shares of this variant and of the others that are
    refused are of interest, too.
    """
    rng = np.random.default_rng(seed)
    p = truth(rng, (SUITES, n, row.cases), row.flaky)
    if where == "all":
        p[:, :, 0] = 1.0
    now = p.copy()
    if where == "all":
        now[:, :, 0] = 0.05
    if where in ("one", "three"):
        now[:, 0] = broken(rng, p[:, 0], 1 if where == "one" else 3)
    runs = np.stack([p] * (row.history + 1) + [now], -1)
    sql.fill(
        con, asked(rng, runs.reshape(SUITES * n, row.cases, -1), row.rounds), variants=n
    )
    sql.run(con)
    suite = "split_part(task_id, '-', 1)::int"
    is_first = f"{suite} % {n} = 0"
    return (
        _share(con, f"p_run <= {MAX_P}", f"{suite} // {n}"),
        _share(con, f"p_in_run <= {MAX_P} and {is_first}", f"{suite} // {n}"),
        _share(con, f"p_in_run <= {MAX_P} and not {is_first}", suite) / (n - 1),
    )


def clusters(
    con: duckdb.DuckDBPyConnection, history: int, sd: float, drop: float, seed: int
) -> tuple[float, float]:
    """Return the alarms of ten conversations of 20 questions, by cluster and by case."""
    rng = np.random.default_rng(seed)
    p = np.clip(rng.beta(3, 2, (SUITES, 200, 1)), 0.02, 0.98)
    shift = np.repeat(rng.normal(0, sd, (SUITES, 10, history + 2)), 20, 1)
    shift[:, :, -1] -= drop
    runs = _shifted(np.repeat(p, history + 2, 2), shift)
    sql.fill(con, asked(rng, runs, 1), cluster_size=20)
    sql.run(con)
    return _share(con, f"p <= {MAX_P}"), _share(con, f"p_uncalibrated <= {MAX_P}")


def scores(
    con: duckdb.DuckDBPyConnection,
    row: Row,
    seed: int,
    *,
    drop: float = 0.0,
    grades: int = 0,
) -> float:
    """Return the alarms of suites with scores from 0 to 1 and no verdicts.

    Args:
        con: of ``sql.warehouse``.
        row: its rounds, history and broken cases, which lose 0.6.
        seed: of the scores.
        drop: what every case of the candidate loses.
        grades: number of different scores; 0: any.
    """
    rng = np.random.default_rng(seed)
    shape = (SUITES, row.cases, 1, 1)
    mean, is_flaky = rng.uniform(0.4, 0.95, shape), rng.random(shape) < row.flaky
    means = np.repeat(mean, row.history + 2, 2)
    means[:, :, -1] -= drop
    means[:, : row.broken, -1] -= 0.6
    sd = np.where(is_flaky, 0.25, 0.05)
    drawn = rng.normal(np.repeat(means, row.rounds, 3), sd).clip(0, 1)
    sql.fill_scores(
        con, np.round(drawn * (grades - 1)) / (grades - 1) if grades else drawn
    )
    sql.run(con)
    return _share(con, f"p_scores <= {MAX_P}")


FALLS = {
    "nothing": 0, "nothing, runs differ (sd 0.5)": 0, "1.5 % of stable cases fail more per run": 0,
    "three cases broke four runs ago": 3, "one case broke four runs ago": 1,
}  # fmt: skip


def drift(
    con: duckdb.DuckDBPyConnection, rounds: int, fall: str, seed: int
) -> tuple[float, ...]:
    """Return how often a fall over eleven runs is found, by order and by step, and dated."""
    rng = np.random.default_rng(seed)
    first = truth(rng, (SUITES, 40), 0.15)
    p = np.repeat(first[:, :, None], 11, 2)
    if "differ" in fall:
        p = _shifted(p, rng.normal(0, 0.5, (SUITES, 1, 11)))
    if "per run" in fall:
        p = np.where(p == 1, 1 - 0.015 * np.arange(11), p)
    p[:, :, 7:] = np.where(
        (broken(rng, first, FALLS[fall]) != first)[:, :, None], 0.05, p[:, :, 7:]
    )
    sql.fill(con, asked(rng, p, rounds))
    sql.run(con, drift=True)
    [found] = con.execute(
        f"""
        select
            100 * avg((p_decline <= {FALSE_ALARM})::int), 100 * avg((coalesce(p_step, 1) <= {FALSE_ALARM})::int),
            100 * avg(is_step::int),
            100 * avg((abs(split_part(step_task_id, '-', 2)::int - 7) <= 1)::int)
        from marts.fct_drift where measure = 'pass_rate'
        """
    ).fetchall()
    return tuple(map(float, found))


MEASURED_AGAIN = [
    replace(row, suites=1000)
    for row in (
        Row(cases=15, flaky=0.4, history=5),
        Row(flaky=0.4, history=5),
        Row(cases=200, history=5),
        Row(cases=200, rounds=5, history=10),
        Row(cases=1000, rounds=5),
        Row(cases=1000, flaky=0.4),
        Row(cases=1000, flaky=0.4, rounds=5),
        Row(cases=120, history=5, missing_point=True),
        *_settings((3, 3), (3, 5), (3, 10), copies=0.5),
        *_settings((3, 3), (3, 5), copies=0.5, flaky=0.4),
        Row(history=10, copies=1.0),
        *_settings((3, 3), (3, 5), (3, 10), run_effect=0.25, flaky=0.4),
        *_settings((3, 5), (3, 10), run_effect=0.5, flaky=0.4),
        *_settings((3, 5), (3, 10), run_effect=1.0, flaky=0.4),
    )
]
"""Rows in which nothing is broken, with more alarms than others among 200 suites."""


def _interval(percent: float, n: int) -> str:
    """Return the 95 % interval of a share (Wilson)."""
    z, p = 1.96, percent / 100
    middle, scale = p + z * z / 2 / n, 1 + z * z / n
    half = z * (p * (1 - p) / n + (z / 2 / n) ** 2) ** 0.5
    return f"{100 * (middle - half) / scale:.1f} to {100 * (middle + half) / scale:.1f}"


def _null(alarms: float, is_seen: bool = True) -> str:
    NULL_ROWS.append((alarms, is_seen))
    return f"{alarms:.1f}"


def _special(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Print one of the tables with a procedure per row."""
    if name == "recheck":
        head = ["suite", "nothing", "one", "three"]
        lines = [
            [
                _name(row),
                _null(rechecked(con, row, 10 * n)),
                *(
                    f"{rechecked(con, replace(row, broken=b), 10 * n + b):.1f}"
                    for b in (1, 3)
                ),
            ]
            for n, row in enumerate(
                r
                for flaky in (0.15, 0.4)
                for r in _settings((1, 0), (3, 0), (5, 0), flaky=flaky)
            )
        ]
    elif name == "refused":
        head = ["refused, at once → after", *BREAKS, "every case a little less often"]
        lines = []
        for row in (
            *_settings((3, 0), (3, 5), (1, 10)),
            Row(flaky=0.4, history=5),
            Row(cases=200, history=5),
        ):
            kinds = [replace(row, **change) for change in BREAKS.values()]  # type: ignore[arg-type]
            kinds.append(replace(row, decline=True))
            found = [refused(con, kind, 7 + n) for n, kind in enumerate(kinds)]
            lines.append([_name(row), *(f"{a:.1f} → {b:.1f}" for a, b in found)])
    elif name == "nights":
        head = ["suite", "night 1", "night 2", "night 3", "night 4"]
        lines = []
        for b in (0, 1, 3):
            found = nights(con, Row(history=10, broken=b), b)
            cells = [_null(a) if not b else f"{a:.1f}" for a in found]
            lines.append([f"40 cases, 3 × 9, {b} broken", *cells])
    elif name == "unchanged":
        head = ["suite", "nights 2 to 5", "nights 6 to 11", "nights 12 to 21"]
        lines = []
        for n, row in enumerate(UNCHANGED):
            found = unchanged(con, row, n)
            of_nights = (found[:4], found[4:10], found[10:])
            cells = [f"{np.mean(part):.1f}" for part in of_nights]
            lines.append([_name(row).replace("3 × 0", "3 rounds"), *cells])
    elif name == "variants":
        head = [
            "suite", "nothing", "one case in one variant", "one case in all",
            "three cases in one: this variant", "each other variant",
        ]  # fmt: skip
        lines = []
        for n in (4, 10):
            for row in _settings((1, 0), (3, 0), (3, 5)):
                _, this, other = variants(con, row, n, "three", 2)
                cells = [_null(variants(con, row, n, "none", 1)[0])]
                for where in ("one", "all"):
                    cells.append(f"{variants(con, row, n, where, 2)[0]:.1f}")
                cells += [f"{this:.1f}", f"{other:.1f}"]
                lines.append([f"{n} variants, {row.rounds} × {row.history}", *cells])
    elif name == "scores":
        head = ["suite", "nothing", "one", "three", "every case 0.03 lower"]
        lines = []
        for grades in (0, 5):
            for row in _settings((1, 5), (1, 10), (3, 0), (3, 5), (3, 10), (5, 0)):
                cells = [_null(scores(con, row, 1, grades=grades))]
                for b in (1, 3):
                    found = scores(con, replace(row, broken=b), 1 + b, grades=grades)
                    cells.append(f"{found:.1f}")
                cells.append(f"{scores(con, row, 5, drop=0.03, grades=grades):.1f}")
                scale = f"{grades} grades" if grades else "any score"
                lines.append([f"{_name(row)}, {scale}", *cells])
    elif name == "nothing":
        head = ["suite", "alarms in 1,000 suites", "95 % interval", "one round"]
        lines = []
        for n, row in enumerate(MEASURED_AGAIN):
            found = rates(con, row, 900_000 + n)
            lines.append(
                [
                    _name(row),
                    f"{found.alarms:.1f}",
                    _interval(found.alarms, row.suites),
                    f"{found.one_round:.0f}",
                ]
            )
    elif name == "clusters":
        head = ["suite", "nothing", "lower by 0.6", "nothing, cases tested instead"]
        lines = []
        for sd in (0.0, 0.5, 1.0):
            for h in (0, 5):
                none, cases = clusters(con, h, sd, 0.0, 1)
                cells = [
                    _null(none),
                    f"{clusters(con, h, sd, 0.6, 2)[0]:.1f}",
                    f"{cases:.1f}",
                ]
                lines.append([f"10 × 20 cases, 1 × {h}, sd {sd:g}", *cells])
    else:
        head = [
            "history",
            "Mann–Kendall",
            "step",
            "step, newest run below",
            "dated within a run",
        ]
        lines = []
        for k in (1, 3):
            for fall, b in FALLS.items():
                found = drift(con, k, fall, k)
                dated = f"{found[3]:.0f}" if b else "–"
                is_null = fall.startswith("nothing")
                cells = [
                    _null(a) if is_null and n < 2 else f"{a:.1f}"
                    for n, a in enumerate(found[:3])
                ]
                lines.append([f"11 runs, {k} rounds: {fall}", *cells, dated])
    _show(SPECIAL[name], head, lines)


UNCHANGED = [
    Row(),
    Row(flaky=0.4),
    *(Row(flaky=0.4, run_effect=sd) for sd in (0.25, 0.5, 1.0)),
    Row(copies=0.5),
    Row(flaky=0.4, copies=0.5),
]

SPECIAL = {
    "nothing": "Rows with nothing broken, measured again on 1,000 suites",
    "recheck": "Re-check: new rounds on both sides for what newly fails",
    "refused": "Refused at once, and after a re-check",
    "nights": "A break that stays, against accepted runs only",
    "unchanged": "Runs in which nothing changes, against accepted runs only",
    "variants": "Runs of several variants, 40 cases",
    "scores": "Scores without pass or fail, 40 cases",
    "clusters": "Ten conversations of 20 questions that share an effect per run",
    "drift": "A fall over eleven runs, 40 cases, 15 % flaky",
}


def main(wanted: list[str]) -> None:
    """Print the tables of these parts, or of all; with ``--accept`` store them, too."""
    is_accepted = "--accept" in wanted
    wanted = [part for part in wanted if part != "--accept"]
    started = time.process_time()
    with sql.warehouse() as con:
        for name, (title, rows, columns) in PARTS.items():
            if not wanted or name in wanted:
                _table(con, name, title, rows, columns)  # type: ignore[arg-type]
        con.execute("update policy.promptlab_verdict_policy set max_tier = 1")
        for name in SPECIAL:
            if not wanted or name in wanted:
                _special(con, name)
    seen = [alarms for alarms, is_seen in NULL_ROWS if is_seen]
    every = [alarms for alarms, _ in NULL_ROWS]
    if seen:
        _print(
            f"\n{len(every)} rows with nothing broken: mean {np.mean(every):.2f}, largest"
            f" {max(every):.1f}; the {len(seen)} of them in which the data can show what is"
            f" assumed: mean {np.mean(seen):.2f}, largest {max(seen):.1f}"
        )
    if is_accepted:
        accept()
    print(f"{time.process_time() - started:.0f} s of CPU")  # noqa: T201


def _table(
    con: duckdb.DuckDBPyConnection,
    name: str,
    title: str,
    rows: list[Row],
    columns: dict[str, dict[str, object]],
) -> None:
    heads = ["alarms, " + column for column in columns]
    said = ["suite", *heads, "listed, nothing / one", "newly failing, nothing", "level"]
    said += ["errors as passes", "one round"] if name in ("errors", "copies") else []
    _show(title, said, _rows(con, name, rows, columns))


def _rows(
    con: duckdb.DuckDBPyConnection,
    name: str,
    rows: list[Row],
    columns: dict[str, dict[str, object]],
) -> Iterator[list[str]]:
    for place, row in enumerate(rows):
        found = {
            column: rates(con, replace(row, **changed), 1000 * place + nth)  # type: ignore[arg-type]
            for nth, (column, changed) in enumerate(columns.items())
        }
        none, one = found["nothing"], found["one"]
        if row.max_tier == 1:
            _null(none.both if row.errors else none.alarms, _is_seen(row))
        if name.startswith("cases-") and row.flaky == 0.15:
            POWERS.append((row.cases, row.rounds, row.history, one.alarms / 100))
        cells = [_name(row), *(f"{r.alarms:.1f}" for r in found.values())]
        cells += [
            f"{none.listed:.1f} / {one.listed:.0f}",
            f"{none.newly_failing:.0f}",
            f"{none.attained:.1f}",
        ]
        if name in ("errors", "copies"):
            cells += [" / ".join(f"{r.both:.1f}" for r in found.values())]
            cells += [f"{none.one_round:.0f}"]
        yield cells


def _is_seen(row: Row) -> bool:
    """True if there are enough earlier runs to detect copies and differing runs."""
    if row.copies:
        return row.history >= 2
    return not row.run_effect or row.history >= 4


def _name(row: Row) -> str:
    parts = [
        f"{row.cases} cases",
        f"{row.flaky:.0%} flaky",
        f"{row.rounds} × {row.history}",
    ]
    parts += [f"{row.copies:.0%} copies"] if row.copies else []
    parts += [f"sd {row.run_effect:g}"] if row.run_effect else []
    parts += [f"{row.errors:.0%} errors"] if row.errors else []
    parts += ["a point missing"] if row.missing_point else []
    parts += [f"{row.edits} edited, tier {row.max_tier}"] if row.edits else []
    return ", ".join(parts)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _show(title: str, head: list[str], rows: Iterable[list[str]]) -> None:
    """Print a table row by row, and keep it."""
    table = [_line(head), "|" + " --- |" * len(head)]
    _print(f"\n### {title}\n", *table)
    for row in rows:
        table.append(_line(row))
        _print(table[-1])
    TABLES.append(table)


def accept() -> None:
    """Write the tables into the documentation, and the seed of the stored figures."""
    text = DOCS.read_text("utf-8")
    for head, rule, first, *others in TABLES:
        name = re.escape(first.split(" | ")[0] + " |")
        known = rf"{re.escape(head)}\n{re.escape(rule)}\n{name}.*\n(?:\|.*\n)*"
        table = "\n".join([head, rule, first, *others, ""])
        text, n = re.subn(known, lambda _, new=table: new, text)
        assert n == 1, f"{DOCS} has no table like this one:\n{table}"
    DOCS.write_text(text, "utf-8")
    if len(POWERS) == 4 * len(GRID):
        lines = [f"{n},{k},{h},{share:g}\n" for n, k, h, share in POWERS]
        POWER.write_text("n_cases,n_rounds,n_runs,share_found\n" + "".join(lines))


def _print(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
