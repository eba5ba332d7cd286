"""Judging 1,000,000 checks over 200,000 rounds, against bare extraction and Python."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from benchmarks.generate import SEED, analysis_inputs
from benchmarks.measure import Ratio, Sample, compare, python, run
from promptlab.build.dbt import run_dbt
from promptlab.paths import dbt_target
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse

ROUNDS, FILES, PER_CASE = 200_000, 20, 5

# What dbt runs for the model: its compiled query, into a table.
_JUDGE = """
import sys, duckdb
con = duckdb.connect(sys.argv[1])
con.execute("set enable_progress_bar = false")
con.execute("set TimeZone = 'UTC'")
con.execute("create or replace table judged as " + open(sys.argv[2]).read())
print(con.execute("select count(*) from judged").fetchone()[0])
"""

_EXTRACT = """
import sys, duckdb
con = duckdb.connect(sys.argv[1])
con.execute("set enable_progress_bar = false")
con.execute('''
    create or replace table extracted as
    select
        rounds.task_id, rounds.case_id, rounds.round_id, checks.check_no,
        json_extract(rounds.parsed_output, checks.pointer) as actual
    from raw.rounds as rounds
    inner join raw.expectations as checks on rounds.case_id = checks.case_id
''')
"""

_EVALUATE = """
import sys, duckdb, json
from promptlab.json_text.reading import parse_as_duckdb as parse_json
from promptlab.evaluator.matching import MatchOptions, compare
con = duckdb.connect(sys.argv[1], read_only=True)
con.execute("set enable_progress_bar = false")
expected = {c: parse_json(e) for c, e in con.execute(
    "select case_id, expected_outputs from raw.test_cases").fetchall()}
options = MatchOptions(tolerance=0.01)
for case_id, output in con.execute(
        "select case_id, parsed_output from raw.rounds").fetchall():
    compare(expected[case_id], parse_json(output), options)
"""


def _prepare(folder: Path) -> tuple[Path, Path]:
    """A warehouse with the rounds and their testset, and the compiled model."""
    db = folder / "matching.duckdb"
    settings = Settings(db=db)
    if not db.exists():
        inputs = folder / "matching"
        analysis_inputs(inputs, rounds=ROUNDS, files=FILES, rounds_per_case=PER_CASE)
        write_testset(inputs / "bench.jsonl", ROUNDS // FILES // PER_CASE)
        warehouse = Warehouse(db)
        warehouse.ingest(inputs)
        run_dbt(settings, ["--select", "+fct_check_results"])
        run_dbt(settings, ["--select", "fct_check_results"], command="compile")
    compiled = dbt_target(db) / "compiled/promptlab/models/marts/matching"
    return db, compiled / "fct_check_results.sql"


def write_testset(path: Path, cases: int) -> None:
    """Five checks a case; some hold, some do not, one field is never there."""
    rng = random.Random(SEED)
    with path.open("w", encoding="utf-8") as file:
        for number in range(cases):
            record = {
                "id": f"case-{number:06}",
                "expected_outputs": {
                    "action": rng.choice(("refund", "reship", "answer", "escalate")),
                    "amount": rng.randrange(100000) / 100,
                    "reply": "contains:退款",
                    "items": "contains:sku",
                    "currency": "CNY",
                },
                "evaluation_config": {"tolerance": 0.01},
            }
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def judge_against_extract(folder: Path) -> Ratio:
    """The judged table, against a table of the bare extracted values."""
    db, sql = _prepare(folder)
    return compare(
        "judge 1,000,000 checks",
        lambda: _counted(run(python(_JUDGE, db, sql))),
        "bare json_extract of the same paths into a table",
        lambda: run(python(_EXTRACT, db)),
        limit=2.0,
    )


def judge_against_python(folder: Path) -> Ratio:
    """The judged table, against the Python evaluator on the same rounds."""
    db, sql = _prepare(folder)
    return compare(
        "judge 1,000,000 checks",
        lambda: _counted(run(python(_JUDGE, db, sql))),
        "promptlab.evaluator on the same rounds",
        lambda: run([sys.executable, "-c", _EVALUATE, str(db)]),
        runs=1,
    )


def _counted(sample: Sample) -> Sample:
    expected = ROUNDS * 5
    counted = int(sample.said.split()[-1])
    if counted != expected:
        raise RuntimeError(f"judged {counted} checks, expected {expected}")
    return sample


BENCHMARKS = (judge_against_extract, judge_against_python)
