"""Files of one run are put together, in whatever calls they come."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from promptlab.operations.health import examine
from promptlab.operations.purge import purge
from promptlab.warehouse import Warehouse
from tests.marts import only

only_checked = only("dim_cases", "fct_case_results", "fct_task_summaries")

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


def _score(run: str, case: str, value: float = 1) -> dict[str, Any]:
    one = {"task_id": run, "case_id": case, "round_id": f"{case}-1"}
    return {**one, "dimension_id": "d", "score": value, "scorer": "j"}


def _scored(warehouse: Warehouse) -> dict[str, str]:
    """Return the cases with a score of each run."""
    sql = (
        "select task_id, string_agg(case_id, '' order by case_id) from live.scores"
        " group by all"
    )
    return dict(warehouse.sql(sql).rows())


def test_scores_of_replaced_answers_do_not_come_back_with_a_file_that_grows(
    tmp_path: Path,
) -> None:
    """At its path, or under another name with all scores that there are so far."""
    names = {"same": "scores.jsonl", "new name": "scores_2.jsonl"}
    kinds = [(name, again) for name in names for again in (False, True)]
    runs = {(name, again): f"{name} {again}" for name, again in kinds}

    def answered(answer: str) -> list[Path]:
        return [
            _write(
                tmp_path / run / "a.jsonl",
                [_line(case, answer, run_id=run) for case in "st"],
            )
            for run in runs.values()
        ]

    first = [
        _write(
            tmp_path / run / "scores.jsonl",
            [_score(f"before {run}", "s"), _score(run, "s"), _score(run, "t")],
        )
        for run in runs.values()
    ]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(*answered("a"), *first)
    assert {*runs.values()} <= _scored(warehouse).keys()
    warehouse.ingest(*answered("b"))
    assert not {*runs.values()} & _scored(warehouse).keys()
    grown = [
        _write(
            tmp_path / run / names[name],
            [
                _score(f"before {run}", "s"),
                _score(run, "s", 0.5 if again else 1),
                _score(run, "t"),
                _score(f"after {run}", "s"),
            ],
        )
        for (name, again), run in runs.items()
    ]
    for load in warehouse.ingest(*grown).files:
        codes = [each.code for each in load.problems if each.code == "scores_outdated"]
        is_judged_again = load.path.parent.name.endswith("True")
        assert codes == ([] if is_judged_again else ["scores_outdated"]), load.path
    found = _scored(warehouse)
    assert {kind: found.get(run) for kind, run in runs.items()} == {
        (name, again): "st" if again else None for name, again in kinds
    }
    assert {each.status for each in warehouse.ingest(*grown).files} == {"unchanged"}


def test_scores_go_with_the_answers_that_they_judged(tmp_path: Path) -> None:
    def answered(run: str, name: str, **answers: str) -> Path:
        lines = [_line(case, answer, run_id=run) for case, answer in answers.items()]
        return _write(tmp_path / run / name, lines)

    runs = ("same", "another")
    scores = [_score(run, case) for run in runs for case in "st"]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(
        *(answered(run, "a.jsonl", s="a", t="a") for run in runs),
        _write(tmp_path / "scores.jsonl", scores),
    )
    again = warehouse.ingest(
        answered("same", "a.jsonl", s="other", t="a"),
        answered("another", "b.jsonl", s="other"),
    )
    for load in again.files:
        assert "scores_outdated" in [each.code for each in load.problems]
    assert _scored(warehouse) == {"same": "t", "another": "t"}


@pytest.mark.slow
@only_checked
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


def test_a_changed_file_that_replaces_no_round_any_more_says_so(tmp_path: Path) -> None:
    a, b = _shards(tmp_path)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(a, b)
    _write(b, [_line(f"s{n}", "b") for n in range(5, 10)])
    (problem,) = warehouse.ingest(b).files[0].problems
    assert "5 stay and 0 are replaced" in problem.message


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


@pytest.mark.parametrize("block", [100, 1 << 20])
def test_any_order_of_changed_files_leaves_the_rounds_of_the_final_files(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve runs, each in a folder of its own; a call has a step of each."""
    for module in ("file_reader", "files.input_file"):
        monkeypatch.setattr(f"promptlab.ingest.{module}.BLOCK_BYTES", block)
    draw = random.Random(block)
    every_round = [(case, one) for case in "st" for one in "12"]
    # of the files of each run, oldest first
    contents: list[dict[str, dict[tuple[str, str], str]]] = [{} for _ in range(12)]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    for n in range(6):
        call = []
        for run, files in enumerate(contents):
            if n > 1 and draw.random() < 0.2:
                continue
            stem, answer = draw.choice("abc"), f"{run} {n}"
            rounds = draw.sample(every_round, draw.randint(1, 4))
            files.pop(stem, None)
            files[stem] = dict.fromkeys(rounds, answer)
            lines = [
                _line(case, answer, round_id=one, tags=[stem], run_id=f"{run}")
                for case, one in sorted(rounds)
            ]
            file = _write(tmp_path / "d" / f"{run}/{stem}.jsonl", lines)
            call.append(draw.choice((file, file.parent)))
        warehouse.ingest(*call)
    expected = {
        (str(run), *key): answer
        for run, files in enumerate(contents)
        for answers in files.values()
        for key, answer in answers.items()
    }
    sql = "select task_id, case_id, round_id, raw_output from live.rounds order by all"
    rows = warehouse.sql(sql).rows()
    assert rows == sorted((*key, answer) for key, answer in expected.items())
    newest = {
        (str(run), case): stem
        for run, files in enumerate(contents)
        for stem, answers in files.items()
        for case, _ in answers
    }
    sql = "select task_id, case_id, tags ->> '$[0]' from live.cases order by all"
    rows = warehouse.sql(sql).rows()
    assert rows == sorted((*key, stem) for key, stem in newest.items())
    bad = [each for each in examine(warehouse) if each.state == "fail"]
    assert not bad
    fresh = Warehouse(tmp_path / "fresh.duckdb")
    fresh.ingest(tmp_path / "d")
    sql = "select task_id, case_id, round_id from live.rounds order by all"
    assert warehouse.sql(sql).rows() == fresh.sql(sql).rows()
