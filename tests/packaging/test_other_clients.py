"""A dashboard or notebook with another DuckDB reads what this one wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from promptlab.warehouse import Warehouse
from tests.marts import from_nothing

# Every table and view of a file: how many rows, and a digest of what they say.
READ_ALL = """
import hashlib, json, sys, duckdb
con = duckdb.connect(sys.argv[1], read_only=True)
con.execute("set TimeZone = 'UTC'")
relations = con.execute('''
    select schema_name, table_name from duckdb_tables() union all
    select schema_name, view_name from duckdb_views() where not internal
''').fetchall()
found = {}
for schema, name in relations:
    rows = con.execute(f'select * from "{schema}"."{name}"').fetchall()
    said = "\\n".join(sorted(map(repr, rows)))
    found[f"{schema}.{name}"] = [len(rows), hashlib.md5(said.encode()).hexdigest()]
print(json.dumps([duckdb.__version__, found]))
"""


@pytest.fixture(scope="module", params=["1.3.2"])
def other_client(request, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with that version of the client."""
    folder = tmp_path_factory.mktemp("client")
    wanted = f"duckdb=={request.param}"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    done = subprocess.run(
        [*pip, "--disable-pip-version-check", "--target", str(folder), wanted],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["pip failed"]
        pytest.skip(f"no {wanted} from the package index: {said[-1]}")
    return folder


def read_all(db: Path, client: Path | None = None) -> tuple[str, dict]:
    """The version that reads, and what it finds."""
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL, str(db)],
        env=os.environ | ({"PYTHONPATH": str(client)} if client else {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    version, found = json.loads(done.stdout)
    return version, found


@pytest.mark.slow
def test_an_older_client_reads_every_table_and_view(example_db, other_client):
    ours, written = read_all(example_db)
    theirs, read = read_all(example_db, other_client)
    assert theirs.startswith("1.") and not ours.startswith("1.")
    assert "marts.fct_case_history" in written  # views too
    assert read == written


@from_nothing()
def test_a_file_for_a_large_load_has_large_blocks(tmp_path, monkeypatch):
    """They make it smaller and quicker; a small one would be mostly empty."""
    monkeypatch.setattr("promptlab.copies._LARGE_FILE", 1000)
    (tmp_path / "one.jsonl").write_text('{"id": "a", "inputs": {}}\n', "utf-8")
    (tmp_path / "many.jsonl").write_text('{"id": "a", "inputs": {}}\n' * 100, "utf-8")
    assert block_size(tmp_path / "one.jsonl") < block_size(tmp_path / "many.jsonl")


def block_size(file: Path) -> int:
    """Of a warehouse that begins with this file."""
    warehouse = Warehouse(file.with_suffix(".duckdb"))
    warehouse.ingest(file)
    with warehouse.connect() as con:
        (size,) = con.execute(
            "select block_size from pragma_database_size()"
        ).fetchall()
    return size[0]
