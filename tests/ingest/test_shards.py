"""Files of one run are put together, in whatever calls they come."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptlab.operations.health import examine
from promptlab.operations.purge import purge
from promptlab.warehouse import Warehouse

ROWS = {
    "rounds": "select task_id, case_id, round_id, raw_output, load_id, position"
    " from live.rounds order by all",
    "cases": "select task_id, case_id, load_id from live.cases order by all",
    "tasks": "select task_id, title, created_at, load_id from live.tasks order by all",
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
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(each)}\n" for each in lines), "utf-8")
    return file


def _shards(folder: Path) -> tuple[Path, Path]:
    return (
        _write(folder / "a.jsonl", [_line(f"s{n}", "a") for n in range(5)]),
        _write(folder / "b.jsonl", [_line(f"s{n}", "b") for n in range(4, 10)]),
    )


def _rows(warehouse: Warehouse) -> dict[str, Any]:
    with warehouse.connect() as con:
        return {name: con.execute(sql).fetchall() for name, sql in ROWS.items()}


def _outputs(warehouse: Warehouse) -> dict[str, str]:
    sql = "select case_id, raw_output from live.rounds order by all"
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


@pytest.mark.parametrize("field", ["entity_id", "variant"])
def test_a_file_of_another_variant_does_not_take_the_run_id_of_one(
    tmp_path: Path, field: str
) -> None:
    """Each job of a matrix wrote the run_id of the whole."""
    a = _write(tmp_path / "a.jsonl", [_line("s", "a")])
    b = _write(tmp_path / "b.jsonl", [_line("s", "b", **{field: "other"})])
    warehouse = Warehouse(tmp_path / "w.duckdb")
    told = {load.path.name: load for load in warehouse.ingest(a, b).files}
    (problem,) = told["b.jsonl"].problems
    assert (told["b.jsonl"].status, problem.code) == ("rejected", "run_id_shared")
    assert str(a) in problem.message
    assert warehouse.ingest(a, b).n_rejected_before == 1
    assert _outputs(warehouse) == {"s": "a"}
    # the file that has it may say something else of itself
    _write(a, [_line("s", "c", **{field: "other"})])
    assert warehouse.ingest(a).files[0].status == "loaded"


def test_a_part_that_names_no_testset_leaves_that_of_the_run(tmp_path: Path) -> None:
    a = _write(tmp_path / "a.jsonl", [_line("s", "a", testset="set")])
    b = _write(tmp_path / "b.jsonl", [_line("t", "b")])
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(a)
    warehouse.ingest(b)
    assert warehouse.sql("select testset_ref from live.tasks").rows() == [("set",)]


@pytest.mark.parametrize("name", ["scores.jsonl", "scores_2.jsonl"])
@pytest.mark.parametrize(("is_judged_again", "left"), [(False, []), (True, ["s", "t"])])
def test_scores_of_replaced_answers_do_not_come_back_with_a_file_that_grows(
    tmp_path: Path, is_judged_again: bool, left: list[str], name: str
) -> None:
    """At its path, or under another name with all scores that there are so far."""

    def score(case: str, value: float, task: str = "R") -> dict[str, Any]:
        one = {"task_id": task, "case_id": case, "round_id": f"{case}-1"}
        return {**one, "dimension_id": "d", "score": value, "scorer": "j"}

    a = _write(tmp_path / "a.jsonl", [_line("s", "a"), _line("t", "a")])
    of_before = score("s", 1, "P")
    lines = [of_before, score("s", 1), score("t", 1)]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(a, _write(tmp_path / "scores.jsonl", lines))
    warehouse.ingest(_write(a, [_line("s", "b"), _line("t", "b")]))
    assert warehouse.sql("from live.scores where task_id = 'R'").rows() == []
    now = [score("s", 0.5 if is_judged_again else 1), score("t", 1), score("s", 1, "Q")]
    scores = _write(tmp_path / name, [of_before, *now])
    (load,) = warehouse.ingest(scores).files
    found = [each.code for each in load.problems if each.code == "scores_outdated"]
    assert found == ([] if is_judged_again else ["scores_outdated"])
    rows = warehouse.sql(
        "select case_id from live.scores where task_id = 'R' order by 1"
    )
    assert [case for (case,) in rows.rows()] == left
    assert {each.status for each in warehouse.ingest(scores).files} == {"unchanged"}


@pytest.mark.parametrize("is_same_file", [True, False])
def test_scores_go_with_the_answers_that_they_judged(
    tmp_path: Path, is_same_file: bool
) -> None:
    a = _write(tmp_path / "a.jsonl", [_line("s", "a"), _line("t", "a")])
    scores = [
        {"task_id": "R", "case_id": case, "round_id": f"{case}-1", "dimension_id": "d"}
        | {"score": 1, "scorer": "j"}
        for case in "st"
    ]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(a, _write(tmp_path / "scores.jsonl", scores))
    again = [_line("s", "other"), *([_line("t", "a")] if is_same_file else [])]
    name = "a.jsonl" if is_same_file else "b.jsonl"
    (load,) = warehouse.ingest(_write(tmp_path / name, again)).files
    assert "scores_outdated" in [each.code for each in load.problems]
    assert warehouse.sql("select case_id from live.scores").rows() == [("t",)]


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
    assert _outputs(warehouse) == {**{f"s{n}": "a" for n in range(5)}, "s8": "new"}
    cases = [case for _, case, _ in _rows(warehouse)["cases"]]
    assert cases == ["s0", "s1", "s2", "s3", "s4", "s8"]
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


@pytest.mark.slow
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


def test_a_round_that_a_changed_file_no_longer_has_comes_back_from_the_other_file(
    tmp_path: Path,
) -> None:
    a = _write(tmp_path / "d/1.jsonl", [_line(f"s{n}", "a") for n in range(20)])
    b = _write(tmp_path / "d/2.jsonl", [_line(f"s{n}", "b") for n in range(10, 40)])
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(tmp_path / "d")
    _write(b, [_line(f"s{n}", "b") for n in range(20, 40)])
    (problem,) = warehouse.ingest(b).files[0].problems
    assert "20 stay and 0 are replaced" in problem.message
    fresh = Warehouse(tmp_path / "fresh.duckdb")
    fresh.ingest(a, b)
    assert _outputs(warehouse) == _outputs(fresh)
    assert [each[:2] for each in _rows(warehouse)["cases"]] == [
        each[:2] for each in _rows(fresh)["cases"]
    ]
    warehouse.build()
    assert warehouse.sql("select count(*) from marts.dim_cases").rows() == [(40,)]
    assert not [each for each in examine(warehouse) if each.state == "fail"]


def test_a_file_of_which_no_round_was_left_is_loaded_again_when_they_come_back(
    tmp_path: Path,
) -> None:
    a = _write(tmp_path / "a.jsonl", [_line("s", "a", tags=["of_a"])])
    b = _write(tmp_path / "b.jsonl", [_line("s", "b", tags=["of_b"])])
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(a)
    warehouse.ingest(b)
    _write(b, [_line("t", "b")])
    warehouse.ingest(b)
    assert _outputs(warehouse) == {"s": "a", "t": "b"}
    tags = warehouse.sql("select tags from live.cases where case_id = 's'").rows()
    assert tags == [('["of_a"]',)]


def test_a_purge_also_deletes_rounds_that_another_file_replaced(
    tmp_path: Path,
) -> None:
    a, b = _shards(tmp_path)
    other = [_line("o", "a") | {"run_id": "Q"}]
    _write(a, [*[_line(f"s{n}", "a") for n in range(5)], *other])
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(a, b)
    purge(warehouse, tasks=["R"])
    for table in ("rounds", "cases", "tasks", "objects"):
        key = "object_id" if table == "objects" else "task_id"
        sql = f"select count(*) from raw.{table} where {key} = 'R'"
        assert warehouse.sql(sql).rows() == [(0,)]
    _write(b, [_line("s9", "new")])
    warehouse.ingest(b)
    assert _outputs(warehouse) == {"o": "a", "s9": "new"}


def test_several_runs_in_several_files_are_merged_in_one_call(tmp_path: Path) -> None:
    for name in ("1", "2"):
        for run in ("Q", "R"):
            lines = [
                _line(case, name) | {"run_id": run} for case in ("both", f"only{name}")
            ]
            _write(tmp_path / f"d/{name}{run}.jsonl", lines)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(tmp_path / "d")
    sql = "select task_id, case_id, raw_output from live.rounds order by all"
    assert warehouse.sql(sql).rows() == [
        (run, case, output)
        for run in ("Q", "R")
        for case, output in (("both", "2"), ("only1", "1"), ("only2", "2"))
    ]


_SHARD = st.sets(st.tuples(st.sampled_from("st"), st.sampled_from("12")), min_size=1)
_STEP = st.tuples(
    st.sampled_from(["a", "b", "c"]), _SHARD, st.sampled_from(["file", "folder"])
)
_STORY = st.lists(_STEP, min_size=2, max_size=6)
_STORIES = st.lists(_STORY, min_size=6, max_size=6)
"""Each of a run of its own, in a folder of its own; a call has a step of each."""


@pytest.mark.parametrize("block", [100, 1 << 20])
@given(_STORIES)
@settings(max_examples=2)
def test_any_order_of_changed_files_leaves_the_rounds_of_the_final_files(
    block: int, stories: list[list[tuple[str, set[tuple[str, str]], str]]]
) -> None:
    # of the files of each run, oldest first
    contents: list[dict[str, dict[tuple[str, str], str]]] = [{} for _ in stories]
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        for module in ("file_reader", "files.input_file"):
            patch.setattr(f"promptlab.ingest.{module}.BLOCK_BYTES", block)
        folder = Path(name)
        warehouse = Warehouse(folder / "w.duckdb")
        for n in range(max(map(len, stories))):
            call = []
            for run, steps in enumerate(stories):
                for stem, rounds, what in steps[n : n + 1]:
                    answer = f"{run} {stem}{n}"
                    contents[run].pop(stem, None)
                    contents[run][stem] = dict.fromkeys(rounds, answer)
                    lines = [
                        _line(case, answer, round_id=one, tags=[stem], run_id=f"{run}")
                        for case, one in sorted(rounds)
                    ]
                    file = _write(folder / "d" / f"{run}/{stem}.jsonl", lines)
                    call.append(file if what == "file" else file.parent)
            warehouse.ingest(*call)
        expected = {
            (str(run), *key): answer
            for run, files in enumerate(contents)
            for answers in files.values()
            for key, answer in answers.items()
        }
        sql = "select task_id, case_id, round_id, raw_output from live.rounds"
        assert {row[:3]: row[3] for row in warehouse.sql(sql).rows()} == expected
        newest = {
            (str(run), case): stem
            for run, files in enumerate(contents)
            for stem, answers in files.items()
            for case, _ in answers
        }
        sql = "select task_id, case_id, tags ->> '$[0]' from live.cases"
        assert {row[:2]: row[2] for row in warehouse.sql(sql).rows()} == newest
        bad = [each for each in examine(warehouse) if each.state == "fail"]
        assert not bad
        fresh = Warehouse(folder / "fresh.duckdb")
        fresh.ingest(folder / "d")
        sql = "select task_id, case_id, round_id from live.rounds order by all"
        assert warehouse.sql(sql).rows() == fresh.sql(sql).rows()
