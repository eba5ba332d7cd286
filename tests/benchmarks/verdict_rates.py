"""``python -m tests.benchmarks.verdict_rates [PART…]``: how often the verdict is right.

Suites of which the truth is known are judged by the models that a build runs. A case is
stable (it always passes; one in eight always fails) or flaky (it passes in 50 to 95 %); a
broken case passes in 5 %. All tables are Markdown: those of ``docs/verdict-method.md``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import duckdb
import numpy as np
import numpy.typing as npt

from tests.benchmarks import _verdicts as sql

SUITES = 200
LIMIT = 0.05

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """Suites of one kind; the last run is the candidate, the one before it the baseline."""

    cases: int = 40
    flaky: float = 0.15
    rounds: int = 3
    history: int = 0
    """Runs before the baseline."""
    broken: int = 0
    copies: float = 0.0
    """Share of the case-runs whose rounds are one answer."""
    run_effect: float = 0.0
    """Standard deviation of whole runs, in logits."""
    decline: bool = False
    """Whether every case of the candidate passes a little less."""
    errors: float = 0.0
    """Share of the candidate's passing rounds that end in an error."""
    edits: int = 0
    """Cases that each run before the baseline had otherwise: another prompt version."""
    max_tier: int = 1
    """2: runs of other prompt versions count."""


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


def suites(row: Row, rng: np.random.Generator) -> sql.Suites:
    """Counts of ``SUITES`` suites."""
    shape = (SUITES, row.cases)
    stable = np.where(rng.random(shape) < 0.125, 0.0, 1.0)
    p = np.where(rng.random(shape) < row.flaky, rng.uniform(0.5, 0.95, shape), stable)
    p = np.repeat(p[:, :, None], row.history + 2, axis=2)
    for suite in p:
        for run in range(row.history) if row.edits else ():
            edited = rng.choice(row.cases, row.edits, replace=False)
            suite[edited, : run + 1] = np.where(
                suite[edited, run, None] > 0.5, 0.0, 1.0
            )
        passing = np.flatnonzero(suite[:, -2] == 1.0)
        suite[rng.choice(passing, row.broken, replace=False), -1] = 0.05
    if row.decline:
        now = p[:, :, -1]
        p[:, :, -1] = np.where(now == 1, 0.97, np.maximum(now - 0.15, 0))
    if row.run_effect:
        p = _shifted(p, rng.normal(0, row.run_effect, (SUITES, 1, p.shape[2])))
    passed = rng.random((*p.shape, row.rounds)) < p[..., None]
    alike = rng.random(p.shape) < row.copies
    passed = np.where(alike[..., None], passed[..., :1], passed)
    in_error = np.zeros_like(passed)
    if row.errors:
        draws = rng.random(passed[:, :, -1].shape)
        in_error[:, :, -1] = passed[:, :, -1] & (draws < row.errors)
    judged = ~in_error
    first = np.take_along_axis(passed, judged.argmax(-1)[..., None], -1)[..., 0]
    return sql.Suites(
        judged.sum(-1),
        (passed & judged).sum(-1),
        first & judged.any(-1),
        in_error.sum(-1),
    )


def _shifted(p: Floats, shift: Floats) -> Floats:
    logit = np.log(np.clip(p, 0.01, 0.99) / (1 - np.clip(p, 0.01, 0.99)))
    return 1 / (1 + np.exp(-logit - shift))


_RATES = f"""
select
    avg((p <= {LIMIT})::int),
    avg((p_few <= {LIMIT})::int),
    avg((p_broad <= {LIMIT})::int),
    avg((n_listed > 0)::int),
    avg(attained_level),
    avg((n_newly_failing > 0)::int),
    avg((p <= {LIMIT} and coalesce(p_errors_as_passes, 0) <= {LIMIT})::int),
    avg(is_one_round_per_run::int)
from marts.fct_verdicts
"""


def rates(con: duckdb.DuckDBPyConnection, row: Row, seed: int) -> Rates:
    """Judge the suites of a row."""
    versions = range(row.history + 2) if row.edits else ()
    con.execute("update policy.verdict_policy set max_tier = ?", [row.max_tier])
    sql.fill(con, suites(row, np.random.default_rng(seed)), versions)
    sql.run(con)
    found = con.execute(_RATES).fetchone()
    assert found is not None
    return Rates(*(100 * share for share in found))


def _settings(*settings: tuple[int, int], **others: object) -> Iterator[Row]:
    for rounds, history in settings:
        yield replace(Row(rounds=rounds, history=history), **others)  # type: ignore[arg-type]


GRID = [(k, h) for k in (1, 3, 5) for h in (0, 5, 10)]
PARTS: dict[str, tuple[str, list[Row], dict[str, Row]]] = {}
"""Name → title, rows, and what is changed in each of them, by column."""


def _part(name: str, title: str, rows: list[Row], **columns: dict[str, object]) -> None:
    PARTS[name] = (title, rows, columns)  # type: ignore[assignment]


BREAKS: dict[str, dict[str, object]] = {
    "nothing": {}, "one": {"broken": 1}, "three": {"broken": 3},
}  # fmt: skip
_part(
    "rounds", "40 cases: rounds, history, share of flaky cases",
    [r for flaky in (0.0, 0.15, 0.4) for r in _settings(*GRID, flaky=flaky)],
    **BREAKS,
)  # fmt: skip
_part(
    "sizes", "Sizes of suites, 15 % flaky",
    [r for n in (15, 40, 200, 1000) for r in _settings((1, 0), (1, 10), (3, 0), (3, 5), cases=n)],
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
    "versions", "Every run has a prompt version of its own, 40 cases, 15 % flaky",
    [
        r for tier in (1, 2) for edits in (1, 2, 4)
        for r in _settings((1, 5), (3, 5), (3, 10), edits=edits, max_tier=tier)
    ],
    **BREAKS,
)  # fmt: skip


def main(wanted: list[str]) -> None:
    """Print the tables of these parts, or of all."""
    started = time.process_time()
    with sql.warehouse() as con:
        for name, (title, rows, columns) in PARTS.items():
            if not wanted or name in wanted:
                _table(con, name, title, rows, columns)  # type: ignore[arg-type]
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
    _print(f"\n### {title}\n", _line(said), "|" + " --- |" * len(said))
    for place, row in enumerate(rows):
        found = {
            column: rates(con, replace(row, **changed), 1000 * place + nth)  # type: ignore[arg-type]
            for nth, (column, changed) in enumerate(columns.items())
        }
        none, one = found["nothing"], found["one"]
        cells = [_name(row), *(f"{r.alarms:.1f}" for r in found.values())]
        cells += [
            f"{none.listed:.1f} / {one.listed:.0f}",
            f"{none.newly_failing:.0f}",
            f"{none.attained:.1f}",
        ]
        if name in ("errors", "copies"):
            cells += [" / ".join(f"{r.both:.1f}" for r in found.values())]
            cells += [f"{none.one_round:.0f}"]
        _print(_line(cells))


def _name(row: Row) -> str:
    parts = [
        f"{row.cases} cases",
        f"{row.flaky:.0%} flaky",
        f"{row.rounds} × {row.history}",
    ]
    parts += [f"{row.copies:.0%} copies"] if row.copies else []
    parts += [f"sd {row.run_effect:g}"] if row.run_effect else []
    parts += [f"{row.errors:.0%} errors"] if row.errors else []
    parts += [f"{row.edits} edited, tier {row.max_tier}"] if row.edits else []
    return ", ".join(parts)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _print(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
