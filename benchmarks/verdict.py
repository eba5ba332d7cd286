"""``python -m benchmarks.verdict [--quick]``: how often the verdict is right.

Suites whose truth is known go through the SQL of the verdict; the table is that of
docs/verdict.md. A cell is the share of suites, in percent, that are refused on a night.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from benchmarks.verdict_suites import Variant, fill, judge, warehouse

BROKEN = 0.1
"""Pass rate of a case after it broke …"""
SOUND = 0.98
"""… and at most before: a case that never fails would be found sooner."""
AGAIN = 5
"""Rounds of a re-check."""


@dataclass(frozen=True)
class Suites:
    """What suites are like: counts, and what happens to them."""

    cases: int
    rounds: int
    flaky: float
    """Share of cases that pass 50 to 95 % of their rounds; 12 % of the others fail
    always."""
    variants: int = 1
    stable: float = 1.0
    """Pass rate of the other cases."""
    run_spread: float = 0.0
    """Standard deviation of whole runs, in logits."""
    copies: float = 0.0
    """Share of cases and runs whose rounds are copies of one answer."""
    missing: float = 0.0
    """Share of cells without a round."""
    at: int | None = None
    """Run of the change, from 0."""
    until: int | None = None
    broken: int = 0
    """Stable cases that break then."""
    solved: int = 0
    """Always failing cases that are solved then."""
    slip: float = 0.0
    """What every case loses then."""

    def draw(self, rng: np.random.Generator, count: int, runs: int) -> list[Variant]:
        """Return counts of each variant: arrays of (suite, case, run)."""
        truth, breaking, healing = self._truth(rng, count)
        drawn = []
        for _ in range(self.variants):
            sound = np.where(breaking, np.minimum(truth, SOUND), truth)
            p = np.repeat(sound[:, :, None], runs, 2)
            if self.at is not None:
                after = np.maximum(truth - self.slip, 0)
                after = np.where(breaking, BROKEN, np.where(healing, 0.95, after))
                p[:, :, self.at : self.until] = after[:, :, None]
            if self.run_spread:
                logit = np.log(
                    np.clip(p, 0.005, 0.995) / (1 - np.clip(p, 0.005, 0.995))
                )
                logit += rng.normal(0, self.run_spread, (count, 1, runs))
                p = np.where(p == 0, 0, 1 / (1 + np.exp(-logit)))
            passes = rng.random((*p.shape, self.rounds)) < p[..., None]
            is_copied = rng.random(p.shape) < self.copies
            passes = np.where(is_copied[..., None], passes[..., :1], passes)
            is_asked = rng.random(p.shape) >= self.missing
            drawn.append((passes.sum(3) * is_asked, self.rounds * is_asked))
        return drawn

    def _truth(
        self, rng: np.random.Generator, count: int
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        shape = (count, self.cases)
        is_flaky = rng.random(shape) < self.flaky
        is_failing = ~is_flaky & (rng.random(shape) < 0.12)
        truth = np.where(is_flaky, rng.uniform(0.5, 0.95, shape), self.stable)
        truth = np.where(is_failing, 0.0, truth)
        return (
            truth,
            _some(rng, ~is_flaky & ~is_failing, self.broken),
            _some(rng, is_failing, self.solved),
        )


def _some(
    rng: np.random.Generator, of: npt.NDArray[np.bool_], n: int
) -> npt.NDArray[np.bool_]:
    """Choose *n* cases of each suite."""
    order = np.argsort(np.where(of, rng.random(of.shape), 2), axis=1)
    chosen = np.zeros(of.shape, bool)
    np.put_along_axis(chosen, order[:, :n], True, axis=1)
    return chosen & of


ROWS = (
    *(Suites(cases, 1, flaky) for cases, flaky in ((25, 0.15), (40, 0.0), (40, 0.15))),
    Suites(40, 1, 0.3),
    Suites(100, 1, 0.15),
    Suites(300, 1, 0.15),
    *(Suites(40, 3, flaky) for flaky in (0.0, 0.15, 0.3)),
    Suites(100, 3, 0.3),
    Suites(40, 5, 0.15),
    Suites(40, 3, 0.15, stable=0.98),
    Suites(40, 3, 0.15, copies=1.0),
    Suites(40, 3, 0.15, run_spread=0.5),
    Suites(40, 3, 0.15, run_spread=1.0),
    Suites(40, 3, 0.15, missing=0.05),
    Suites(25, 1, 0.2, variants=4),
    Suites(25, 3, 0.2, variants=4),
)

COLUMNS = (
    "nothing changed: runs 2–5 / 6–10 / 11+",
    "1 broke at run 11: +1 / +2 / +3",
    "at run 2: +1 / +2 / +3 / +4",
    "3 broke at run 11",
    "all fall by 8 points at run 11",
    "broke at 11, fixed at 15: run 15 / 16",
    "4 solved at 11: run 11 / 12",
    "1 broke at 11: run 21",
)


def row(suites: Suites, count: int, odds: float = 10.0) -> Iterator[str]:
    """Yield the cells of a row; *odds*: refuse from so many on."""

    def refused(
        seed: int, first: int, last: int, of: Suites
    ) -> npt.NDArray[np.float64]:
        """Share of suites refused in each run from *first* to *last*."""
        con = warehouse()
        runs = range(first, last + 1)
        fill(con, of.draw(np.random.default_rng(seed), count, last + 1), runs)
        found = judge(con, odds).is_refused
        return 100 * np.array(
            [np.mean([found.get((s, r), False) for s in range(count)]) for r in runs]
        )

    null = refused(1, 1, 15, suites)
    yield _cell([null[0:4].mean(), null[4:9].mean(), null[9:].mean()], 1)
    one = replace(suites, broken=1)
    yield _cell(refused(2, 10, 12, replace(one, at=10)))
    yield _cell(refused(2, 1, 4, replace(one, at=1)))
    yield _cell(refused(3, 10, 12, replace(suites, broken=3, at=10)))
    yield _cell(refused(4, 10, 12, replace(suites, slip=0.08, at=10)))
    yield _cell(refused(5, 14, 15, replace(one, at=10, until=14)), 1)
    yield _cell(refused(10, 10, 11, replace(suites, solved=4, at=10)), 1)
    yield _cell(refused(6, 20, 20, replace(one, at=10)))


def _cell(shares: Sequence[float] | npt.NDArray[np.float64], digits: int = 0) -> str:
    return "/".join(f"{share:.{digits}f}" for share in shares)


def _label(suites: Suites) -> str:
    known = Suites(suites.cases, suites.rounds, suites.flaky)
    more = [
        f"{name.replace('_', ' ')} {getattr(suites, name)}"
        for name in ("variants", "stable", "run_spread", "copies", "missing")
        if getattr(suites, name) != getattr(known, name)
    ]
    size = f"{suites.cases} × {suites.rounds}, {suites.flaky:.0%} flaky"
    return ", ".join([size, *more])


def main(words: Sequence[str]) -> None:
    """Print the table, and what other limits of the odds give."""
    count = 20 if "--quick" in words else 100
    rows = ROWS[:3] if "--quick" in words else ROWS
    print(f"| suite | {' | '.join(COLUMNS)} |")  # noqa: T201
    print("|" + " --- |" * (len(COLUMNS) + 1))  # noqa: T201
    for suites in rows:
        cells = " | ".join(row(suites, count))
        print(f"| {_label(suites)} | {cells} |", flush=True)  # noqa: T201
    for odds in (5.0, 20.0):
        print(f"\nrefuse_odds = {odds:.0f}")  # noqa: T201
        for suites in rows[:3]:
            first_cells = list(row(suites, count, odds))[:2]
            print(f"{_label(suites)}: {', '.join(cells)}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
