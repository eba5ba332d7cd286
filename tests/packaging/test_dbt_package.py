"""A user's dbt project on top of promptlab's, on the same warehouse, as in the docs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from promptlab.warehouse import Warehouse
from tests.conftest import EXAMPLES, ROOT

PAGE = (ROOT / "docs" / "dbt.md").read_text("utf-8")
FILES = dict(re.findall(r"^`([\w./]+)`\n\n```\w+\n(.*?)^```", PAGE, re.S | re.M))
COMMANDS = re.findall(r"^```sh\n(.*?)^```", PAGE, re.S | re.M)


def test_the_page_has_the_project_and_what_to_call():
    assert set(FILES) == {
        "packages.yml",
        "profiles.yml",
        "dbt_project.yml",
        "models/passing_tasks.sql",
    }
    assert len(COMMANDS) == 2


def sh(folder: Path, lines: str) -> str:
    programs = Path(sys.executable).parent
    environment = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
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


@pytest.mark.slow
def test_models_upon_the_marts_build_at_once_and_promptlab_goes_on(tmp_path):
    """No full refresh is asked for, by either."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for name in (
        "grades",
        "dim_tasks",
        "int_case_results",
    ):  # ours are called that, too
        (tmp_path / "models" / f"{name}.sql").write_text("select 1 as mine", "utf-8")
    db = tmp_path / "promptlab.duckdb"
    warehouse = Warehouse(db)
    warehouse.ingest(EXAMPLES / "sentiment_pipeline")
    warehouse.build()
    sh(tmp_path, COMMANDS[1])
    shutil.copytree(EXAMPLES / "customer_service", tmp_path / "more")
    warehouse.ingest(tmp_path / "more")
    warehouse.build()
    sh(tmp_path, COMMANDS[0])
    assert warehouse.last_build().has_all
    assert warehouse.last_build().is_of_this_project
    with duckdb.connect(str(db), read_only=True) as con:
        hashes = con.execute("select distinct project_hash from raw.builds").fetchall()
        builders = con.execute(
            "select promptlab_version is null from raw.builds order by built_at"
        ).fetchall()
        theirs = con.execute("select count(*) from main.passing_tasks").fetchall()
        same = con.execute("select mine from main.dim_tasks").fetchall()
        ours = con.execute("select count(*) from marts.fct_task_summaries").fetchall()
    assert len(hashes) == 1
    assert builders == [(False,), (True,), (False,), (True,)]
    assert same == [(1,)]
    assert (theirs, ours) == ([(0,)], [(4,)])
