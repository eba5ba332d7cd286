"""A purge: no byte is left, and the next build is as if it had never been there."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from promptlab import copies
from promptlab.build import plan
from promptlab.contracts.sources import TableMapping
from promptlab.errors import NothingToDo, WarehouseError
from promptlab.operations.purge import find, purge
from promptlab.settings import Settings, TitleSettings
from promptlab.warehouse import Warehouse
from tests.faults.conftest import FULL
from tests.history.runs import Run, even
from tests.memory.runs import made_up
from tests.operations.conftest import (
    CANARY,
    DOOMED,
    DOOMED_RUN,
    LONE,
    contents,
    runs,
)

# ---------- a purge: no byte is left, everything else stays, and the next build is as if never


ALL = ("--task", DOOMED, "--task", LONE, "--run", DOOMED_RUN)


def bytes_below(folder: Path) -> bytes:
    return b"".join(p.read_bytes() for p in folder.rglob("*") if p.is_file())


def rows_with(db: Path, text: str) -> list[str]:
    return [n for n, rows in contents(db).items() if text in str(rows)]


def test_a_purged_text_is_in_no_byte_of_the_folder_and_in_no_row(run, warehouse):
    db = warehouse.settings.db
    assert CANARY.encode() in bytes_below(db.parent)
    assert len(rows_with(db, CANARY)) > 30
    code, _, _ = run("purge", *ALL, "--db", db, "--yes")
    assert code == 0
    assert rows_with(db, CANARY) == []
    assert CANARY.encode() not in bytes_below(db.parent)
    assert [p.name for p in db.parent.iterdir()] == ["w.duckdb"]


@pytest.mark.parametrize("tool", [False, True])
def test_of_two_runs_in_one_file_the_purged_one_leaves_nothing(tmp_path, tool):
    def line(name):
        one = {"run_id": name, "sample_id": "s", "entity_id": "p", "variant": "v"}
        return {**one, "final_output": name, "model": name, "score": 1}

    mapping = TableMapping(case="id", model="model", output="output", verdict="passed")
    settings = Settings(tables={"*.csv": mapping})
    warehouse = Warehouse(tmp_path / "db" / "w.duckdb", settings=settings)
    if tool:
        file = tmp_path / "runs.csv"
        file.write_text(
            f"id,model,output,passed\na,kept,x,1\na,{CANARY},x,1\n", "utf-8"
        )
    else:
        file = tmp_path / "runs.jsonl"
        broken = line(CANARY) | {"sample_id": None}
        lines = [line("kept"), line(CANARY), broken]
        file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    loaded = warehouse.ingest(file)
    assert loaded.n_loaded == 1
    assert loaded.files[0].records_rejected == (0 if tool else 1)
    tasks = [each for (each,) in warehouse.sql("select task_id from raw.tasks").rows()]
    doomed = [each for each in tasks if CANARY in each]
    assert len(doomed) == 1 < len(tasks)
    purge(warehouse, tasks=doomed)
    assert rows_with(warehouse.settings.db, CANARY) == []
    assert CANARY.encode() not in bytes_below(warehouse.settings.db.parent)


def test_a_purge_keeps_every_row_of_the_others(warehouse):
    db = warehouse.settings.db
    before = contents(db)
    found = purge(warehouse, tasks=[DOOMED, LONE, DOOMED_RUN])
    after = contents(db)
    changed = {"raw.loads", "marts.dim_memory_runs"}
    models = plan.load().stored
    for table, rows in before.items():
        model = models.get(table)
        if table == "marts.fct_level_changes" or (
            table.startswith("intermediate.") and (model is None or not model.batch)
        ):
            assert after[table] == [], table  # steps of a build: the next makes them
            continue
        if table not in changed:
            kept = [
                r for r in rows if CANARY not in str(r) and DOOMED_RUN not in str(r)
            ]
            # what was built, and is to be built again; so is a verdict on a history
            # from which a task goes
            if "_build" in table or (model and model.batch == "comparisons"):
                assert set(after[table]) <= set(kept), table
            else:
                assert after[table] == kept, table
        assert len(rows) - len(after[table]) == found.rows.get(table, 0), table
    assert {row[1] for row in after["raw.tasks"]} == {"first", "after", "other"}


def test_files_of_purged_tasks_stay_out_until_they_are_asked_for(run, warehouse, files):
    db = warehouse.settings.db
    purge(warehouse, tasks=[DOOMED, DOOMED_RUN])
    code, out, err = run("ingest", files, "--db", db, "--format", "json")
    assert code == 0
    statuses = {Path(r["file"]).name: r["status"] for r in json.loads(out)}
    assert statuses[f"{DOOMED}.json"] == "purged"
    assert statuses[f"{DOOMED}.scores.jsonl"] == "purged"
    assert statuses["both.scores.jsonl"] == "unchanged"
    assert "3 file(s) stay out" in err
    assert rows_with(db, DOOMED) == []
    code, out, _ = run("ingest", files, "--db", db, "--purged-too", "--format", "csv")
    assert out.count(",loaded,") == 3
    code, out, _ = run("ingest", files, "--db", db, "--format", "csv")
    assert out.count(",unchanged,") == len(out.splitlines()) - 1


@pytest.fixture(scope="module")
def purged(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The warehouse without one task; tests only read it."""
    folder = tmp_path_factory.mktemp("purged")
    warehouse = Warehouse(shutil.copy(built, folder / "w.duckdb"))
    purge(warehouse, tasks=[DOOMED])
    return warehouse


