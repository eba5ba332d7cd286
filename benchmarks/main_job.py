"""The main job: ingest, run, report, each against what it could cost at least."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from pathlib import Path

from benchmarks.generate import analysis_inputs
from benchmarks.measure import Ratio, Sample, compare, goal, python, run
from promptlab.build import plan
from promptlab.paths import dbt_project

ROOT = Path(__file__).resolve().parents[1]
PROMPTLAB = [sys.executable, "-m", "promptlab"]

# DuckDB's own reader into one table, a row per round: no checks, no ids, no log.
_READ_JSON = """
import sys, duckdb
con = duckdb.connect(sys.argv[2])
con.execute("set enable_progress_bar = false")
con.execute('''
    create table rounds as
    select task.task_id, a_case.case_id, a_round.*
    from (
        select task, unnest(cases) as a_case
        from read_json($files, maximum_object_size = 200000000)
    ), unnest(a_case.rounds) as unnested (a_round)
''', {"files": sys.argv[1] + "/*.json"})
con.close()
"""

_IMPORTS = "import duckdb, polars, pydantic, jinja2"
_HELP_PEER = "import click, rich"


def ingest(folder: Path, rounds: int = 200_000) -> Ratio:
    """Ingest of AnalysisInput JSON with every check on, against read_json."""
    inputs = folder / "inputs"
    if not inputs.exists():
        analysis_inputs(inputs, rounds=rounds, files=20)

    def ours() -> Sample:
        db = _fresh(folder / "ingest.duckdb")
        return run([*PROMPTLAB, "ingest", str(inputs), "--db", str(db), "--quiet"])

    def peer() -> Sample:
        return run(python(_READ_JSON, inputs, _fresh(folder / "read_json.duckdb")))

    return compare(
        f"ingest {rounds:,} rounds", ours, "DuckDB read_json + unnest", peer, limit=1.0
    )


def whole_run(folder: Path) -> Ratio:
    """`promptlab run examples` from nothing, against a bare `dbt build` of the same."""
    db = folder / "run.duckdb"

    def ours() -> Sample:
        _fresh(db)
        return run(
            [*PROMPTLAB, "run", str(ROOT / "examples"), "--db", str(db), "--quiet",
             "--out", str(folder / "out")],
        )  # fmt: skip

    def peer() -> Sample:
        return _dbt(dbt_project(), folder / "target", db)

    return compare("run examples", ours, "bare dbt build", peer, limit=1.5)


def one_more_file(folder: Path) -> Ratio:
    """`promptlab run` of a new run of 24 cases, in a warehouse with those before it."""
    before, db, files = (
        folder / name for name in ("before.duckdb", "one.duckdb", "one")
    )
    shutil.copytree(ROOT / "examples", files, dirs_exist_ok=True)
    new = folder / "new.json"
    (files / "customer_service/runs/cs-regression-v3.2.json").replace(new)
    out = ["--out", str(folder / "out"), "--quiet"]
    run([*PROMPTLAB, "run", str(files), "--db", str(_fresh(before)), *out])

    def ours() -> Sample:
        shutil.copy(before, _fresh(db))
        return run([*PROMPTLAB, "run", str(new), "--db", str(db), *out])

    return compare("run of one new file", ours, "1.2 s", lambda: goal(1.2), limit=1.0)


def many_files(folder: Path, files: int = 300) -> Ratio:
    """Ingest of small runs in one call, against 4 ms for each."""
    inputs = folder / "many"
    if not inputs.exists():
        analysis_inputs(inputs, rounds=5 * files, files=files)
    db = folder / "many.duckdb"
    return compare(
        f"ingest {files} files",
        lambda: run(
            [*PROMPTLAB, "ingest", str(inputs), "--db", str(_fresh(db)), "--quiet"]
        ),
        "4 ms each",
        lambda: goal(files * 0.004),
        limit=1.0,
    )


def dbt_build(folder: Path) -> Ratio:
    """A warm `dbt build` with nothing new, against nodes as many that do nothing."""
    db = folder / "run.duckdb"
    if not db.exists():
        whole_run(folder)
    empty = _empty_project(folder / "empty")
    return compare(
        "dbt build, warm, nothing new",
        lambda: _dbt(dbt_project(), folder / "target", db),
        "dbt build of as many nodes of `select 1`",
        lambda: _dbt(empty, empty / "target", empty / "empty.duckdb"),
        limit=1.0,
    )


def _empty_project(folder: Path) -> Path:
    """A dbt project of as many seeds, models and tests as ours, all but empty."""
    kinds = Counter(node.kind for node in plan.load().nodes)
    for part in ("models", "seeds"):
        (folder / part).mkdir(parents=True)
    made = [
        kind for kind in ("view", "table", "incremental") for _ in range(kinds[kind])
    ]
    for number, kind in enumerate(made):
        before = f" from {{{{ ref('m{number // 2}') }}}}" if number else ""
        sql = f"{{{{ config(materialized='{kind}') }}}}\nselect 1 as a{before}\n"
        (folder / f"models/m{number}.sql").write_text(sql, "utf-8")
    for number in range(kinds["seed"]):
        (folder / f"seeds/s{number}.csv").write_text("a\n1\n", "utf-8")
    column = {"name": "a", "data_tests": ["not_null"]}
    tested = [{"name": f"m{n}", "columns": [column]} for n in range(kinds["test"])]
    flags = {"send_anonymous_usage_stats": False, "log_level_file": "info"}
    database = "{{ env_var('PROMPTLAB_DB') }}"
    output = {"type": "duckdb", "path": database, "threads": 1}
    for name, content in {
        "models/models.yml": {"models": tested},
        "dbt_project.yml": {"name": "empty", "profile": "empty", "flags": flags},
        "profiles.yml": {"empty": {"target": "here", "outputs": {"here": output}}},
    }.items():
        (folder / name).write_text(json.dumps(content), "utf-8")
    return folder


def _dbt(project: Path, target: Path, db: Path) -> Sample:
    return run(
        [str(Path(sys.executable).parent / "dbt"), "--quiet", "build",
         "--project-dir", str(project), "--profiles-dir", str(project),
         "--exclude-resource-type", "unit_test",
         "--target-path", str(target), "--log-path", str(target)],
        PROMPTLAB_DB=str(db),
    )  # fmt: skip


def report(folder: Path) -> Ratio:
    """`promptlab report` of a stored task, against importing what it needs."""
    db = folder / "run.duckdb"
    if not db.exists():
        whole_run(folder)

    def ours() -> Sample:
        return run(
            [*PROMPTLAB, "report", "cs-regression-v3.2", "--db", str(db),
             "--out", str(folder / "report")]
        )  # fmt: skip

    return compare(
        "report of a stored task",
        ours,
        "python -c 'import duckdb, polars, pydantic, jinja2'",
        lambda: run(python(_IMPORTS)),
        runs=7,
        limit=3.0,
    )


def help_text(folder: Path) -> Ratio:
    """`promptlab --help`, against importing a command line library and rich."""
    return compare(
        "promptlab --help",
        lambda: run([*PROMPTLAB, "--help"]),
        "python -c 'import click, rich'",
        lambda: run(python(_HELP_PEER)),
        runs=7,
    )


def _fresh(db: Path) -> Path:
    for path in (db, db.with_name(db.name + ".wal")):
        path.unlink(missing_ok=True)
    return db


BENCHMARKS = (
    ingest,
    many_files,
    whole_run,
    one_more_file,
    dbt_build,
    report,
    help_text,
)
