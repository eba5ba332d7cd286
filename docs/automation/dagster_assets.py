"""The marts as one Dagster asset; the gate as a check of it."""

import os
from pathlib import Path

from dagster import AssetCheckResult, MaterializeResult, asset, asset_check

from promptlab import Warehouse

HOME = Path(os.environ.get("PROMPTLAB_HOME", "."))


@asset
def marts() -> MaterializeResult:
    """Load the results of the folder and compute every mart."""
    warehouse = Warehouse(HOME / "promptlab.duckdb")
    warehouse.ingest(HOME / "results")
    warehouse.build()
    return MaterializeResult(metadata={"results": warehouse.runs().height})


@asset_check(asset=marts)
def may_ship() -> AssetCheckResult:
    """Ask the gate whether every result of the newest load may ship."""
    decisions = Warehouse(HOME / "promptlab.duckdb").gate("latest")
    return AssetCheckResult(
        passed=all(each.decision in ("ship", "first_run") for each in decisions),
        metadata={each.title: each.headline for each in decisions},
    )
