"""One warehouse with a title for every situation, built once."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from promptlab.cli import run_cli
from promptlab.warehouse import Warehouse
from tests.conftest import made_once
from tests.history.runs import Run, even

PAIRED = (1, 2, 3, 5, 6, 12, 30, 31, 32, 33, 100, 401)
"""Sizes of the pairs with random scores; titles ``random <size>``."""

PASS_SCORE = {"quality": {"pass_score": 0.5}}
JUDGED = {"quality": {"pass_score": 0.01}}


def random_runs(size: int) -> list[Run]:
    """Two tasks of ``size`` cases: a graded, a two-valued and a patchy dimension.

    Three digits, so that weighing them leaves no tie for the rounding to six to break.
    """
    rng = random.Random(size)
    cases = [f"c{n}" for n in range(size)]
    tags = {c: [t for t in ("x", "y", "z") if rng.random() < 0.5] for c in cases}

    def scores(shift: float) -> dict[str, dict[str, float | None]]:
        return {
            "graded": {c: round(_clip(rng.gauss(0.6 + shift, 0.2)), 3) for c in cases},
            "binary": {c: float(rng.random() < 0.6 + shift) for c in cases},
            "patchy": {
                c: round(rng.random(), 3) if rng.random() < 0.7 else None for c in cases
            },
        }

    return [
        Run(
            task_id=f"random-{size}-{side}",
            title=f"random {size}",
            day=day,
            scores=scores(shift),
            weights={"graded": 0.5, "binary": 0.3, "patchy": 0.2},
            parameters={"binary": {"pass_score": 1}},
            tags=tags,
        )
        for side, day, shift in (("before", 1, 0.0), ("after", 2, 0.08))
    ]


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


def situations() -> list[Run]:
    """Titles of two tasks each, ``<title>-1`` and ``<title>-2``; ``lonely`` has one."""
    steady = {f"c{n}": 0.4 + n / 100 for n in range(8)}
    lower = {
        case: score - 0.25 - n / 200 for n, (case, score) in enumerate(steady.items())
    }
    rough = {c: (0.9 if n % 2 else 0.1) for n, c in enumerate(steady)}
    pairs: dict[str, tuple[Run, Run]] = {}

    def pair(title: str, before: dict, after: dict, **both: object) -> None:
        first = {k[:-2]: v for k, v in both.items() if k.endswith("_1")}
        second = {k[:-2]: v for k, v in both.items() if k.endswith("_2")}
        pairs[title] = (
            Run(f"{title}-1", title, 1, {"quality": before}, **first),  # type: ignore[arg-type]
            Run(f"{title}-2", title, 2, {"quality": after}, **second),  # type: ignore[arg-type]
        )

    pair("regressed", steady, lower)
    pair("improved", lower, steady, parameters_1=JUDGED, parameters_2=JUDGED)
    pair("unsure", steady, rough)
    pair("equal", even(0.5, 9), even(0.5, 9), parameters_1=JUDGED, parameters_2=JUDGED)
    pair("equal-but-few", even(0.5, 3), even(0.5, 3))
    pair("one-case", even(0.9, 1), even(0.1, 1))
    pair("strangers", even(0.5, 6, "old"), even(0.5, 6, "new"))
    pair("unscored", steady, dict.fromkeys(steady))
    pair(
        "rewritten", steady, lower, context_2={c: {"question": "other"} for c in steady}
    )
    pair("other-judge", steady, lower, judge_2="another critic")
    pair(
        "other-rules", steady, lower,
        parameters_1=PASS_SCORE, parameters_2={"quality": {"pass_score": 0.6}},
    )  # fmt: skip
    pair("must-lost", lower, steady, broken_musts_2=frozenset({"c3"}))
    pair(
        "grown", {**steady, "gone": 1.0}, {**steady, "new": 0.0},
        weights_1={"quality": 0.5},
    )  # fmt: skip
    pair(
        "tagged", steady, steady,
        parameters_1=PASS_SCORE, parameters_2=PASS_SCORE,
        tags_1={"c0": ["half"], "c2": ["half"]},
        tags_2={"c0": ["shaky"], "c1": ["shaky"], "c2": ["half"], "c7": ["solid"]},
        rounds_2={
            "c7": {"latency_ms": 500, "input_tokens": 100, "output_tokens": 20},
            "c6": {"latency_ms": 1500, "metadata": {"error": "timeout"}},
        },
    )  # fmt: skip
    pair(
        "broke", steady, {**steady, "c6": 0.3, "c7": 0.2, "c0": 0.9, "c1": 0.9},
        parameters_1={"quality": {"pass_score": 0.45}},
        parameters_2={"quality": {"pass_score": 0.45}},
        targets_2={"quality": {"min_score": 0.9}},
    )  # fmt: skip
    pair(
        "one-must-lost", steady, {**steady, "c6": 0.3, "c7": 0.2, "c0": 0.9},
        parameters_1={"quality": {"pass_score": 0.45}},
        parameters_2={"quality": {"pass_score": 0.45}},
        broken_musts_2=frozenset({"c5"}),
    )  # fmt: skip
    lonely = Run("lonely-1", "lonely", 3, {"quality": steady})
    return [lonely, *(run for both in pairs.values() for run in both)]


@pytest.fixture(scope="session")
def history_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse; every pair of the random titles is asked for backwards too."""

    def make(folder: Path) -> None:
        for size in PAIRED:
            for run in random_runs(size):
                run.write(folder / "in")
        for run in situations():
            run.write(folder / "in")
        warehouse = Warehouse(folder / "history.duckdb")
        warehouse.ingest(folder / "in")
        with warehouse.writable() as con:
            con.executemany(
                "insert into raw.requested_comparisons values (?, ?, ?)",
                [
                    (f"random-{size}-after", f"random-{size}-before", datetime.now(UTC))
                    for size in PAIRED
                ],
            )
        warehouse.build()

    return made_once(tmp_path_factory, "history", make) / "history.duckdb"


@pytest.fixture(scope="session")
def history_rows(history_db: Path) -> Callable[..., list[tuple]]:
    """Run a query on it: ``history_rows("select …", parameters)``."""

    def run(query: str, *parameters: object) -> list[tuple]:
        with duckdb.connect(str(history_db), read_only=True) as con:
            return con.execute(query, list(parameters) or None).fetchall()

    return run


@pytest.fixture
def cli(
    history_db: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Callable[..., tuple[int, str, str]]:
    """Run a command on it in an empty folder: ``cli("compare", …) -> code, out, err``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    def call(*args: object) -> tuple[int, str, str]:
        words = [str(arg) for arg in args]
        code = run_cli([words[0], "--db", str(history_db), *words[1:]])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
