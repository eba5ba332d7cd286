"""Runs without a time: ordered by their own rows, else by loading, never by the disk."""

from __future__ import annotations

import json
import os
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from promptlab.contracts.sources import SourcePath, TableMapping
from promptlab.ingest import times_of_runs
from promptlab.ingest.raw.rows import FileLoad
from promptlab.ingest.times_of_runs import load_starts
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA, reading_of, table

MAPPING = TableMapping(case="id", output="a", verdict="v", time="when")
SETTINGS = Settings(tables={"t": MAPPING, "u": TableMapping(case="id", output="a")})


def _table(path: Path, answer: str, *, when: str | None = None) -> Path:
    path.parent.mkdir(exist_ok=True)
    if when is None:
        path.write_text(f"id,a\n1,{answer}\n", "utf-8")
    else:
        path.write_text(f"id,a,v,when\n1,{answer},pass,{when}\n", "utf-8")
    return path


def _results(path: Path, answer: str) -> Path:
    row = {"sample_id": "s", "entity_id": "e", "variant": "v", "final_output": answer}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**row, "run_id": answer}), "utf-8")
    return path.rename(path.with_suffix(".jsonl"))


def _ragas(path: Path, answer: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    (source,) = (DATA / "ragas").glob("early*.csv")
    text = source.read_text("utf-8").replace("Nile", answer)
    path.write_text(text, "utf-8")
    return path


def _history(warehouse: Warehouse) -> list[tuple[str, ...]]:
    return warehouse.sql(
        "select any_value(regexp_extract(file_uri, '[^/]*$')) from live.tasks"
        " join raw.loads using (load_id) group by task_id, created_at"
        " order by created_at, task_id"
    ).rows()


def _touch(path: Path, year: int) -> None:
    moment = datetime(year, 1, 1, tzinfo=UTC).timestamp()
    os.utime(path, (moment, moment))


def test_the_times_of_rows_date_a_run(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text(
        "id,a,v,when\n1,x,pass,2025-06-02\n2,y,pass,2025-06-01 10:00\n3,z,fail,\n"
    )
    _touch(path, 2031)
    warehouse = Warehouse(tmp_path / "w.duckdb", settings=SETTINGS)
    (load,) = warehouse.ingest(path).files
    assert not load.problems
    created = warehouse.sql("select epoch_us(created_at) from live.tasks").item()
    assert created == datetime(2025, 6, 1, 10, tzinfo=UTC).timestamp() * 1e6


@pytest.mark.parametrize("years", [(2030, 2020), (2020, 2030), (1990, 1990)])
def test_runs_without_a_time_are_in_the_order_of_loading_whatever_the_disk_says(
    years: tuple[int, int], tmp_path: Path
) -> None:
    """Of each kind one run is loaded, then another one."""
    kinds = {"table": _table, "results": _results, "ragas": _ragas}
    calls = [
        [
            write(tmp_path / folder / f"{kind}.csv", answer)
            for kind, write in kinds.items()
        ]
        for folder, answer in (("b", "Lena"), ("a", "Volga"))
    ]
    for files, year in zip(calls, years, strict=True):
        for file in files:
            _touch(file, year)

    def loaded(name: str, *calls: list[Path]) -> list[FileLoad]:
        warehouse = Warehouse(tmp_path / f"{name}.duckdb", settings=SETTINGS)
        loads = [load for files in calls for load in warehouse.ingest(*files).files]
        history = warehouse.sql(
            "select any_value(file_uri) as file from live.tasks"
            " join raw.loads using (load_id) group by task_id, created_at"
            " order by created_at, task_id"
        )["file"]
        for kind in kinds:
            of_kind = [
                Path(file).parent.name for file in history if f"/{kind}." in file
            ]
            assert of_kind == ["b", "a"], kind
        return loads

    for load in loaded("one after the other", *calls):
        (problem,) = (p for p in load.problems if p.code == times_of_runs.TIME_MISSING)
        assert problem.severity == "warning"
        assert "ordered as they are loaded" in problem.message
    loaded("in one call", [*calls[0], *calls[1]])


NUMBERED = ("run1.csv", "run9.csv", "run10.csv", "run010b.csv", "run11/run2.csv")


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ([""], ["run1.csv", "run9.csv", "run10.csv", "run010b.csv", "run2.csv"]),
        # as a shell writes run*.csv, by bytes and by the rules of a language
        (["run1.csv", "run10.csv", "run9.csv"], ["run1.csv", "run9.csv", "run10.csv"]),
        (["run10.csv", "run1.csv", "run9.csv"], ["run1.csv", "run9.csv", "run10.csv"]),
        # in another order
        (["run9.csv", "run10.csv", "run1.csv"], ["run9.csv", "run10.csv", "run1.csv"]),
        (["run11", "run9.csv", "run10.csv"], ["run2.csv", "run9.csv", "run10.csv"]),
    ],
)
def test_files_without_a_time_are_in_the_order_of_the_numbers_in_their_names(
    named: list[str], expected: list[str], tmp_path: Path
) -> None:
    for name in NUMBERED:
        _table(tmp_path / "in" / name, name)
    warehouse = Warehouse(tmp_path / "w.duckdb", settings=SETTINGS)
    warehouse.ingest(*(tmp_path / "in" / name for name in named))
    assert _history(warehouse) == [(name,) for name in expected]