def test_a_load_is_remembered_as_purged_with_only_its_hash(purged):
    with purged.connect() as con:
        rows = con.execute(
            "select file_uri, source_name, message, rows_loaded, length(sha256)"
            " from raw.loads where status = 'purged'"
        ).fetchall()
    # the file, its earlier version from elsewhere, its scores
    assert rows == [("", "", None, 0, 64)] * 3


def test_rejected_records_of_purged_tasks_go_and_those_of_others_stay(built, purged):
    rejects = "select raw_text from raw.rejects"
    before, after = (
        str(Warehouse(db).sql(rejects).rows()) for db in (built, purged.settings.db)
    )
    assert CANARY in before
    assert CANARY not in after
    assert "kept-reject" in after


def test_what_was_accepted_of_a_purged_task_goes(purged):
    assert purged.sql("select task_id from raw.accepts").rows() == [("after",)]


def test_a_file_that_lay_where_a_purged_one_lies_is_not_purged(tmp_path):
    """One path is overwritten each night; an old task's file has moved since."""
    warehouse = Warehouse(tmp_path / "w.duckdb")
    nightly, moved = tmp_path / "nightly.json", tmp_path / "moved.json"
    first, doomed = runs()[:2]
    nightly.write_text(json.dumps(first.document()), "utf-8")
    warehouse.ingest(nightly)
    moved.write_text(json.dumps(first.document(), indent=1), "utf-8")
    nightly.write_text(json.dumps(doomed.document()), "utf-8")
    warehouse.ingest(moved, nightly)
    purge(warehouse, tasks=[DOOMED])
    with warehouse.connect() as con:
        loads = con.execute(
            "select status, file_uri <> '', object_id from raw.loads"
            " left join raw.objects using (load_id) order by load_id"
        ).fetchall()
    assert loads == [
        ("loaded", True, "first"),
        ("loaded", True, "first"),
        ("purged", False, None),
    ]


def test_somebody_elses_tables_are_left_and_named(run, warehouse):
    db = warehouse.settings.db
    with warehouse.writable() as con:
        con.execute("create schema theirs")
        for schema in ("theirs", "marts"):
            con.execute(
                f"create table {schema}.notes as select $1 as task_id", [DOOMED]
            )
    code, out, err = run("purge", "--task", DOOMED, "--db", db, "--yes")
    assert code == 0
    assert ".notes" not in out
    assert "theirs.notes: is no table of this project; it was left" in err
    assert err.count("is no table of this project") == 2
    assert rows_with(db, DOOMED) == ["marts.notes", "theirs.notes"]


