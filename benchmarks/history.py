"""History: comparing two large tasks, and reading a long past."""

from __future__ import annotations

import copy
import json
import random
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.generate import SEED, analysis_input
from benchmarks.measure import Ratio, Sample, compare, python, run
from promptlab.paths import dbt_target

PROMPTLAB = [sys.executable, "-m", "promptlab"]
NO_TESTS = ["--exclude-resource-type", "test", "unit_test"]

# What comparing is, from the stored marts of two tasks to the marts of the pair.
COMPARING = (
    "int_dimension_pairs", "int_case_pairs", "int_case_score_changes",
    "fct_case_score_changes", "int_cases_compared", "fct_case_changes",
    "int_comparison_sums", "int_comparison_tests", "fct_task_comparisons", "fct_tag_comparisons", "fct_task_pairs",
    "fct_comparison_notes",
)  # fmt: skip

# The SQL of the models, one after the other, each into the table the next one reads;
# views are read in place.
_COMPARE = """
import json, sys, time, duckdb
con = duckdb.connect(sys.argv[1])
con.execute("set enable_progress_bar = false")
con.execute("set preserve_insertion_order = false; set memory_limit = '800MB'")
views = {
    f"{schema}.{name}" for schema, name in
    con.execute("select schema_name, view_name from duckdb_views()").fetchall()
}
started = time.perf_counter()
for table, sql in json.load(open(sys.argv[2])):
    if table in views:
        continue
    con.execute(f"create or replace table {table} as {sql}")
print(time.perf_counter() - started)
"""

# The case rows of both tasks side by side, and nothing else.
_JOIN = """
import sys, time, duckdb
con = duckdb.connect(sys.argv[1])
con.execute("set enable_progress_bar = false")
con.execute("set preserve_insertion_order = false; set memory_limit = '800MB'")
started = time.perf_counter()
con.execute('''
    create or replace table main.joined as
    select before.*, after.*
    from (select * from marts.fct_case_results where task_id = 'before') as before
    full join (select * from marts.fct_case_results where task_id = 'after') as after
        using (case_id)
''')
print(time.perf_counter() - started)
con.execute("drop table main.joined")
"""


def compare_two_tasks(folder: Path, cases: int = 100_000) -> Ratio:
    """Comparing two stored tasks in SQL, against a bare join of their case rows."""
    db = folder / "compare.duckdb"
    if not db.exists():
        inputs = folder / "compare"
        inputs.mkdir()
        first = analysis_input(0, cases, 1)
        write(inputs, _named(first, "before", 1))
        write(inputs, answered_again(first, "after", 2))
        marts = [name for name in COMPARING if name.startswith("fct_")]
        warehouse(db, inputs, *(f"+{mart}" for mart in [*marts, "fct_case_results"]))
    models = dbt_target(db) / "compiled" / "promptlab" / "models"
    files = {path.stem: path for path in models.rglob("*.sql")}
    statements = folder / "compare.json"
    statements.write_text(
        json.dumps([(_table(files[n]), files[n].read_text("utf-8")) for n in COMPARING])
    )
    return compare(
        f"compare 2 tasks of {cases:,} cases",
        lambda: timed(_COMPARE, db, statements),
        "DuckDB join of their case rows",
        lambda: timed(_JOIN, db),
        runs=5,
        limit=5.0,
    )


def runs_over_a_long_history(folder: Path) -> Ratio:
    """`promptlab runs` with 1,000 tasks in the warehouse, against 10."""
    return _long_history(folder, "runs")


def trends_over_a_long_history(folder: Path) -> Ratio:
    """`promptlab trends` with 1,000 tasks in the warehouse, against 10."""
    return _long_history(folder, "trends")


def index_over_a_long_history(folder: Path) -> Ratio:
    """A report with the index, with 1,000 tasks in the warehouse, against 10."""
    return _long_history(
        folder, "report", "latest", "--format", "csv", "--out", str(folder / "index")
    )


def _long_history(folder: Path, *command: str) -> Ratio:
    long, short = (_history(folder, tasks) for tasks in (1000, 10))

    def on(db: Path) -> Sample:
        return run([*PROMPTLAB, *command, "--db", str(db)])

    return compare(
        f"{command[0]}, 1,000 tasks of 100 cases",
        lambda: on(long),
        "the same with 10 tasks",
        lambda: on(short),
        runs=7,
        limit=2.0,
    )


def _history(folder: Path, tasks: int) -> Path:
    """A warehouse of nightly runs of one testset, ten titles in turn."""
    db = folder / f"history-{tasks}.duckdb"
    if not db.exists():
        inputs = folder / f"history-{tasks}"
        inputs.mkdir()
        first = analysis_input(0, 100, 1)
        for number in range(tasks):
            document = answered_again(first, f"run-{number:04}", number)
            document["task"]["title"] = f"nightly {number % min(tasks, 10)}"
            write(inputs, document)
        warehouse(db, inputs)
    return db


def _named(document: dict, task_id: str, number: int) -> dict:
    day, hour = number // 24 % 28 + 1, number % 24
    task = document["task"] | {
        "task_id": task_id,
        "created_at": f"2026-{number // 672 + 1:02}-{day:02}T{hour:02}:00:00Z",
    }
    return document | {"task": task}


def answered_again(document: dict, task_id: str, number: int) -> dict:
    """The same cases in another run: some answers differ, and all times."""
    rng = random.Random(SEED + number)
    again = copy.deepcopy(document)
    for case in again["cases"]:
        for answer in case["rounds"]:
            if rng.random() < 0.1:
                answer["raw_output"] = f"none: {answer['raw_output']}"
            answer["latency_ms"] = rng.randrange(300, 3000)
            answer["output_tokens"] = rng.randrange(20, 300)
    return _named(again, task_id, number)


def write(folder: Path, document: dict) -> None:
    """Write a task's file, named as the task."""
    file = folder / f"{document['task']['task_id']}.json"
    file.write_text(json.dumps(document, ensure_ascii=False), "utf-8")


def warehouse(db: Path, inputs: Path, *models: str) -> None:
    """Ingest the inputs and build these models, or all, without their tests."""
    run([*PROMPTLAB, "ingest", str(inputs), "--db", str(db), "--quiet"])
    select = ["--select", *models] if models else []
    run([*PROMPTLAB, "dbt", "--db", str(db), "--quiet", "build", *NO_TESTS, *select])


def _table(compiled: Path) -> str:
    schema = "marts" if compiled.stem.startswith("fct_") else "intermediate"
    return f"{schema}.{compiled.stem}"


def timed(script: str, *args: object) -> Sample:
    """Run a script that first prints the seconds it measured itself."""
    sample = run(python(script, *args))
    return replace(sample, seconds=float(sample.said.split()[0]))


BENCHMARKS = (
    compare_two_tasks,
    runs_over_a_long_history,
    trends_over_a_long_history,
    index_over_a_long_history,
)
