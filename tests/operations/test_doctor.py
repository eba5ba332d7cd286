"""The doctor: each fault is named, with one fix; damage of the file is found."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
from pathlib import Path

import duckdb
import pytest

from promptlab.ingest.raw import SCHEMA_VERSION
from promptlab.operations.health import Finding, examine
from promptlab.warehouse import Warehouse
from tests.marts import from_nothing


def findings(db: Path) -> dict[str, Finding]:
    return {finding.name: finding for finding in examine(Warehouse(db))}


def test_a_sound_warehouse_is_ok_line_by_line(built):
    bad = [f.name for f in findings(built).values() if f.state != "ok"]
    # the baseline was named and the pair asked for after the build
    assert bad == ["every file and record was loaded"]  # two have bad records


def test_versions_size_and_row_counts_are_reported(run, built):
    code, out, _ = run("doctor", "--db", built, "--format", "json")
    assert code == 0
    lines = {row["name"]: row for row in json.loads(out)}
    assert lines["duckdb"]["value"] == duckdb.__version__
    assert int(lines["bytes"]["value"]) == built.stat().st_size
    assert lines["raw.tasks"]["value"] == "6"  # one has two versions
    assert lines["do not count"]["value"].startswith("18, ")
    assert lines["marts.dim_tasks"]["value"] == "7"  # two are memory runs
    assert lines["write-ahead log"]["value"] == "none"
    assert lines["schema version"]["value"] == str(SCHEMA_VERSION)


def test_csv_has_a_line_for_each_finding(run, built):
    _, out, _ = run("doctor", "--db", built, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert set(rows[0]) == {"what", "name", "state", "value", "fix"}
    assert len(rows) == len(findings(built)) > 80


@pytest.mark.parametrize(
    ("sql", "name", "state", "value"),
    [
        (
            "delete from raw.tasks where task_id = 'first'",
            "every round has its task and case",
            "fail",
            "1: first",
        ),
        (
            "update live.tasks set created_at = current_timestamp + interval 2 day"
            " where task_id = 'first'",
            "no run is dated after today",
            "warn",
            "1: first",
        ),
        (
            "delete from live.tasks where task_id = 'first'",
            "every score has its task",
            "warn",
            "1: first",
        ),
        (
            "insert into raw.scores by name select * replace ('r9' as round_id)"
            " from raw.scores where task_id = 'first' limit 1",
            "every score of a task has its round",
            "warn",
            "1: first c0 r9",
        ),
        (
            "insert into raw.expectations select 1, 'ts', 'c9', 1, 'final', null, 'f',"
            " 0, '$', '/', 'text', '\"x\"', null, null, null, null, null, 0",
            "every expectation has its test case",
            "fail",
            "1: ts",
        ),
        (
            "delete from raw.memory_runs where run_id = 'locomo/250102_0900'",
            "every memory answer has its run",
            "fail",
            "1: locomo/250102_0900",
        ),
        (
            "update raw.loads set status = 'skipped' where source_name = 'runs/first'",
            "every task belongs to a load",
            "fail",
            "1: first",
        ),
        (
            "update raw.loads set rows_loaded = 99 where source_name = 'runs/first'",
            "every load has as many records as it says",
            "fail",
            "1: runs/first",
        ),
        (
            "insert into raw.loads by name select * replace (1000 as load_id, 'skipped'"
            " as status) from raw.loads limit 1",
            "the last build saw the newest load",
            "warn",
            "1: 1000",
        ),
        (
            "delete from raw.task_builds where task_id = 'first'",
            "every task is built as it is",
            "warn",
            "1: first",
        ),
        (
            "delete from marts.fct_rounds where task_id = 'first' and case_id = 'c0'",
            "every round is in fct_rounds",
            "fail",
            "1: first",
        ),
        (
            "insert into marts.fct_task_summaries"
            " from marts.fct_task_summaries where task_id = 'first'",
            "every task has one summary",
            "fail",
            "1: first",
        ),
        (
            "insert into marts.fct_case_results"
            " from marts.fct_case_results where task_id = 'first' and case_id = 'c1'",
            "every case has one status",
            "fail",
            "1: first c1",
        ),
        (
            "delete from intermediate.int_memory_answers_scored where run_id = 'locomo/250102_0900'"
            " and test_index = 1",
            "every memory answer is in fct_memory_answers",
            "fail",
            "1: locomo/250102_0900",
        ),
    ],
)
def test_a_fault_is_named_with_a_fix(run, warehouse, sql, name, state, value):
    db = warehouse.settings.db
    with duckdb.connect(str(db)) as con:
        con.execute(sql)
    code, out, _ = run("doctor", "--db", db, "--format", "json")
    lines = {line["name"]: line for line in json.loads(out)}
    assert (lines[name]["state"], lines[name]["value"]) == (state, value)
    assert lines[name]["fix"]
    states = {line["state"] for line in lines.values()}
    assert code == (70 if "fail" in states else 0)


def test_a_file_that_is_not_there_yet_is_a_warning(tmp_path):
    found = findings(tmp_path / "w.duckdb")["warehouse"]
    assert (found.state, found.fix) == (
        "warn",
        f"`promptlab run PATH --db {tmp_path / 'w.duckdb'}` makes it",
    )


@from_nothing()
def test_before_the_first_build_that_is_reported(tmp_path):
    warehouse = Warehouse(tmp_path / "w.duckdb")
    with warehouse.writable():
        pass
    found = findings(warehouse.settings.db)["last build"]
    assert (found.state, found.fix) == ("warn", "`promptlab build`")


@pytest.mark.parametrize("share", [0.0, 0.0001, 0.3, 0.6, 0.9, 0.999])
def test_a_truncated_file_is_found(run, built, tmp_path, share):
    db = shutil.copy(built, tmp_path / "w.duckdb")
    with db.open("r+b") as file:
        file.truncate(int(built.stat().st_size * share))
    code, out, err = run("doctor", "--db", db, "--format", "json")
    assert code == 70, out
    failed = [row for row in json.loads(out) if row["state"] == "fail"]
    assert failed
    assert all("backup" in row["fix"] for row in failed)
    assert "Traceback" not in err


def _used_blocks(db: Path) -> list[int]:
    """Offsets of blocks that hold data of a table; 3 headers of 4 KiB come first."""
    with duckdb.connect(str(db), read_only=True) as con:
        size = con.execute("select block_size from pragma_database_size()").fetchone()[
            0
        ]
        blocks: set[int] = set()
        for (name,) in con.execute(
            "select schema_name || '.' || table_name from duckdb_tables()"
        ).fetchall():
            blocks |= {
                row[0]
                for row in con.execute(
                    f"select block_id from pragma_storage_info('{name}')"
                    " where persistent and block_id >= 0"
                ).fetchall()
            }
    return [3 * 4096 + block * size for block in sorted(blocks)]


@pytest.mark.parametrize("seed", range(5))
def test_a_flipped_bit_in_a_block_of_data_is_found(run, built, tmp_path, seed):
    chance = random.Random(seed)
    db = shutil.copy(built, tmp_path / "w.duckdb")
    # behind the block's checksum, in the part that a small table fills
    place = chance.choice(_used_blocks(built)) + 8 + chance.randrange(64)
    with db.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1 << chance.randrange(8)]))
    code, out, err = run("doctor", "--db", db, "--format", "json")
    assert code == 70, out
    failed = [row for row in json.loads(out) if row["state"] == "fail"]
    assert "checksum" in str(failed).lower() or "corrupt" in str(failed).lower()
    assert all("backup" in row["fix"] for row in failed)
    assert "Traceback" not in err


def test_other_commands_name_a_damaged_file_as_such(run, built, tmp_path):
    db = shutil.copy(built, tmp_path / "w.duckdb")
    with db.open("r+b") as file:
        for place in _used_blocks(built):
            file.seek(place + 20)
            file.write(b"\xff")
    code, _, err = run("runs", "--db", db)
    assert code == 70
    assert "the file is damaged" in err
    assert "promptlab doctor" in err


def test_a_file_whose_catalogue_is_damaged_is_not_taken_for_a_locked_one(
    run, built, tmp_path
):
    """DuckDB names the block, a word that ends in `lock`."""
    db = shutil.copy(built, tmp_path / "w.duckdb")
    with db.open("r+b") as file:
        for place in range(3 * 4096 + 20, db.stat().st_size, 4096):
            file.seek(place)
            file.write(b"\xff" * 64)
    for command in ("doctor", "runs"):
        code, out, err = run(command, "--db", db, "--lock-timeout", "5")
        assert code == 70
        assert "the file is damaged" in " ".join((out + err).split())
