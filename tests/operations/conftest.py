"""A built warehouse in which a canary sits wherever a person's text can sit."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from promptlab import copies, relations
from promptlab.cli import run_cli
from promptlab.ingest.raw.requests import accept
from promptlab.warehouse import Warehouse
from tests.conftest import shared_once
from tests.history.runs import Run, even
from tests.ingest.test_load import task, write
from tests.memory.runs import made_up

CANARY = "kanarie-7f3a9c"
DOOMED = f"doomed-{CANARY}"
LONE = f"lone-{CANARY}"
DOOMED_RUN = "locomo/250101_0900"


def runs() -> list[Run]:
    """`doomed` is the baseline of `after`, which is worse; `lone` has its own title."""
    said = {"c0": {"raw_output": f"my name is {CANARY}", "metadata": {"who": CANARY}}}
    return [
        Run("first", "shared", 1, {"quality": even(0.5, 8)}),
        Run(
            DOOMED,
            "shared",
            2,
            {"quality": even(0.9, 8)},
            rounds=said,
            context={"c0": {"question": CANARY}},
            tags={"c0": [CANARY]},
        ),
        Run("after", "shared", 3, {"quality": even(0.3, 8)}),
        Run(LONE, f"title {CANARY}", 4, {"quality": even(0.9, 2)}, rounds=said),
        Run("other", "other", 5, {"quality": even(0.8, 2)}),
    ]


def write_files(folder: Path) -> None:
    """Everything that the warehouse is loaded from."""
    for run in runs():
        run.write(folder / "runs")
    # one file with the scores of two tasks, and a record of each that cannot be used
    doomed, after = runs()[1], runs()[2]
    shared = [
        *(record | {"scorer": "second"} for record in doomed.judgements()),
        *(record | {"scorer": "second"} for record in after.judgements()),
        {"task_id": DOOMED, "case_id": CANARY, "score": "high"},
        {"task_id": "after", "case_id": "kept-reject", "score": "high"},
    ]
    lines = "\n".join(json.dumps(record) for record in shared)
    (folder / "both.scores.jsonl").write_text(lines, "utf-8")
    for run_id in (DOOMED_RUN, "locomo/250102_0900"):
        document = made_up(random.Random(1), "locomo", "conv-26")
        if run_id == DOOMED_RUN:
            answers = document["test_results"][0]["questions"]
            answers[0]["predicted_answer"] = f"it was {CANARY}"
        whose = CANARY if run_id == DOOMED_RUN else "others"
        path = folder / ".sage" / whose / run_id / "conv-26.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(document, ensure_ascii=False), "utf-8")


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = shared_once(
        tmp_path_factory, "operations_files", lambda folder: write_files(folder / "in")
    )
    return folder / "in"


@pytest.fixture(scope="session")
def built(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse, without compression, so that texts can be found as bytes."""

    def make(folder: Path) -> None:
        warehouse = Warehouse(folder / "w.duckdb")
        # an earlier version from another path, with a record that was rejected
        earlier = runs()[1].document()
        earlier["cases"].append({"case_id": CANARY, "rounds": CANARY})
        path = folder / f"earlier-{CANARY}.json"
        path.write_text(json.dumps(earlier), "utf-8")
        warehouse.ingest(path)
        warehouse.ingest(files)
        warehouse.build()
        with warehouse.writable() as con:
            accept(con, {DOOMED: [CANARY], "after": ["c1"]}, "as it should be")
            con.execute(
                "insert into raw.requested_comparisons values ($1, 'after', now())",
                [DOOMED],
            )
            con.execute("set force_compression = 'uncompressed'")
            con.execute("checkpoint")
            copies.write_copy(con, warehouse.settings.db)

    return shared_once(tmp_path_factory, "operations", make) / "w.duckdb"


@pytest.fixture(scope="session")
def small_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built warehouse of one task and of a file that was rejected; tests copy it."""

    def make(folder: Path) -> None:
        write(folder / "in" / "task.json", task("t1", cases=2))
        write(folder / "in" / "bad.json", {"task": {}, "cases": 1})
        warehouse = Warehouse(folder / "w.duckdb")
        warehouse.ingest(folder / "in")
        warehouse.build()

    return shared_once(tmp_path_factory, "small", make) / "w.duckdb"


@pytest.fixture
def writable_small_db(small_db: Path, tmp_path: Path) -> Path:
    """A copy of it for one test."""
    return Path(shutil.copy(small_db, tmp_path / "copy.duckdb"))


@pytest.fixture
def warehouse(built: Path, tmp_path: Path) -> Warehouse:
    """A copy for one test, alone in its folder."""
    folder = tmp_path / "db"
    folder.mkdir()
    return Warehouse(shutil.copy(built, folder / "w.duckdb"))


@pytest.fixture
def run(capsys, monkeypatch, tmp_path) -> Callable[..., tuple[int, str, str]]:
    """Run a command in an empty folder: ``run("purge", …) -> (code, out, err)``."""
    monkeypatch.chdir(tmp_path)

    def call(*args: object) -> tuple[int, str, str]:
        code = run_cli([str(arg) for arg in args])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def contents(db: Path, *schemas: str) -> dict[str, list[tuple]]:
    """Every row of every table, in an order that does not depend on how it got there."""
    with duckdb.connect(str(db), read_only=True) as con:
        con.execute("set TimeZone = 'UTC'")
        return {
            str(table): con.execute(f"from {table.sql} order by all").fetchall()
            for table in relations.tables_of(con, *schemas)
        }
