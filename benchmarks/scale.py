"""Years of nightly runs: the first load as it grows, one more night, the answers after."""

from __future__ import annotations

import csv
import os
import shutil
import sys
from functools import cache
from pathlib import Path

import duckdb

from benchmarks.generate import analysis_inputs, testset
from benchmarks.measure import Ratio, Sample, compare, run

ROOT = Path(__file__).resolve().parents[1]
PROMPTLAB = [sys.executable, "-m", "promptlab"]
BY_HAND = [sys.executable, str(Path(__file__).with_name("by_hand.py"))]

SMALL, MIDDLE, LARGE = 10_000, 100_000, 1_000_000
ROUNDS_PER_TASK = 1_000
ROUNDS_PER_CASE = 5


def first_load_100k(folder: Path) -> Ratio:
    """Ten times the rounds, against ten times the seconds."""
    return _growth(folder, SMALL, MIDDLE)


def first_load_1m(folder: Path) -> Ratio:
    """The same once more."""
    return _growth(folder, MIDDLE, LARGE)


def one_more_night(folder: Path) -> Ratio:
    """A task more in a warehouse of a million rounds, against the first in an empty one."""
    return compare(
        f"{ROUNDS_PER_TASK:,} rounds more after {LARGE:,}: ingest + build",
        lambda: _night(folder, LARGE),
        f"the same {ROUNDS_PER_TASK:,} rounds into an empty warehouse",
        lambda: _night(folder, 0),
        runs=3,
        limit=1.5,
    )


def one_more_night_by_hand(folder: Path) -> Ratio:
    """The same night, against the script that judges everything again."""
    _warehouse(folder, LARGE)
    return compare(
        f"{ROUNDS_PER_TASK:,} rounds more after {LARGE:,}: ingest + build",
        lambda: _night(folder, LARGE),
        "pandas and a loop over all of them",
        lambda: _by_hand(folder, _inputs(folder, LARGE)),
        runs=1,
        limit=0.1,
    )


def first_load_by_hand(folder: Path, rounds: int = 200_000) -> Ratio:
    """The first load of everything, against that script; the verdicts are the same."""
    inputs = _inputs(folder, rounds)
    db = folder / "first.duckdb"
    ratio = compare(
        f"{rounds:,} rounds from nothing: ingest + build",
        lambda: _load(db, inputs),
        "pandas and a loop",
        lambda: _by_hand(folder, inputs),
        runs=1,
        limit=1.0,
    )
    _check_verdicts(db, folder / "by_hand" / "rounds.csv", rounds)
    return ratio


def runs_of_1m(folder: Path) -> Ratio:
    """`promptlab runs` of a thousand tasks, against that of the four examples."""
    return _answer(folder, "runs", "--limit", "20")


def show_of_1m(folder: Path) -> Ratio:
    """`promptlab show` of one task."""
    return _answer(folder, "show", task="bench-0999", example="cs-regression-v3.1")


def query_of_1m(folder: Path) -> Ratio:
    """`promptlab query` over every summary."""
    return _answer(
        folder,
        "query",
        "select grade, count(*) from marts.fct_task_summaries group by 1",
    )


BENCHMARKS = (
    first_load_100k,
    first_load_1m,
    first_load_by_hand,
    one_more_night,
    one_more_night_by_hand,
    runs_of_1m,
    show_of_1m,
    query_of_1m,
)


def _growth(folder: Path, small: int, large: int) -> Ratio:
    (_, before), (db, after) = _warehouse(folder, small), _warehouse(folder, large)
    factor = large // small
    return Ratio(
        name=f"{large:,} rounds from nothing: ingest + build",
        peer=f"{factor} × that of {small:,}",
        seconds=after.seconds,
        peer_seconds=factor * before.seconds,
        peak_mb=after.peak_mb,
        ratio=after.seconds / before.seconds / factor,
        limit=1.0,
        note=f"{db.stat().st_size / large:,.0f} bytes of file a round",
    )


