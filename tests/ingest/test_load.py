"""The loader: whole files only, the same bytes once, replacement in one transaction."""

from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import duckdb
import pytest

from promptlab.cli import run_cli
from promptlab.contracts.sources import TableMapping
from promptlab.errors import InputError, NothingToDo, WarehouseError
from promptlab.ingest import raw
from promptlab.ingest.raw import write as write_module
from promptlab.settings import Settings, TitleSettings
from promptlab.warehouse import Warehouse
from tests.marts import GATE, only


def task(task_id: str = "t1", answer: str = "yes", cases: int = 1) -> dict[str, Any]:
    return {
        "task": {
            "task_id": task_id,
            "title": "T",
            "prompt_version": "v1",
            "model": "m",
            "triggered_by": "ci",
            "env": {},
            "created_at": "2026-01-01T00:00:00Z",
        },
        "cases": [
            {
                "case_id": f"c{n}",
                "context": {},
                "rounds": [
                    {
                        "round_id": f"c{n}-1",
                        "run_index": 1,
                        "raw_output": answer,
                        "parsed_output": None,
                        "metadata": {},
                        "executed_at": "2026-01-01T00:00:01Z",
                    }
                ],
                "baselines": [],
                "tags": [],
            }
            for n in range(cases)
        ],
        "dimensions": [],
        "extras": {},
    }


def write(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "\n".join(r if isinstance(r, str) else json.dumps(r) for r in records), "utf-8"
    )
    return path


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "w.duckdb")


def query(warehouse: Warehouse, sql: str) -> list[tuple]:
    with warehouse.connect() as con:
        return con.execute(sql).fetchall()


def statuses(warehouse: Warehouse) -> list[tuple]:
    return query(warehouse, "select kind, status from raw.loads order by load_id")


def test_the_same_bytes_again_change_nothing(tmp_path, warehouse):
    file = write(tmp_path / "in" / "a.json", task())
    assert warehouse.ingest(file.parent).n_loaded == 1
    before = query(warehouse, "select * from raw.loads")
    assert warehouse.ingest(file.parent).n_unchanged == 1
    copied = write(tmp_path / "elsewhere" / "copy.json", task())
    assert warehouse.ingest(copied).n_unchanged == 1
    assert query(warehouse, "select * from raw.loads") == before


def test_a_file_changed_back_is_loaded_again(tmp_path, warehouse):
    file = write(tmp_path / "a.json", task(answer="one"))
    for answer in ("one", "two", "one"):
        write(file, task(answer=answer))
        warehouse.ingest(file)
    assert query(warehouse, "select raw_output from live.rounds") == [("one",)]


@pytest.mark.parametrize("sink", ["duckdb", "parquet"])
def test_a_file_of_two_runs_of_which_one_was_replaced_is_loaded_again(
    tmp_path, warehouse, sink
):
    def run(run_id, answer):
        one = {"run_id": run_id, "sample_id": "s", "entity_id": "p", "variant": "v"}
        return json.dumps({**one, "final_output": answer}) + "\n"

    file = tmp_path / "in" / "runs.jsonl"
    file.parent.mkdir()
    both, newer = run("a", "one") + run("b", "one"), run("a", "two")
    to = "duckdb" if sink == "duckdb" else f"parquet://{tmp_path / 'raw'}"
    found = []
    for content in (both, newer, both, both):
        file.write_text(content, "utf-8")
        found.append(warehouse.ingest(file, sink=to).files[0].status)
    assert found == ["loaded", "loaded", "loaded", "unchanged"]
    if sink == "duckdb":
        rows = query(warehouse, "select task_id, final_output from live.rounds")
        assert sorted(rows) == [("a", '"one"'), ("b", '"one"')]


def test_two_files_of_one_task_settle_and_reading_them_again_changes_nothing(
    tmp_path, warehouse
):
    write(tmp_path / "in" / "a.json", task(answer="first"))
    write(tmp_path / "in" / "b.json", task(answer="second"))
    warehouse.ingest(tmp_path / "in")
    assert query(warehouse, "select raw_output from live.rounds") == [("second",)]
    again = warehouse.ingest(tmp_path / "in")
    assert again.n_loaded == 0
    assert query(warehouse, "select raw_output from live.rounds") == [("second",)]


def test_another_testset_option_is_another_load(tmp_path, warehouse):
    file = write(tmp_path / "a.json", task())
    warehouse.ingest(file)
    assert warehouse.ingest(file, testset="other").n_loaded == 1
    assert query(
        warehouse,
        "select testset_override from raw.loads semi join live.tasks using (load_id)",
    ) == [("other",)]


