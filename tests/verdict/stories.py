"""Stories of an evaluation, night by night, as counts; many are judged at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from benchmarks import verdict_suites as sql

Row = dict[str, Any]


@dataclass(frozen=True)
class Story:
    """Counts of (variant, case, run), and what people said of them."""

    x: npt.NDArray[np.int64]
    n: npt.NDArray[np.int64]
    x_again: npt.NDArray[np.int64]
    """Passes of re-checks."""
    n_again: npt.NDArray[np.int64]
    yardsticks: npt.NDArray[np.int64]
    """Numbers, an array of (case, run)."""
    branches: npt.NDArray[np.int64]
    """Number by run; 0 is the base branch."""
    accepted: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """Runs that a person accepted, and the cases whose history starts there."""
    known_flaky: tuple[int, ...] = ()
    outages: tuple[int, ...] = ()

    @property
    def n_runs(self) -> int:
        return int(self.n.shape[2])

    def without(self, *runs: int) -> Story:
        """Return the same as if these runs were purged."""
        changes = {}
        for name in ("x", "n", "x_again", "n_again"):
            changes[name] = getattr(self, name).copy()
            changes[name][:, :, list(runs)] = 0
        return replace(
            self,
            **changes,
            accepted=tuple(a for a in self.accepted if a[0] not in runs),
            outages=tuple(run for run in self.outages if run not in runs),
        )

    def with_counts(
        self, variant: int | slice, case: int, run: int, x: Any, n: Any = None
    ) -> Story:
        """Return the same with other counts in a cell."""
        both = {"x": self.x.copy(), "n": self.n.copy()}
        both["x"][variant, case, run] = x
        both["n"][variant, case, run] = self.n[variant, case, run] if n is None else n
        return replace(self, **both)


@dataclass(frozen=True)
class Answer:
    """What the marts say of a run."""

    variants: dict[int, Row]
    cases: dict[tuple[int, int], Row]
    gaps: list[Row] = field(default_factory=list)
    history: set[int] = field(default_factory=set)
    """Runs that it is compared with."""

    @property
    def odds(self) -> float | None:
        [odds] = {row["odds"] for row in self.variants.values()}
        return None if odds is None else float(odds)

    @property
    def is_accepted(self) -> bool:
        return all(row["is_accepted"] for row in self.variants.values())

    @property
    def has_odds(self) -> bool:
        """Whether the odds refuse the run."""
        return (self.odds or 0) >= 10

    @property
    def decision(self) -> str:
        """As the built-in policy decides, of all variants."""
        rows = list(self.variants.values())
        if self.is_accepted:
            return "ship"
        if self.has_odds or any(
            row["p_whole"] is not None and row["p_whole"] <= row["p_whole_limit"]
            for row in rows
        ):
            return "do_not_ship"
        if any(
            row["n_cases_compared"] < row["n_cases_before"]
            or not row["has_new_answers"]
            for row in rows
        ):
            return "cannot_tell"
        return "first_run" if all(row["is_first_run"] for row in rows) else "ship"

    @property
    def everything(self) -> tuple[Any, ...]:
        """All rows, without the names of the suite."""
        return self.variants, self.cases, self.gaps


def judge(
    con: duckdb.DuckDBPyConnection, stories: Sequence[Story], runs: Iterable[int]
) -> list[dict[int, Answer]]:
    """Judge stories of one shape; return the answers of each, by run.

    Runs in which nothing was asked have none.
    """
    sides = {
        name: np.stack([getattr(story, name) for story in stories], 1)
        for name in ("x", "n", "x_again", "n_again")
    }
    sql.fill(
        con,
        list(zip(sides["x"], sides["n"], strict=True)),
        list(runs),
        rechecks=list(zip(sides["x_again"], sides["n_again"], strict=True)),
        yardsticks=np.stack([story.yardsticks for story in stories]),
        branches=np.stack([story.branches for story in stories]),
        accepted=[(s, *a) for s, story in enumerate(stories) for a in story.accepted],
        known_flaky=[
            (s, c) for s, story in enumerate(stories) for c in story.known_flaky
        ],
        known_outages=[
            (s, r) for s, story in enumerate(stories) for r in story.outages
        ],
    )
    sql.judge(con)
    found: list[dict[int, Answer]] = [{} for _ in stories]
    for suite, run, variant, row in _rows(con, "fct_verdicts"):
        answer = found[suite].setdefault(run, Answer({}, {}))
        answer.variants[variant] = row
    for suite, run, variant, row in _rows(con, "fct_case_odds"):
        found[suite][run].cases[variant, int(row["case_id"][1:])] = row
    for suite, run, _, row in _rows(con, "fct_gaps order by task_id, reason"):
        found[suite][run].gaps.append(row)
    for suite, run, earlier in con.execute(_HISTORIES).fetchall():
        if run in found[suite]:  # not one that was only compared with
            found[suite][run].history.add(earlier)
    return found


_HISTORIES = """
select
    cast(split_part(run_id, '-', 1) as int),
    cast(split_part(run_id, '-', 2) as int),
    cast(split_part(earlier, '-', 2) as int)
from (
    select run_id, history_run_id from intermediate.int_run_histories
    union select run_id, last_run_id from intermediate.int_last_runs
) as histories (run_id, earlier)
where earlier is not null
"""


def _rows(
    con: duckdb.DuckDBPyConnection, table: str
) -> list[tuple[int, int, int, Row]]:
    query = con.execute(f"select {sql.KEYS}, * from marts.{table}")
    names = [column[0] for column in query.description or ()][3:]
    return [
        (suite, run, variant, dict(zip(names, map(_without_suite, row), strict=True)))
        for suite, run, variant, *row in query.fetchall()
    ]


_SUITE = re.compile(r"^s?\d+(-|$)")


def _without_suite(value: object) -> object:
    return _SUITE.sub("", value) if isinstance(value, str) else value
