"""After a purge and a plain build, the marts are those of a warehouse that never saw it.

The ids are chosen to be mistaken for each other: they contain each other, and what
means something in SQL, in patterns and in JSON.
"""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import duckdb
import pytest

from promptlab.errors import NothingToDo
from promptlab.operations.purge import find, purge
from promptlab.warehouse import Warehouse
from tests.history.runs import Run, even
from tests.memory.runs import made_up

TASKS = ("x1", "x10", "x100", "x1'0", 'x"1', "x%", "x_0", "x1 0", "任务", "任务1")
"""Of one title and in this order; each is compared with the one before."""

OF_OTHER_TITLES = {"x": "x1", "x1%": "x1", "任务10": "任务"}
"""Task → title; the titles are ids of tasks."""

ALL_TASKS = (*TASKS, *OF_OTHER_TITLES)
RUNS = (
    "locomo/250101_0900",
    "locomo/250101_0900/mem",
    "locomo/250102_0900",
    "locomo/250102_0900/mem",
)
REQUESTED = (("x1", "x100"), ("x%", "任务1"), ("x100", "x"), ("x1 0", "x1'0"))
NAMED = "x_0"


def write_files(folder: Path, tasks: list[str], runs: list[str]) -> Path:
    """The files of these tasks and memory runs; a file of scores is of all tasks."""
    lines = []
    for day, task in enumerate(ALL_TASKS, 1):
        score = random.Random(day).choice((0.2, 0.5, 0.9))
        run = Run(
            task,
            OF_OTHER_TITLES.get(task, "one title"),
            day,
            {"quality": even(score, 8)},
            tags={"c0": [task]},
        )
        if task in tasks:
            run.write(folder)
            lines += [json.dumps(r | {"scorer": "second"}) for r in run.judgements()]
    (folder / "all.scores.jsonl").write_text("\n".join(lines), "utf-8")
    for number, run_id in enumerate(RUNS):
        if run_id in runs:
            document = made_up(random.Random(number), "locomo", "conv-26")
            path = folder / ".sage" / "me" / run_id / "conv-26.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
    return folder


def built(
    folder: Path,
    tasks: list[str],
    runs: list[str],
    asked_for: tuple[str, str] | None = None,
) -> Warehouse:
    """A warehouse of these alone."""
    warehouse = Warehouse(folder / "w.duckdb")
    warehouse.ingest(write_files(folder / "in", tasks, runs))
    with warehouse.writable() as con:
        for pair in (*REQUESTED, *([asked_for] if asked_for else [])):
            if set(pair) <= set(tasks):
                con.execute(
                    "insert into raw.requested_comparisons values ($1, $2, now())", pair
                )
        if NAMED in tasks:
            con.execute(
                "insert into raw.named_baselines"
                " values ('one title', null, $1, timestamptz '2020-01-01 00:00:00+00')",
                [NAMED],
            )
    warehouse.build()
    return warehouse


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    warehouse = built(folder, list(ALL_TASKS), list(RUNS))
    with warehouse.connect() as con:
        assert con.execute("select count(*) from marts.dim_memory_runs").fetchone() == (
            len(RUNS),
        )
        asked = con.execute(
            "select count(*) from marts.fct_task_pairs where pair_source = 'requested'"
        ).fetchone()
    assert asked == (len(REQUESTED),)
    return warehouse.settings.db


@pytest.fixture
def warehouse(whole: Path, tmp_path: Path) -> Warehouse:
    return Warehouse(shutil.copy(whole, tmp_path / "w.duckdb"))


def marts(warehouse: Warehouse) -> dict[str, list[tuple]]:
    """Every row of every mart, views too; loads are numbered as they come."""
    with warehouse.connect() as con:
        names = con.execute(
            "select table_name, bool_or(column_name = 'load_id') from duckdb_columns()"
            " where schema_name = 'marts' group by table_name order by table_name"
        ).fetchall()
        return {
            name: con.execute(
                f"select * {'exclude (load_id)' if has_load else ''}"
                f" from marts.{name} order by all"
            ).fetchall()
            for name, has_load in names
        }


@pytest.mark.parametrize(
    ("tasks", "runs", "compared_at_once"),
    [
        (["x1"], [RUNS[0]], None),
        # the named baseline too; and a comparison is requested before a build
        ([NAMED, 'x"1', "x1'0", "x%", "任务"], [RUNS[1], RUNS[2]], ("x10", "x")),
    ],
)
def test_the_marts_are_those_of_a_warehouse_that_never_saw_them(
    warehouse, tmp_path, tasks, runs, compared_at_once
):
    purge(warehouse, tasks=[*tasks, *runs])
    if compared_at_once:
        warehouse.compare(*compared_at_once)
    warehouse.build()
    never = built(
        tmp_path / "never",
        [task for task in ALL_TASKS if task not in tasks],
        [run for run in RUNS if run not in runs],
        compared_at_once,
    )
    purged, other = marts(warehouse), marts(never)
    assert purged.keys() == other.keys()
    assert [name for name in purged if purged[name] != other[name]] == []


@pytest.mark.parametrize("task", ALL_TASKS)
def test_only_rows_of_the_named_task_and_of_those_compared_with_it_go(warehouse, task):
    """Only comparisons with it are computed again."""
    with warehouse.connect() as con:
        compared = {
            row[0]
            for row in con.execute(
                "select candidate_task_id from marts.fct_task_pairs"
                " where baseline_task_id = $1 union"
                " select task_id from marts.dim_task_baselines"
                " where $1 in (baseline_task_id, previous_task_id, named_task_id) union"
                " select task_id from intermediate.int_reference_runs"
                " where reference_task_id = $1",
                [task],
            ).fetchall()
        }
    before = marts(warehouse)
    purge(warehouse, tasks=[task])
    after = marts(warehouse)
    with duckdb.connect(str(warehouse.settings.db), read_only=True) as con:
        summaries = {
            row[0]
            for row in con.execute(
                "select distinct task_id from marts.fct_task_summaries"
                " union all select distinct task_id from marts.fct_rounds"
            ).fetchall()
        }
        still_compared = {
            row[0] for row in con.execute("from raw.comparison_builds").fetchall()
        }
    others = {one for one in (*ALL_TASKS, *RUNS) if one != task}
    assert summaries == others
    assert still_compared == others - compared
    for name in ("fct_rounds", "fct_case_results", "fct_evidence", "fct_trends"):
        assert all(row in before[name] for row in after[name])
        gone = [row for row in before[name] if row not in after[name]]
        assert all(task in row for row in gone), name


@pytest.mark.parametrize("like", ["x__", "%", "任", "X1", "x1 ", "x1%%"])
def test_an_id_is_equal_or_it_is_not_there(warehouse, like):
    with pytest.raises(NothingToDo, match="there is no task"):
        find(warehouse, tasks=[like])
