"""Scoring inside `dbt build`: its share of the time, and how it grows with the rounds."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from promptlab.paths import dbt_target
from promptlab.pipeline import Warehouse
from tests.benchmarks.generate import analysis_inputs
from tests.benchmarks.measure import Ratio, run

SMALL, LARGE = 20_000, 200_000


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
    )


def _build(folder: Path, rounds: int) -> dict[str, float]:
    """Build once; seconds by group of models, and the peak memory of the process."""
    figures = folder / f"scoring-{rounds}.json"
    if not figures.exists():
        inputs = folder / f"scoring-{rounds}"
        analysis_inputs(inputs, rounds=rounds, files=rounds // 10_000)
        db = folder / f"scoring-{rounds}.duckdb"
        Warehouse(db).ingest(inputs)
        build = run([sys.executable, "-m", "promptlab", "build", "--db", str(db)])
        results = json.loads((dbt_target(db) / "run_results.json").read_text("utf-8"))
        manifest = json.loads((dbt_target(db) / "manifest.json").read_text("utf-8"))
        seconds = {
            node["unique_id"]: node["execution_time"]
            for node in results["results"]
            if node["unique_id"].startswith("model.")
        }
        scoring = sum(
            taken
            for name, taken in seconds.items()
            if "/scoring/" in manifest["nodes"][name]["path"]
        )
        figures.write_text(
            json.dumps(
                {
                    "scoring": scoring,
                    "all": sum(seconds.values()),
                    "peak_mb": build.peak_mb,
                }
            ),
            "utf-8",
        )
    found: dict[str, float] = json.loads(figures.read_text("utf-8"))
    return found


BENCHMARKS = (scoring_share, scoring_growth)