def test_what_was_compared_with_a_purged_task_waits_for_the_next_build(run, purged):
    code, _, err = run("compare", "baseline", "after", "--db", purged.settings.db)
    assert code == 5
    assert "the one of after was purged; `promptlab build` finds another" in err


def test_a_dry_run_says_what_would_go_and_changes_nothing(run, warehouse):
    db = warehouse.settings.db
    before = db.read_bytes()
    code, out, err = run("purge", "--task", DOOMED, "--db", db, "--dry-run")
    assert code == 0
    assert "raw.rounds" in out
    assert "would delete: 1 task(s)" in err
    assert db.read_bytes() == before


def test_before_takes_tasks_created_and_memory_runs_started_earlier(warehouse):
    from datetime import date

    earlier = [DOOMED, "first", DOOMED_RUN, "locomo/250102_0900"]
    assert find(warehouse, before=date(2026, 1, 3)).tasks == sorted(earlier)
    assert find(warehouse, before=date(2025, 1, 2)).tasks == [DOOMED_RUN]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ((), 2, "name what goes"),
        (("--task", "nobody", "--yes"), 5, "there is no task 'nobody'"),
        (("--task", "firs", "--yes"), 5, 'did you mean "first"'),
        (("--task", "first", "--task", "nobody", "--yes"), 5, "no task 'nobody'"),
        (("--run", "nobody", "--yes"), 5, "there is no task 'nobody'"),
        (("--before", "1999-01-01", "--yes"), 5, "no task was created before"),
        (("--before", "yesterday", "--yes"), 2, "does not match the format"),
        (("--task", "first"), 2, "nobody can be asked here"),
    ],
)
def test_a_refusal_changes_nothing(run, built, args, code, message):
    before = built.read_bytes()
    exit_code, _, err = run("purge", *args, "--db", built)
    assert (exit_code, message in err) == (code, True), err
    assert built.read_bytes() == before


@pytest.mark.parametrize("asked", ["--yes", "--dry-run"])
def test_a_file_with_a_hard_link_is_not_purged(run, warehouse, tmp_path, asked):
    db = warehouse.settings.db
    before = db.read_bytes()
    other = tmp_path / "other name.duckdb"
    other.hardlink_to(db)
    for path in (db, other):
        code, _, err = run("purge", "--task", "first", asked, "--db", path)
        assert code == 2
        assert "the file has another name (hard links)" in err
    assert db.read_bytes() == before
    other.unlink()
    assert run("purge", "--task", "first", asked, "--db", db)[0] == 0


def test_too_little_room_is_reported_and_changes_nothing(warehouse, monkeypatch):
    before = warehouse.settings.db.read_bytes()
    monkeypatch.setattr(
        copies.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000})
    )
    with pytest.raises(WarehouseError, match=r"but only 0\.0 MB are free"):
        purge(warehouse, tasks=[DOOMED])
    assert warehouse.settings.db.read_bytes() == before


