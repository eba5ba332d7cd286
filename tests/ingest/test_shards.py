"""Files of one run are put together, in whatever calls they come."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from promptlab.operations.health import examine
from promptlab.operations.purge import purge
from promptlab.warehouse import Warehouse

ROWS = {
    "rounds": "select task_id, case_id, round_id, raw_output, load_id, position"
    " from raw.rounds order by all",
    "cases": "select task_id, case_id, load_id from raw.cases order by all",
    "tasks": "select task_id, title, created_at, load_id from raw.tasks order by all",
    "loads": "select file_uri, status, rows_loaded from raw.loads order by load_id",
}


def _line(case: str, output: str, **more: Any) -> dict[str, Any]:
    return {
        "sample_id": case,
        "run_id": "R",
        "entity_type": "prompt",
        "entity_id": "p",
        "variant": "v1",
        "raw_output": output,
        "created_at": "2026-01-02T00:00:00Z",
        **more,
    }


def _write(file: Path, lines: Sequence[dict[str, Any]]) -> Path:
    file.write_text("".join(f"{json.dumps(each)}\n" for each in lines), "utf-8")
    return file


def _shards(folder: Path) -> tuple[Path, Path]:
    return (
        _write(folder / "a.jsonl", [_line(f"s{n}", "a") for n in range(5)]),
        _write(folder / "b.jsonl", [_line(f"s{n}", "b") for n in range(4, 10)]),
    )


def _rows(warehouse: Warehouse) -> dict[str, Any]:
    return {name: warehouse.sql(sql).rows() for name, sql in ROWS.items()}


def _outputs(warehouse: Warehouse) -> dict[str, str]:
    sql = "select case_id, raw_output from raw.rounds order by all"
    return dict(warehouse.sql(sql).rows())


def test_one_call_with_two_files_of_a_run_gives_what_two_calls_give(
    tmp_path: Path,
) -> None:
    a, b = _shards(tmp_path)
    one, two = (Warehouse(tmp_path / f"{name}.duckdb") for name in ("one", "two"))
    (first, second) = one.ingest(a, b).files
    two.ingest(a)
    (later,) = two.ingest(b).files
    assert _rows(one) == _rows(two)
    assert _outputs(one) == {
        **{f"s{n}": "a" for n in range(4)},
        **{f"s{n}": "b" for n in range(4, 10)},
    }
    assert not first.problems
    for load in (second, later):
        (problem,) = load.problems
        assert problem.code == "results_merged"
        assert "4 stay and 1 are replaced" in problem.message
        assert "a.jsonl" in problem.message


def test_files_of_a_run_that_did_not_change_change_nothing(tmp_path: Path) -> None:
    a, b = _shards(tmp_path)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(a)
    warehouse.ingest(b)
    before = _rows(warehouse)
    for files in ([a], [b], [a, b]):
        loads = warehouse.ingest(*files).files
        assert {each.status for each in loads} == {"unchanged"}
    assert _rows(warehouse) == before


def test_a_file_that_changed_replaces_its_own_rows_alone(tmp_path: Path) -> None:
    a, b = _shards(tmp_path)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(a, b)
    _write(b, [_line("s8", "new")])
    warehouse.ingest(b)
    assert _outputs(warehouse) == {**{f"s{n}": "a" for n in range(4)}, "s8": "new"}
    cases = [case for _, case, _ in _rows(warehouse)["cases"]]
    assert cases == ["s0", "s1", "s2", "s3", "s8"]
    _write(a, [_line("s1", "other")])
    warehouse.ingest(a)
    assert _outputs(warehouse) == {"s1": "other", "s8": "new"}


def test_a_case_stays_while_any_file_has_a_round_of_it(tmp_path: Path) -> None:
    a = _write(tmp_path / "a.jsonl", [_line("s", "a", round_id="1")])
    b = _write(tmp_path / "b.jsonl", [_line("s", "b", round_id="2"), _line("t", "b")])
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(a, b)
    assert len(_rows(warehouse)["rounds"]) == 3
    _write(b, [_line("t", "b")])
    warehouse.ingest(b)
    rows = _rows(warehouse)
    assert [case for _, case, _ in rows["cases"]] == ["s", "t"]
    loads = {(case, load) for _, case, _, _, load, _ in rows["rounds"]}
    assert {(case, load) for _, case, load in rows["cases"]} == loads


def test_a_run_in_several_files_builds_and_is_sound(tmp_path: Path) -> None:
    a, b = _shards(tmp_path)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(a)
    warehouse.build()
    warehouse.ingest(b)
    warehouse.build()
    assert warehouse.sql("select count(*) from marts.dim_cases").rows() == [(10,)]
    bad = [each for each in examine(warehouse) if each.state == "fail"]
    assert not bad
    purge(warehouse, tasks=["R"])
    assert not any(_rows(warehouse)[name] for name in ("rounds", "cases", "tasks"))


@pytest.mark.parametrize("block", [200, 1 << 20])
def test_large_files_of_a_run_are_merged_batch_by_batch(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("file_reader", "files.input_file"):
        monkeypatch.setattr(f"promptlab.ingest.{module}.BLOCK_BYTES", block)
    a, b = _shards(tmp_path)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(a)
    warehouse.ingest(b)
    warehouse.ingest(_write(a, [_line("s4", "late"), _line("s0", "late")]))
    assert _outputs(warehouse) == {
        **{f"s{n}": "b" for n in range(5, 10)},
        "s4": "late",
        "s0": "late",
    }