def test_a_batch_that_fails_leaves_the_warehouse_as_it_was(
    tmp_path, warehouse, monkeypatch
):
    warehouse.ingest(write(tmp_path / "a.json", task(answer="kept")))
    real = raw.append

    def fail_at_rounds(con, table, parts):
        if table == "rounds":
            raise duckdb.IOException("disk full")
        return real(con, table, parts)

    monkeypatch.setattr(write_module.raw, "append", fail_at_rounds)
    write(tmp_path / "a.json", task(answer="new"))
    with pytest.raises(WarehouseError, match="disk full"):
        warehouse.ingest(tmp_path / "a.json")
    monkeypatch.undo()
    assert query(warehouse, "select raw_output from live.rounds") == [("kept",)]
    assert statuses(warehouse) == [("analysis", "loaded")]


def test_a_rejected_file_keeps_its_rejects_and_the_live_version(tmp_path, warehouse):
    file = write(tmp_path / "a.json", task(answer="good"))
    warehouse.ingest(file)
    broken = task(answer="bad")
    broken["dimensions"] = [{"dimension_id": "x"}]
    write(file, broken)
    ingested = warehouse.ingest(file)
    assert ingested.n_rejected == 1
    assert ingested.files[0].problems
    again = warehouse.ingest(file)  # does not read it
    assert (again.n_rejected, again.n_rejected_before) == (0, 1)
    assert again.files[0].problems == []
    assert statuses(warehouse) == [("analysis", "loaded"), ("analysis", "rejected")]
    assert query(warehouse, "select raw_output from live.rounds") == [("good",)]
    assert query(warehouse, "select count(*) > 0 from raw.rejects") == [(True,)]


def test_a_walked_file_of_no_known_kind_is_skipped_once(tmp_path, warehouse):
    write(tmp_path / "in" / "notes.txt", "hello")
    write(tmp_path / "in" / "a.json", task())
    warehouse.ingest(tmp_path / "in")
    assert warehouse.ingest(tmp_path / "in").n_skipped == 1
    assert sorted(statuses(warehouse)) == [
        ("analysis", "loaded"),
        ("unknown", "skipped"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.json", b"", "is empty"),
        ("blank.json", b"  \n", "is empty"),
        ("notes.txt", b"hello", "is of no known kind"),
        ("run.json.gz", b"\x1f\x8b\x08\x00", "is compressed: unpack it"),
        ("run.zip", b"PK\x03\x04", "is compressed: unpack it"),
        ("run.json", b"\xff\xfe{\x00}\x00", "is UTF-16, not UTF-8: save it as UTF-8"),
        ("image.json", b"\x89PNG\x00\x00", "is a picture or a PDF: load the data"),
        ("page.json", b"\n<!DOCTYPE html><p>404", "is a web page: download"),
        ("run.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1", "is a workbook with a password"),
        ("run.json", b"version https://git-lfs.x/v1", "`git lfs pull`"),
        (
            "noise.json",
            bytes(range(256)),
            "name its kind with `--kind`, or make it a table",
        ),
        ("cut.xlsx", b"PK\x03\x04", "is compressed: unpack it"),
    ],
)
def test_a_file_named_itself_must_be_of_a_known_kind(
    tmp_path, warehouse, name, content, message
):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as refused:
        warehouse.ingest(tmp_path / name)
    said = str(refused.value).removeprefix(f"{tmp_path}/")
    assert len(said) <= 200
    assert "\n" not in said


@only(*GATE)
def test_a_file_of_no_known_kind_does_not_stop_the_others_and_is_never_shipped_over(
    tmp_path, warehouse, capsys
):
    """A shell names every file of `results/*.json`, also one that was cut off."""
    write(tmp_path / "a.json", task())
    (tmp_path / "b.json").write_bytes(b"")
    found = warehouse.ingest(tmp_path / "a.json", tmp_path / "b.json")
    assert (found.n_loaded, found.n_rejected) == (1, 1)
    warehouse.build()
    assert run_cli(["gate", "latest", "--db", str(warehouse.settings.db)]) == 4
    assert "1 file was left out" in " ".join(capsys.readouterr().out.split())
    (tmp_path / "c.json").write_bytes(b"")
    assert warehouse.ingest(tmp_path / "c.json").n_rejected == 1
    assert run_cli(["gate", "latest", "--db", str(warehouse.settings.db)]) == 4
    assert "2 files were left out" in " ".join(capsys.readouterr().out.split())


