"""Named baselines: set, shown, cleared, and never drifting."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from promptlab.cli import run_cli
from promptlab.errors import BuildError
from promptlab.ingest.raw.requests import note_reported, record_decisions
from promptlab.warehouse import Warehouse
from tests.history.runs import Run, even


@pytest.fixture(scope="module")
def db(tmp_path_factory) -> Path:
    """Three tasks of one title."""
    folder = tmp_path_factory.mktemp("baselines")
    for day in (1, 2, 3):
        Run(f"run-{day}", "nightly", day, {"quality": even(day / 10, 6)}).write(
            folder / "in"
        )
    warehouse = Warehouse(folder / "w.duckdb")
    warehouse.ingest(folder / "in")
    warehouse.build()
    return warehouse.settings.db


@pytest.fixture
def copy(db, tmp_path, capsys):
    """Run a command on a copy of it."""
    file = shutil.copy(db, tmp_path / "copy.duckdb")

    def call(*args: str) -> tuple[int, str, str]:
        code = run_cli([args[0], "--db", str(file), *args[1:]])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    call.db = Path(file)  # type: ignore[attr-defined]
    return call


def baseline_of(call, task: str) -> tuple[str | None, str]:
    row = json.loads(call("baseline", "show", task, "--format", "json")[1])[0]
    return row["baseline_task_id"], row["baseline_source"]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("set",), 2, "name a run"),
        (("set", "gone"), 2, "there is no such task"),
        (("show",), 5, "no baseline is named"),
        (("clear",), 5, "no baseline is named for 'nightly'"),
        (("sit", "run-1"), 2, "'sit' is not one of"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_sentence(copy, args, code, message):
    found = copy("baseline", *args)
    assert found[0] == code
    assert message in found[2]


def test_without_a_name_the_task_before_is_the_baseline(copy):
    assert baseline_of(copy, "run-3") == ("run-2", "previous")
    assert baseline_of(copy, "run-1") == (None, "none")


@pytest.mark.slow
def test_a_named_baseline_stays_until_it_is_cleared_and_shows_what_befell_it(
    copy, tmp_path
):
    code, _, err = copy("baseline", "set", "run-1")
    assert code == 0
    assert "run-1 is the baseline of 'nightly', variant '" in err
    assert baseline_of(copy, "run-3") == ("run-1", "named")
    out = copy("compare", "run-3")[1]
    assert "run-1" in out
    assert "the baseline that was named" in out

    warehouse = Warehouse(copy.db)
    Run("run-4", "nightly", 4, {"quality": even(0.1, 6)}).write(tmp_path / "more")
    Run("run-1", "nightly", 1, {"quality": even(0.9, 6)}).write(tmp_path / "more")
    warehouse.ingest(tmp_path / "more")
    warehouse.build()
    assert baseline_of(copy, "run-4") == ("run-1", "named")
    assert (
        "The baseline run-1 has been loaded, scored or judged again"
        in copy("compare", "run-4", "--lang", "en")[1]
    )

    with warehouse.writable() as con:
        for table in ("tasks", "cases", "rounds", "dimension_configs"):
            con.execute(f"delete from raw.{table} where task_id = 'run-1'")
    warehouse.build()
    assert baseline_of(copy, "run-4") == (None, "gone")
    code, _, err = copy("compare", "run-4")
    assert code == 5
    assert (
        "run-1, the baseline named for run-4, is not in the warehouse any more" in err
    )

    assert copy("baseline", "clear")[0] == 0
    assert baseline_of(copy, "run-4") == ("run-3", "previous")


@pytest.mark.slow
def test_a_pair_that_was_not_compared_is_built_once_and_kept(copy):
    code, out, err = copy("compare", "run-1", "run-3", "--format", "json")
    # Nothing of the two has a verdict: their scores decide, and the pair is built.
    assert (code, json.loads(out)["pair_source"]) == (0, "requested")
    assert "run-1 and run-3 have not been compared yet; building …" in err
    _, again, err = copy("compare", "run-1", "run-3", "--format", "json")
    assert (again, err) == (out, "")


def test_a_warehouse_from_before_comparisons_says_what_to_do(copy):
    import duckdb

    with duckdb.connect(str(copy.db)) as con:
        con.execute("drop table marts.fct_task_pairs")
    code, _, err = copy("compare", "run-3")
    assert code == 5
    assert "`promptlab build`" in err


def put_clock_back(warehouse: Warehouse) -> None:
    """Date all that the warehouse did one hour later than it was."""
    with warehouse.writable() as con:
        for moment in (
            "raw.loads.started_at", "raw.loads.finished_at", "raw.builds.built_at",
            "raw.named_baselines.set_at", "raw.decisions.decided_at",
        ):  # fmt: skip
            table, _, column = moment.rpartition(".")
            con.execute(f"update {table} set {column} = {column} + interval 1 hour")


def test_a_baseline_that_is_loaded_again_is_another_one_after_the_clock_was_put_back(
    copy, tmp_path
):
    assert copy("baseline", "set", "run-2")[0] == 0
    warehouse = Warehouse(copy.db)
    with warehouse.writable() as con:
        record_decisions(con, [("run-1", "ship")], "policy")
    put_clock_back(warehouse)
    for n in (1, 2):
        Run(f"run-{n}", "nightly", n, {"quality": even(0.7, 6)}).write(tmp_path / "in")
    warehouse.ingest(tmp_path / "in")
    warehouse.build()
    with warehouse.connect() as con:
        assert con.execute(
            "select state from intermediate.int_named_baselines"
        ).fetchall() == [("changed",)]
        assert con.execute(
            "select is_about_this from intermediate.int_task_decisions"
            " where task_id = 'run-1'"
        ).fetchall() == [(False,)]


def test_what_is_set_last_counts_after_the_clock_was_put_back(copy, tmp_path):
    assert copy("baseline", "set", "run-1")[0] == 0
    warehouse = Warehouse(copy.db)
    ahead = " + interval 1 year"
    with warehouse.writable() as con:
        record_decisions(con, [("run-2", "do_not_ship")], "policy")
        note_reported(con, datetime.now(UTC) + timedelta(days=365))
        for change in (
            f"raw.builds set built_at = built_at{ahead}, project_hash = 'older'",
            f"raw.named_baselines set set_at = set_at{ahead}",
            f"raw.decisions set decided_at = decided_at{ahead}",
        ):
            con.execute(f"update {change}")
    with pytest.raises(BuildError):
        warehouse.build()
    warehouse.build(full_refresh=True)
    assert copy("baseline", "set", "run-2")[0] == 0
    assert baseline_of(copy, "run-3") == ("run-2", "named")
    with warehouse.writable() as con:
        record_decisions(con, [("run-2", "ship")], "policy")
    with warehouse.connect() as con:
        newest = con.execute(
            "select task_id, decision from marts.fct_decisions where is_newest"
        ).fetchall()
    assert newest == [("run-2", "ship")]
    Run("run-4", "nightly", 4, {"quality": even(0.4, 6)}).write(tmp_path / "in")
    warehouse.ingest(tmp_path / "in")
    warehouse.build()
    assert "run-4" in warehouse.to_report()
