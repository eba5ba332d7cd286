"""A user's dbt project on top of promptlab's, on the same warehouse, as in the docs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from promptlab.warehouse import Warehouse
from tests import forks
from tests.conftest import EXAMPLES, ROOT
from tests.ingest.test_load import task, write
from tests.warehouse.test_incremental import differences
from tests.warehouse.test_plan import contracts

PAGE = (ROOT / "docs" / "dbt.md").read_text("utf-8")
OPERATIONS = (ROOT / "docs" / "operations.md").read_text("utf-8")
FILES = dict(re.findall(r"^`([\w./]+)`\n\n```\w+\n(.*?)^```", PAGE, re.S | re.M))
LOADED = ("sentiment_pipeline", "customer_service", "memory")
PROJECT = ROOT / "dbt_project"
OURS = {path.stem.removeprefix("promptlab_") for path in PROJECT.glob("seeds/**/*.csv")}
OURS |= {path.stem for path in PROJECT.glob("models/marts/**/*.sql")}
OURS |= {"int_case_results", "promptlab_grades"}
"""Names of seeds and models that a user's models may have, too."""
COMMANDS = re.findall(r"^```sh\n(.*?)^```", PAGE, re.S | re.M)


def test_the_page_has_the_project_and_what_to_call():
    assert set(FILES) == {
        "packages.yml",
        "profiles.yml",
        "dbt_project.yml",
        "models/passing_tasks.sql",
    }
    assert len(COMMANDS) == 2


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("programs")
    with forks.started(folder, "promptlab", "dbt") as programs:
        yield programs


def sh(programs: Path, folder: Path, lines: str) -> str:
    environment = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        # files that nobody reads here
        "DBT_LOG_LEVEL_FILE": "error",
        "DBT_WRITE_JSON": "false",
    }
    done = subprocess.run(
        ["bash", "-euc", lines],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    return done.stdout


def test_dbt_builds_by_itself(programs, tmp_path):
    """One seed, as all of it is built by a full refresh elsewhere; and freshness,
    as the page on operations has it.
    """
    db = tmp_path / "promptlab.duckdb"
    Warehouse(db).ingest(write(tmp_path / "one.json", task("one")))
    build = f"{COMMANDS[0].rstrip()} --select promptlab_grades"
    [fresh] = re.findall(r"^PROMPTLAB_DB.* dbt source freshness .*", OPERATIONS, re.M)
    fresh = fresh.replace("/srv/promptlab/warehouse.duckdb", str(db))
    said = sh(programs, tmp_path, f"{build}\n{fresh} --no-use-colors")
    assert "Completed successfully" in said
    assert "PASS freshness of raw.loads" in said


@pytest.mark.slow
def test_models_upon_the_marts_build_at_once_and_promptlab_goes_on(programs, tmp_path):
    """A full refresh by dbt, a part of a build by dbt and builds by promptlab end with
    the tables of one build.
    """
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for name in sorted(OURS - {"fct_task_summaries"}):
        # of those that nothing asks for only the name counts
        kind = "view" if name in ("dim_tasks", "promptlab_grades") else "ephemeral"
        (tmp_path / "models" / f"{name}.sql").write_text(
            f"{{{{ config(materialized='{kind}') }}}} select 1 as mine", "utf-8"
        )
    # it reads a mart of ours that reads grades: no cycle
    (tmp_path / "models" / "grades.sql").write_text(
        "select * from {{ ref('fct_task_summaries') }}", "utf-8"
    )
    db = tmp_path / "promptlab.duckdb"
    warehouse = Warehouse(db)
    *first, everything, alone = COMMANDS[1].splitlines()

    def load(number: int) -> None:
        warehouse.ingest(EXAMPLES / LOADED[number])
        again = task("again", f"answer {number % 2}")
        warehouse.ingest(write(tmp_path / "replaced.json", again))

    load(0)
    warehouse.build()
    load(1)
    # the cure that messages name: nothing of it fails or is left out
    sh(programs, tmp_path, "\n".join([*first, f"{everything} --full-refresh"]))
    assert warehouse.last_build().has_all
    assert warehouse.last_build().is_of_this_project
    load(2)
    # data tests look at marts that a part leaves as they were
    part = f"{everything} test --select +fct_rounds"
    # the package is there
    settings = [line for line in first if line.startswith("export")]
    sh(programs, tmp_path, "\n".join([*settings, part, alone]))
    assert not warehouse.last_build().has_all
    warehouse.compare("again", "cs-regression-v3.1")
    assert warehouse.last_build().has_all
    with duckdb.connect(str(db), read_only=True) as con:
        hashes = con.execute("select distinct project_hash from raw.builds").fetchall()
        builders = con.execute(
            "select distinct promptlab_version is null from raw.builds order by 1"
        ).fetchall()
        theirs = con.execute("select count(*) from main.passing_tasks").fetchall()
        same = con.execute("select mine from main.dim_tasks").fetchall()
        ours = con.execute("select count(*) from marts.fct_task_summaries").fetchall()
    again = Warehouse(shutil.copy(db, tmp_path / "again.duckdb"))
    again.build(full_refresh=True)
    assert differences(db, again.settings.db) == {}
    assert contracts(db) == contracts(again.settings.db)
    assert len(hashes) == 1
    assert builders == [(False,), (True,)]
    assert same == [(1,)]
    # ours: four of the examples, two memory runs and the task that was replaced
    assert (theirs, ours) == ([(1,)], [(7,)])
