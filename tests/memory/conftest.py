"""One warehouse of made-up memory runs, built once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import duckdb
import pytest

from promptlab.warehouse import Warehouse
from tests.conftest import shared_once
from tests.memory.runs import Runs, write_runs

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"

Query = Callable[[str, Collection[str]], list[dict[str, Any]]]


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Runs]:
    """A warehouse of made-up runs, and they; open it read-only."""

    def make(folder: Path) -> None:
        write_runs(folder / "in")
        warehouse = Warehouse(folder / "memory.duckdb")
        assert warehouse.ingest(folder / "in").n_rejected == 0
        warehouse.build()

    db = shared_once(tmp_path_factory, "memory", make) / "memory.duckdb"
    return db, write_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def made_up(
    written: tuple[Path, Runs], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Runs]:
    """The same with the real ones, where they are at hand."""
    if not (SHARED / "memory").is_dir():
        return written
    db = shutil.copy(written[0], tmp_path_factory.mktemp("real") / "memory.duckdb")
    warehouse = Warehouse(db)
    assert warehouse.ingest(SHARED / "memory").n_rejected == 0
    warehouse.build()
    return Path(db), written[1]


@pytest.fixture(scope="session")
def runs(made_up) -> Runs:
    return made_up[1]


@pytest.fixture(scope="session")
def query(made_up) -> Query:
    """Rows of a mart of some runs, each a dict."""

    def run(mart: str, runs: Collection[str]) -> list[dict[str, Any]]:
        with duckdb.connect(str(made_up[0]), read_only=True) as con:
            found = con.execute(
                f"select * from marts.{mart} where list_contains(?, run_id)",
                [list(runs)],
            )
            names = [column[0] for column in found.description]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    return run