@pytest.mark.parametrize(
    ("days", "codes"), [(-1, []), (0, []), (2, [times_of_runs.TIME_IN_FUTURE])]
)
def test_a_run_of_a_day_to_come_is_reported(
    days: int, codes: list[str], tmp_path: Path
) -> None:
    day = datetime.now(UTC) + timedelta(days=days)
    path = _table(tmp_path / "t.csv", "x", when=f"{day:%Y-%m-%dT%H:%M:%SZ}")
    (load,) = Warehouse(tmp_path / "w.duckdb", settings=SETTINGS).ingest(path).files
    assert [problem.code for problem in load.problems] == codes


def test_the_columns_that_may_hold_the_time_of_a_table_are_named(
    tmp_path: Path,
) -> None:
    path = tmp_path / "u.csv"
    path.write_text("id,a,end,n,begin\n1,x,2025-06-01 10:00,1,2025-06-01T09:00:00Z\n")
    (load,) = Warehouse(tmp_path / "w.duckdb", settings=SETTINGS).ingest(path).files
    (problem,) = load.problems
    assert problem.code == times_of_runs.TIME_MISSING
    assert problem.message.endswith(
        'Write time = "end" into the mapping (or one of "begin")'
    )


@pytest.mark.parametrize("name", ["qa_2025-06-03.csv", "qa-20250603_0400.csv"])
def test_the_warning_says_how_the_date_in_a_name_counts(
    tmp_path: Path, name: str
) -> None:
    path = _table(tmp_path / name, "x")
    (load,) = Warehouse(tmp_path / "w.duckdb", settings=SETTINGS).ingest(path).files
    (problem,) = load.problems
    found = re.search(r'\[\[sources\]\] path = "(.+)"$', problem.message)
    assert found is not None
    of_path = SourcePath(path=found[1])
    settings = Settings(tables=SETTINGS.tables, sources=[of_path])
    warehouse = Warehouse(tmp_path / "dated.duckdb", settings=settings)
    assert not warehouse.ingest(path).files[0].problems
    created = warehouse.sql(
        "select strftime(created_at, '%Y%m%d') from live.tasks"
    ).item()
    assert created == "20250603"


def test_the_same_bytes_read_again_keep_their_place(tmp_path: Path) -> None:
    first = _table(tmp_path / "1.csv", "x")
    second = _table(tmp_path / "2.csv", "y")
    db = tmp_path / "w.duckdb"
    Warehouse(db, settings=SETTINGS).ingest(first)
    Warehouse(db, settings=SETTINGS).ingest(second)
    other = Settings(tables={"new": TableMapping(case="id", output="a", title="id")})
    warehouse = Warehouse(db, settings=other)
    (load,) = warehouse.ingest(first).files
    assert load.status == "loaded"
    assert _history(warehouse) == [("1.csv",), ("2.csv",)]


def test_new_content_of_a_file_is_newer(tmp_path: Path) -> None:
    path, other = tmp_path / "r.json", tmp_path / "s.json"
    warehouse = Warehouse(tmp_path / "w.duckdb")
    row = {"sample_id": "s", "entity_id": "e", "variant": "v"}
    path.write_text(json.dumps({**row, "final_output": "a"}))
    other.write_text(json.dumps({**row, "final_output": "b"}))
    warehouse.ingest(path, other)
    path.write_text(json.dumps({**row, "final_output": "c"}))
    warehouse.ingest(path)
    assert _history(warehouse) == [("s.json",), ("r.json",)]


def test_loads_begin_later_than_all_before_when_the_clock_goes_back() -> None:
    ahead = datetime.now(UTC) + timedelta(days=1)
    starts = load_starts(ahead)
    first, second = next(starts), next(starts)
    assert ahead < first < second


def test_a_clock_that_goes_back_does_not_reorder_runs(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb", settings=SETTINGS)
    for name in ("1.csv", "2.csv"):
        warehouse.ingest(_table(tmp_path / name, name))
        with duckdb.connect(tmp_path / "w.duckdb") as con:
            con.execute(
                "update raw.loads set finished_at = finished_at + interval 1 day"
            )
            con.execute("update raw.tasks set created_at = created_at + interval 1 day")
    warehouse.ingest(_table(tmp_path / "0.csv", "z"))
    assert _history(warehouse) == [("1.csv",), ("2.csv",), ("0.csv",)]


def test_every_tool_is_read_alike_whatever_the_disk_says(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(DATA / "deepeval", tmp_path / "in"))
    before = table(reading_of(folder / "early"), "tasks")
    for path in folder.rglob("*"):
        _touch(path, 1999)
    assert table(reading_of(folder / "early"), "tasks").equals(before)


def test_langsmith_is_dated_by_the_ids_of_its_rows() -> None:
    reading = reading_of(DATA / "langsmith" / "early.jsonl")
    times = table(reading, "rounds")["executed_at"]
    assert table(reading, "tasks")["created_at"][0] == times.min()
