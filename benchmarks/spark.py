"""Spark against DuckDB on one machine, and a small cluster against one process."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from benchmarks.generate import analysis_inputs
from benchmarks.matching import write_testset
from benchmarks.measure import Ratio, Sample, run
from tests.parity.surroundings import surroundings

ROUNDS, PER_CASE, FILES = 200_000, 5, 20
PROMPTLAB = [sys.executable, "-m", "promptlab"]
# what judging needs, and nothing after it
JUDGED = [
    "--select",
    "+fct_match_results",
    "--exclude-resource-types",
    "test",
    "unit_test",
]


def spark_against_duckdb(folder: Path) -> Ratio:
    """1,000,000 checks judged, from the same Parquet files; starting up counts."""
    db = folder / "parity.duckdb"
    db.unlink(missing_ok=True)
    duckdb = run([*PROMPTLAB, "dbt", "--quiet", "--raw", _raw(folder),
                  "--db", str(db), "build", *JUDGED])  # fmt: skip
    return _ratio("Spark local[2]", _spark(folder, "local"), "DuckDB", duckdb)


def cluster_against_one_process(folder: Path) -> Ratio:
    """A master and two workers of one core each, against two threads of one process."""
    return _ratio(
        "a master with two workers",
        _spark(folder, "cluster"),
        "Spark local[2]",
        _spark(folder, "local"),
    )


BENCHMARKS = (
    (spark_against_duckdb, cluster_against_one_process) if find_spec("pyspark") else ()
)


@cache
def _raw(folder: Path) -> str:
    inputs = folder / "spark-inputs"
    analysis_inputs(inputs, rounds=ROUNDS, files=FILES, rounds_per_case=PER_CASE)
    write_testset(inputs / "bench.jsonl", ROUNDS // FILES // PER_CASE)
    raw = f"parquet://{folder / 'spark-raw'}"
    run([*PROMPTLAB, "ingest", str(inputs), "--sink", raw, "--quiet"])
    return raw


@cache
def _spark(folder: Path, kind: str) -> Sample:
    where = folder / f"spark-{kind}"
    where.mkdir()
    before = dict(os.environ)
    try:
        with surroundings(kind, where):
            return run([*PROMPTLAB, "dbt", "--quiet", "--target", "spark_local",
                        "--raw", _raw(folder), "--db", str(where / "unused.duckdb"),
                        "build", *JUDGED])  # fmt: skip
    finally:
        os.environ.clear()
        os.environ.update(before)


def _ratio(name: str, one: Sample, peer: str, other: Sample) -> Ratio:
    return Ratio(
        name=f"1,000,000 checks judged on {name}",
        peer=peer,
        seconds=one.seconds,
        peer_seconds=other.seconds,
        peak_mb=one.peak_mb,
        ratio=one.seconds / other.seconds,
        limit=None,
    )