@pytest.mark.parametrize("seed", range(20 if FULL else 2))
def test_a_killed_purge_changes_nothing_or_everything(warehouse, seed):
    import random

    db = warehouse.settings.db
    before = contents(db)
    child = subprocess.Popen(
        [sys.executable, "-m", "promptlab", "purge", *ALL, "--db", db, "--yes"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while child.poll() is None and not list(db.parent.glob(".*.new")):
        time.sleep(0.002)
    time.sleep(random.Random(seed).uniform(0, 0.5))
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    after = contents(db)
    assert after == before or rows_with(db, CANARY) == []
    if after == before:
        assert purge(warehouse, tasks=[DOOMED, LONE, DOOMED_RUN]).tasks
    assert CANARY.encode() not in bytes_below(db.parent)


# ---------- rows that do not count


@pytest.mark.parametrize("is_built", [False, True])
def test_a_compaction_leaves_no_byte_of_earlier_versions(run, tmp_path, is_built):
    """Of what was loaded, rejected and scored; marts that have them are built first."""
    db = tmp_path / "db" / "w.duckdb"
    warehouse = Warehouse(db)
    file, scores = tmp_path / "run.json", tmp_path / "run.scores.jsonl"
    for text in (CANARY, "clean"):
        run_ = Run("t", "title", 1, {"quality": even(0.5, 2)})
        document = run_.document()
        document["cases"][0]["rounds"][0]["raw_output"] = text
        document["cases"].append({"case_id": text, "rounds": text})
        file.write_text(json.dumps(document), "utf-8")
        records = [one | {"summary": text} for one in run_.judgements()]
        records.append({"task_id": "t", "case_id": text})
        scores.write_text("\n".join(map(json.dumps, records)), "utf-8")
        warehouse.ingest(file, scores)
        if is_built and text == CANARY:
            warehouse.build()
    if is_built:
        code, _, err = run("purge", "--compact", "--db", db)
        assert code == 2
        assert "call `promptlab build` first (nothing was changed)" in err
        warehouse.build()
    assert rows_with(db, CANARY) == ["raw.rejects", "raw.rounds", "raw.scores"]
    counted = "select raw_output from live.rounds union all select raw_text from"
    counted += " raw.rejects where raw_text like '%clean%'"
    before = warehouse.sql(counted).rows()
    code, out, err = run("purge", "--compact", "--dry-run", "--db", db)
    assert (code, "would delete:" in err) == (0, True)
    assert "raw.rejects" in out
    assert run("purge", "--compact", "--db", db)[1] == out
    assert rows_with(db, CANARY) == []
    assert CANARY.encode() not in bytes_below(db.parent)
    assert sorted(warehouse.sql(counted).rows()) == sorted(before)
    assert run("purge", "--compact", "--db", db)[0] == 5
    assert warehouse.ingest(file, scores).n_unchanged == 2


# ---------- after a purge and a plain build, the marts are those of a warehouse that never saw it


TASKS = ("x1", "x10", "x100", "x1'0", 'x"1', "x%", "x_0", "x1 0", "任务", "任务1")
"""Of one title and in this order; each is compared with the one before."""

OF_OTHER_TITLES = {"x": "x1", "x1%": "x1", "任务10": "任务"}
"""Task → title; the titles are ids of tasks."""

RENAMED = {
    "was-1": "was", **{f"is-{day}": "is" for day in range(2, 7)},
    "had-1": "had", **{f"has-{day}": "has" for day in range(2, 7)},
}  # fmt: skip
"""The same; an alias makes one title of two. Their answers are right every other day."""
SETTINGS = Settings(
    titles={
        "is": TitleSettings(alias=("was",)),
        "has": TitleSettings(alias=("had",)),
    }
)
GOLDEN = {"baseline_id": "g", "type": "golden_answer", "owner": "t"}
GOLDEN |= {"payload": {"text": "1"}, "confidence": 1}

ALL_TASKS = (*TASKS, *OF_OTHER_TITLES, *RENAMED)
RUNS = (
    "locomo/250101_0900",
    "locomo/250101_0900/mem",
    "locomo/250102_0900",
    "locomo/250102_0900/mem",
)
REQUESTED = (("x1", "x100"), ("x%", "任务1"), ("x100", "x"), ("x1 0", "x1'0"))
ACCEPTED = "x_0"


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
        if task in RENAMED and task in tasks:
            (folder / f"{task}.json").write_text(flaky(task, day), "utf-8")
        elif task in tasks:
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


def flaky(task: str, day: int) -> str:
    """A case with an answer that is right on odd days."""
    rounds = {"c": {"raw_output": str(day % 2)}}
    scores: dict[str, dict[str, float]] = {"accuracy": {"c": 1}}
    run = Run(task, RENAMED[task], day, scores, rounds=rounds)
    document = run.document()
    document["cases"][0]["baselines"] = [GOLDEN]
    return json.dumps(document)


def built(
    folder: Path,
    tasks: list[str],
    runs: list[str],
    asked_for: tuple[str, str] | None = None,
) -> Warehouse:
    """A warehouse of these alone."""
    warehouse = Warehouse(folder / "w.duckdb", settings=SETTINGS)
    warehouse.ingest(write_files(folder / "in", tasks, runs))
    with warehouse.writable() as con:
        for pair in (*REQUESTED, *([asked_for] if asked_for else [])):
            if set(pair) <= set(tasks):
                con.execute(
                    "insert into raw.requested_comparisons values ($1, $2, now())", pair
                )
        if ACCEPTED in tasks:
            con.execute(
                "insert into raw.accepts values"
                " ($1, timestamptz '2020-01-01 00:00:00+00', 'why', '[]')",
                [ACCEPTED],
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
        titles = con.execute("select distinct title from marts.fct_flaky_cases")
        assert set(titles.fetchall()) >= {("is",), ("has",)}
    assert asked == (len(REQUESTED),)
    return warehouse.settings.db


@pytest.fixture
def several(whole: Path, tmp_path: Path) -> Warehouse:
    return Warehouse(shutil.copy(whole, tmp_path / "w.duckdb"), settings=SETTINGS)


OF_TASKS = ("fct_rounds", "fct_case_results", "fct_evidence", "fct_trends")


def marts(warehouse: Warehouse, *wanted: str) -> dict[str, list[tuple]]:
    """Every row of every mart, views too; loads are numbered as they come."""
    with warehouse.connect() as con:
        names = con.execute(
            "select table_name, bool_or(column_name = 'load_id') from duckdb_columns()"
            " where schema_name = 'marts' and ($1 = [] or table_name in $1)"
            " group by table_name order by table_name",
            [list(wanted)],
        ).fetchall()
        return {
            name: con.execute(
                f"select * {'exclude (load_id)' if has_load else ''}"
                f" from marts.{name} order by all"
            ).fetchall()
            for name, has_load in names
        }


@pytest.fixture(scope="module")
def marts_before(whole: Path) -> dict[str, list[tuple]]:
    return marts(Warehouse(whole), *OF_TASKS)


@pytest.mark.slow
def test_the_marts_are_those_of_a_warehouse_that_never_saw_them(several, tmp_path):
    # what was accepted too; and a comparison is requested before a build
    # the oldest of a title that has another name now, and the newest
    tasks = ["x1", ACCEPTED, 'x"1', "x1'0", "x%", "任务", "was-1", "has-6"]
    # an id begins with the id of another one, and either stays
    runs = [RUNS[0], RUNS[3]]
    compared_at_once = ("x10", "x")
    purge(several, tasks=[*tasks, *runs])
    several.compare(*compared_at_once)
    several.build()
    never = built(
        tmp_path / "never",
        [task for task in ALL_TASKS if task not in tasks],
        [run for run in RUNS if run not in runs],
        compared_at_once,
    )
    purged, other = marts(several), marts(never)
    assert purged.keys() == other.keys()
    assert [name for name in purged if purged[name] != other[name]] == []


@pytest.mark.parametrize(
    "purged", [("x1",), ("x1'0", "x%", "x_0", "x", "任务")], ids=["one", "several"]
)
def test_only_rows_of_the_named_tasks_and_of_those_compared_with_them_go(
    several, marts_before, purged
):
    """Only comparisons with them are computed again."""
    with several.connect() as con:
        compared = {
            row[0]
            for row in con.execute(
                "select candidate_task_id from marts.fct_task_pairs"
                " where baseline_task_id in $1 union"
                " select task_id from marts.dim_task_baselines"
                " where baseline_task_id in $1 or last_task_id in $1 union"
                " select task_id from marts.fct_case_odds where since_task_id in $1",
                [purged],
            ).fetchall()
        }
    purge(several, tasks=purged)
    after = marts(several, *OF_TASKS)
    with duckdb.connect(str(several.settings.db), read_only=True) as con:
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
    others = {one for one in (*ALL_TASKS, *RUNS) if one not in purged}
    assert summaries == others
    assert still_compared == others - compared
    for name in OF_TASKS:
        before = marts_before[name]
        assert all(row in before for row in after[name])
        gone = [row for row in before if row not in after[name]]
        assert all(set(purged) & set(row) for row in gone), name


def test_an_id_is_equal_or_it_is_not_there(whole):
    for like in ("x__", "%", "任", "X1", "x1 ", "x1%%"):
        with pytest.raises(NothingToDo, match="there is no task"):
            find(Warehouse(whole), tasks=[like])
