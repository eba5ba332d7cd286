"""Faults for real: child processes that are killed, starved of disk, or in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import duckdb

from promptlab import relations
from promptlab.contracts.analysis_input import AnalysisInput
from tests.ingest.test_load import task, write

FULL = bool(os.environ.get("PROMPTLAB_FAULTS"))
"""All rounds of every fault (`make faults`), not only as many as a test run needs."""

# Batches of a few files: so that there are transactions to die between.
_COMMAND = """
import sys
from promptlab.ingest import load
from promptlab.cli import run_cli
load.BATCH_FILES = 7
sys.exit(run_cli(sys.argv[1:]))
"""

# times, and which call read a file: these differ from run to run
_TIMES = {
    "started_at",
    "finished_at",
    "applied_at",
    "built_at",
    "invocation_id",
    "ingest_id",
}


def start(*args: object, **options: object) -> subprocess.Popen:
    """A promptlab command in a child process."""
    return subprocess.Popen(
        [sys.executable, "-c", _COMMAND, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finish(child: subprocess.Popen) -> tuple[int, str, str]:
    """Exit code and both streams."""
    out, err = child.communicate(timeout=300)
    return child.returncode, out, err


def write_many(folder: Path, files: int, cases: int) -> Path:
    """So many tasks of so many cases; each file says what its rounds are."""
    for n in range(files):
        document = task(f"t{n:03}", f"answer {n}", cases)
        document["task"]["created_at"] = f"2026-01-{n % 28 + 1:02}T00:00:00Z"
        AnalysisInput.model_validate(document)
        write(folder / f"t{n:03}.json", document)
    return folder


def contents(db: Path, schemas: Sequence[str] = ("raw", "marts")) -> dict[str, list]:
    """Return the rows of each table, sorted, without what differs from run to run."""
    with duckdb.connect(str(db), read_only=True) as con:
        con.execute("set TimeZone = 'UTC'")
        found = {}
        for table in relations.tables_of(con, *schemas):
            columns = [f'"{c}"' for c in table.columns if c not in _TIMES]
            found[str(table)] = con.execute(
                f"select {', '.join(columns)} from {table.sql} order by all"
            ).fetchall()
        return found
