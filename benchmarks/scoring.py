"""Scoring inside `dbt build`: its share of the time, and how it grows with the rounds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.generate import analysis_inputs
from benchmarks.history import timed
from benchmarks.measure import Ratio
from promptlab.paths import dbt_target
from promptlab.warehouse import Warehouse

SMALL, LARGE = 20_000, 200_000

_BUILD = """
import sys, time
from promptlab.build import call_dbt
from promptlab.warehouse import Warehouse
started = time.perf_counter()
call_dbt(Warehouse(sys.argv[1]), ["build", "--write-json"])
print(time.perf_counter() - started)
"""


def scoring_share(folder: Path) -> Ratio:
    """Seconds of the scoring models, against those of all models of the build."""
    build = _build(folder, LARGE)
    return Ratio(
        name=f"scoring models, {LARGE:,} rounds, 6 dimensions",
        peer="all models of the build",
        seconds=build["scoring"],
        peer_seconds=build["all"],
        peak_mb=build["peak_mb"],
        ratio=build["scoring"] / build["all"],
        limit=None,
        note="slowest: "
        + ", ".join(
            f"{name} {taken:.2f} s" for name, taken in build["slowest"].items()
        ),
    )


def scoring_growth(folder: Path) -> Ratio:
    """Ten times the rounds, against ten times the seconds of the smaller build."""
    small, large = _build(folder, SMALL), _build(folder, LARGE)
    ten_small = small["scoring"] * LARGE / SMALL
    return Ratio(
        name=f"scoring models, {LARGE:,} rounds",
        peer=f"{LARGE // SMALL} × the same for {SMALL:,} rounds",
        seconds=large["scoring"],
        peer_seconds=ten_small,
        peak_mb=large["peak_mb"],
        ratio=large["scoring"] / ten_small,
        limit=1.0,
        note=f"the build: {large['wall']:.0f} s, {small['wall']:.0f} s",
    )


def _build(folder: Path, rounds: int) -> Mapping[str, Any]:
    """Build once; seconds by group of models, and the peak memory of the process."""
    figures = folder / f"scoring-{rounds}.json"
    if not figures.exists():
        inputs = folder / f"scoring-{rounds}"
        analysis_inputs(inputs, rounds=rounds, files=rounds // 10_000)
        db = folder / f"scoring-{rounds}.duckdb"
        Warehouse(db).ingest(inputs)
        build = timed(_BUILD, db)
        seconds = _seconds_by_model(dbt_target(db))
        scoring = {n: taken for n, taken in seconds.items() if "/scoring/" in n}
        slowest = sorted(scoring, key=scoring.__getitem__, reverse=True)[:3]
        figures.write_text(
            json.dumps(
                {
                    "scoring": sum(scoring.values()),
                    "all": sum(seconds.values()),
                    "slowest": {Path(n).stem: scoring[n] for n in slowest},
                    "wall": build.seconds,
                    "peak_mb": build.peak_mb,
                }
            ),
            "utf-8",
        )
    found: dict[str, Any] = json.loads(figures.read_text("utf-8"))
    return found


def _seconds_by_model(target: Path) -> dict[str, float]:
    """Seconds of each model of the last build, by the path of its file."""
    results = json.loads((target / "run_results.json").read_text("utf-8"))["results"]
    nodes = json.loads((target / "manifest.json").read_text("utf-8"))["nodes"]
    return {
        nodes[node["unique_id"]]["path"]: node["execution_time"]
        for node in results
        if node["unique_id"].startswith("model.")
    }


BENCHMARKS = (scoring_share, scoring_growth)