@cache
def _inputs(folder: Path, rounds: int) -> Path:
    inputs = folder / f"scale-{rounds}"
    analysis_inputs(
        inputs,
        rounds=rounds,
        files=rounds // ROUNDS_PER_TASK,
        rounds_per_case=ROUNDS_PER_CASE,
    )
    return inputs


@cache
def _warehouse(folder: Path, rounds: int) -> tuple[Path, Sample]:
    db = folder / f"scale-{rounds}.duckdb"
    return db, _load(db, _inputs(folder, rounds))


def _load(db: Path, inputs: Path) -> Sample:
    db.unlink(missing_ok=True)
    cases = testset(db.parent / "testset", cases=ROUNDS_PER_TASK // ROUNDS_PER_CASE)
    return _both(
        run(
            [*PROMPTLAB, "ingest", str(cases), str(inputs), "--quiet", "--db", str(db)]
        ),
        run([*PROMPTLAB, "build", "--quiet", "--db", str(db)]),
    )


def _night(folder: Path, rounds: int) -> Sample:
    """One more task, after ``rounds``; the copy of the warehouse is not counted."""
    db = folder / f"night-{rounds}.duckdb"
    new = folder / "scale-new"
    if not new.exists():
        # the number after the last: a separate task
        every = analysis_inputs(new, rounds=ROUNDS_PER_TASK, files=1)
        every[0].write_text(
            every[0].read_text("utf-8").replace("bench-0000", "bench-new"), "utf-8"
        )
    if rounds == 0:
        return _load(db, new)
    shutil.copy(_warehouse(folder, rounds)[0], db)
    os.sync()
    return _both(
        run([*PROMPTLAB, "ingest", str(new), "--quiet", "--db", str(db)]),
        run([*PROMPTLAB, "build", "--quiet", "--db", str(db)]),
    )


def _by_hand(folder: Path, inputs: Path) -> Sample:
    out = folder / "by_hand"
    out.mkdir(exist_ok=True)
    cases = testset(folder / "testset", cases=ROUNDS_PER_TASK // ROUNDS_PER_CASE)
    return run([*BY_HAND, str(inputs), str(cases), str(out)])


def _check_verdicts(db: Path, by_hand: Path, rounds: int) -> None:
    """See that both said the same of every round."""
    with duckdb.connect(str(db), read_only=True) as con:
        ours = {
            row[:3]: row[3]
            for row in con.execute(
                "select task_id, case_id, round_id, status from marts.fct_match_results"
                " where scope = 'final'"
            ).fetchall()
        }
    with by_hand.open(encoding="utf-8") as file:
        theirs = {
            (row["task_id"], row["case_id"], row["round_id"]): row["passed"]
            for row in csv.DictReader(file)
        }
    verdicts = {
        key: "pass" if passed == "True" else "fail" for key, passed in theirs.items()
    }
    if len(ours) != rounds or ours != verdicts:
        raise RuntimeError("the script and the warehouse do not agree")


def _answer(folder: Path, *command: str, task: str = "", example: str = "") -> Ratio:
    """Time a command on a large warehouse and on the examples, or on a task of each."""
    large, _ = _warehouse(folder, LARGE)
    small = folder / "examples.duckdb"
    if not small.exists():
        run([*PROMPTLAB, "run", str(ROOT / "examples"), "--quiet",
             "--db", str(small), "--out", str(folder / "examples-out")])  # fmt: skip

    def ask(db: Path, task: str) -> Sample:
        of_task = [task] if task else []
        return run([*PROMPTLAB, *command, *of_task, "--db", str(db)])

    return compare(
        f"`promptlab {command[0]}` of {LARGE:,} rounds",
        lambda: ask(large, task),
        "the same of examples/",
        lambda: ask(small, example),
        runs=5,
        limit=1.5,
    )


def _both(first: Sample, second: Sample) -> Sample:
    return Sample(
        seconds=first.seconds + second.seconds,
        peak_mb=max(first.peak_mb, second.peak_mb),
        cpu=first.cpu + second.cpu,
    )