def test_a_path_that_is_not_there_is_named(tmp_path, warehouse):
    with pytest.raises(InputError, match=r"gone\.json: cannot be read: No such file"):
        warehouse.ingest(tmp_path / "gone.json")


def test_an_empty_folder_is_nothing_to_do(tmp_path, warehouse):
    (tmp_path / "in").mkdir()
    with pytest.raises(NothingToDo, match="no files below"):
        warehouse.ingest(tmp_path / "in")


def test_hidden_folders_are_walked(tmp_path, warehouse):
    write(tmp_path / "in" / ".sage" / "a.json", task())
    assert warehouse.ingest(tmp_path / "in").n_loaded == 1


@pytest.mark.parametrize("is_named", [False, True])
def test_a_file_whose_name_is_not_utf8_is_rejected_and_the_others_load(
    is_named: bool, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    line = '{"id": "a", "inputs": {"q": "x"}}\n'
    good = folder / "s_smoke_v1.jsonl"
    good.write_text(line, "utf-8")
    odd = folder / os.fsdecode(b"caf\xe9.jsonl")
    odd.write_text(line, "utf-8")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    paths = (odd, good) if is_named else (folder,)
    for _ in range(2):
        loads = {load.path.name: load for load in warehouse.ingest(*paths).files}
        assert loads["s_smoke_v1.jsonl"].status in {"loaded", "unchanged"}
        rejected = loads["caf\\xe9.jsonl"]
        assert rejected.status == "rejected"
        assert "is not UTF-8: rename it" in rejected.problems[0].message


CASE = "Café"
WRITTEN = f" {unicodedata.normalize('NFD', CASE)}\u00a0"

MAPPING = TableMapping(case="id", inputs=["q"], output="a", verdict="v")


def _files(folder: Path) -> None:
    analysis = task("run")
    analysis["task"] |= {"title": WRITTEN, "variant": WRITTEN}
    analysis["cases"] = [{**analysis["cases"][0], "case_id": WRITTEN}]
    write(folder / "analysis.json", analysis)
    records = {
        "results": {
            "sample_id": WRITTEN, "entity_id": "e", "variant": WRITTEN,
            "final_output": "a", "created_at": "2026-01-01T00:00:00Z",
        },
        "cases": {"id": WRITTEN, "input": "q", "expected_output": "a"},
        "scores": {
            "task_id": "run", "case_id": WRITTEN, "round_id": "r", "scorer": "judge",
            "dimension_id": "d", "score": 1,
        },
    }  # fmt: skip
    for name, record in records.items():
        (folder / f"{name}.jsonl").write_text(json.dumps(record), "utf-8")
    rows = f"id,q,a,v\n{WRITTEN},q,a,pass\n"
    (folder / "table.csv").write_text(rows, "utf-8")


def test_case_ids_titles_and_variants_ignore_unicode_forms_and_outer_blanks(tmp_path):
    files = tmp_path / "in"
    files.mkdir()
    _files(files)
    settings = Settings(
        db=tmp_path / "w.duckdb",
        tables={"t": MAPPING},
        titles={WRITTEN: TitleSettings(alias=["before"])},
    )
    warehouse = Warehouse(settings.db, settings=settings)
    result = warehouse.ingest(files)
    assert {each.status for each in result.files} == {"loaded"}, result.files
    with warehouse.examining() as con:
        tables = con.execute(
            "select table_name from duckdb_columns()"
            " where schema_name = 'raw' and column_name = 'case_id'"
        ).fetchall()
        found = {
            table: con.execute(f"select distinct case_id from raw.{table}").fetchall()
            for (table,) in tables
        }
        names = con.execute("select title, variant from live.tasks").fetchall()
    held = {table: rows for table, rows in found.items() if rows}
    assert {"cases", "rounds", "scores", "test_cases", "expectations"} <= held.keys()
    assert all(rows == [(CASE,)] for rows in held.values()), held
    assert (CASE, CASE) in names


@pytest.mark.parametrize("twin", [CASE, WRITTEN])
def test_a_case_whose_id_differs_in_outer_blanks_only_is_a_duplicate(tmp_path, twin):
    analysis = task("run")
    first = {**analysis["cases"][0], "case_id": CASE}
    analysis["cases"] = [first, {**first, "case_id": twin}]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    result = warehouse.ingest(write(tmp_path / "a.json", analysis))
    assert any("duplicate" in each.code for each in result.files[0].problems)
