"""Problems that need all files of a call are reported and stored once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptlab.ingest.ingested import Ingested
from promptlab.warehouse import Warehouse
from tests.ingest.test_load import query, task, write
from tests.memory.runs import Document

KEPT = "select regexp_extract(file_uri, '[^/]+$'), record_id, code from raw.rejects order by all"


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    monkeypatch.chdir(tmp_path)
    return Warehouse("w.duckdb")


def results(*samples: str, **fields: Any) -> list[Document]:
    when = "2026-01-01T00:00:00Z"
    run = {"entity_id": "p", "variant": "v", "run_id": "RUN", "created_at": when}
    return [{"sample_id": each, **run, **fields} for each in samples]


def analysis(*answers: str, run_id: str = "RUN") -> list[Document]:
    return [task(run_id, answer=" ".join(answers))]


def conversation(answer: str) -> Document:
    asked = {"question_index": 1, "question_text": "?", "predicted_answer": answer}
    return {
        "experiment_info": {"dataset": "locomo", "task_id": "conv-1"},
        "test_results": [{"test_index": 1, "questions": [asked]}],
    }


def told(ingested: Ingested) -> list[tuple[str, str]]:
    """Name of the file and message of every warning."""
    return [
        (file.path.name, each.message)
        for file in ingested.files
        for each in file.problems
    ]


TWINS = {
    "analyses": (
        {"in/a.json": [task("t")], "in/b.json": [task("t", answer="no")]},
        ["in"],
        ("b.json", "t", "task", "in/a.json", "in/b.json"),
        "give each file an id of its own, or put both into one file",
    ),
    "kinds": (
        {"in/a.json": [task("RUN")], "in/b.jsonl": results("a")},
        ["in"],
        ("b.jsonl", "RUN", "task", "in/a.json", "in/b.jsonl"),
        "give each file an id of its own, or put both into one file",
    ),
    "testsets": (
        {
            "one/s_smoke_v1.jsonl": [{"id": "a", "expected_outputs": {"x": 1}}],
            "two/s_smoke_v1.jsonl": [{"id": "b", "expected_outputs": {"x": 1}}],
        },
        ["one", "two"],
        ("s_smoke_v1.jsonl", "s_smoke_v1", "testset", "one/s_smoke_v1.jsonl",
         "two/s_smoke_v1.jsonl"),
        "its name is its id: rename one, or ingest the folder above both",
    ),
    "pipelines": (
        {
            "in/a.yaml": ["id: p\nsteps:\n  - id: a\n"],
            "in/b.yaml": ["id: p\nsteps:\n  - id: b\n"],
        },
        ["in"],
        ("b.yaml", "p", "pipeline", "in/a.yaml", "in/b.yaml"),
        "give each pipeline an id of its own",
    ),
    "memory": (
        {
            "in/locomo/250101_0900/a.json": [conversation("x")],
            "in/locomo/250101_0900/b.json": [conversation("y")],
        },
        ["in"],
        ("b.json", "locomo/250101_0900|conv-1", "memory run",
         "in/locomo/250101_0900/a.json", "in/locomo/250101_0900/b.json"),
        "keep each run in a folder of its own, a file for each conversation",
    ),
}  # fmt: skip


@pytest.mark.parametrize("twins", TWINS.values(), ids=TWINS)
@pytest.mark.parametrize("sink", ["duckdb", "parquet://raw"])
def test_of_two_files_of_one_id_the_later_says_that_it_replaces_the_other(
    warehouse: Warehouse, twins: Any, sink: str
) -> None:
    files, paths, (name, record_id, what, earlier, later), advice = twins
    for path, records in files.items():
        write(Path(path), *records)
    ingested = warehouse.ingest(*paths, sink=sink)
    assert told(ingested) == [
        (
            name,
            f'{what} "{record_id}" was in {earlier} too, in this call: the rows of'
            f" {later} replace it; {advice}",
        )
    ]
    assert ingested.n_loaded == 2
    if sink == "duckdb":
        kept = query(warehouse, KEPT)
    else:
        from promptlab.ingest.parquet import ParquetLayer

        with ParquetLayer(Path("raw")).connect("rejects") as con:
            kept = con.execute(KEPT).fetchall()
    assert kept == [(name, record_id, "id_in_two_files")]


def test_a_copy_replaces_nothing(warehouse: Warehouse) -> None:
    for name in ("a", "b"):
        write(Path(f"in/{name}.jsonl"), *results("a"))
        write(Path(f"in/{name}.json"), task("t"))
    assert told(warehouse.ingest("in")) == []


def test_two_files_of_many_ids_are_reported_once(warehouse: Warehouse) -> None:
    for name in ("a", "b"):
        runs = [results(name, run_id=f"RUN-{n}")[0] for n in range(3)]
        write(Path(f"in/{name}.jsonl"), *runs)
    ((_, message),) = told(warehouse.ingest("in"))
    assert message.startswith(
        f"run RUN-0 and 2 more were in {Path('in/a.jsonl').resolve()} too: the rounds of"
    )


def test_a_rejected_file_replaces_nothing_and_says_nothing_of_it(
    warehouse: Warehouse,
) -> None:
    write(Path("in/a.jsonl"), *results("a"))
    write(Path("in/b.json"), json.dumps(results("b", "c"))[:-1])
    ingested = warehouse.ingest("in")
    assert [file.status for file in ingested.files] == ["loaded", "rejected"]
    assert "id_in_two_files" not in [one[2] for one in query(warehouse, KEPT)]
    assert query(warehouse, "select case_id from live.cases") == [("a",)]


def test_workers_say_it_too(warehouse: Warehouse) -> None:
    write(Path("in/part1.jsonl"), *results("a", testset="nosuch"))
    write(Path("in/part2.jsonl"), *results("b", testset="nosuch"))
    alone = told(warehouse.ingest("in", sink="parquet://one"))
    assert len(alone) == 2
    assert told(warehouse.ingest("in", sink="parquet://two", workers="2")) == alone


def test_a_corrected_file_replaces_itself_in_silence(warehouse: Warehouse) -> None:
    file = write(Path("in/a.json"), *analysis("a"))
    warehouse.ingest("in")
    write(file, *analysis("a", "b"))
    assert told(warehouse.ingest("in")) == []


@pytest.mark.parametrize(("n_before", "n_now"), [(3, 1), (1, 1), (1, 3)])
def test_a_file_that_replaces_the_task_of_another_call_names_both_and_their_cases(
    warehouse: Warehouse, n_before: int, n_now: int
) -> None:
    words = {1: "1 case", 3: "3 cases"}
    first = write(Path("first.json"), task("RUN", cases=n_before)).resolve()
    second = write(Path("second.json"), task("RUN", "no", cases=n_now)).resolve()
    warehouse.ingest(first)
    again = f"; to have all cases back, load {first} again" * (n_now < n_before)
    assert told(warehouse.ingest(second)) == [
        (
            "second.json",
            f'task "RUN" was loaded from {first} with {words[n_before]}: {second}'
            f" replaces it, and leaves {words[n_now]}. Give another run a `task_id` of"
            f" its own{again}",
        )
    ]
    assert query(warehouse, KEPT) == [("second.json", "RUN", "task_replaced")]


def test_results_that_replace_a_task_of_another_kind_say_so(
    warehouse: Warehouse,
) -> None:
    warehouse.ingest(write(Path("first.json"), task("RUN", cases=3)))
    later = write(Path("second.jsonl"), *results("a"))
    ((_, message),) = told(warehouse.ingest(later))
    assert "with 3 cases" in message
    assert "leaves 1 case." in message


def test_a_file_beside_one_that_was_loaded_before_says_that_it_replaces_it(
    warehouse: Warehouse,
) -> None:
    write(Path("in/part2.json"), *analysis("a"))
    warehouse.ingest("in")
    for n in (3, 1):  # read after the one that is there, and before
        write(Path(f"in/part{n}.json"), *analysis(f"of{n}"))
        (message,) = [
            message
            for name, message in told(warehouse.ingest("in"))
            if name == f"part{n}.json"
        ]
        assert f"the rows of in/part{n}.json replace it" in message
    assert query(warehouse, "select raw_output from live.rounds") == [("of1",)]


@pytest.mark.parametrize("sink", ["duckdb", "parquet://raw"])
def test_only_the_call_that_reads_a_file_reports_its_problems(
    warehouse: Warehouse, sink: str
) -> None:
    broken = write(Path("in/broken.jsonl"), *results("a", "b"), {"sample_id": 1})
    write(Path("in/part1.json"), *analysis("a"))
    write(Path("in/part2.json"), *analysis("b"))
    write(Path("in/unknown.jsonl"), *results("c", testset="nosuch", run_id="X"))
    write(Path("in/nothing.json"), '{"task": {}, "cases": 1}')
    first = warehouse.ingest("in", sink=sink)
    codes = {each.code for file in first.files for each in file.problems}
    assert codes >= {"id_in_two_files", "unknown_testset", "wrong_type"}
    assert (first.n_rejected, first.n_rejected_records) == (1, 1)
    again = warehouse.ingest("in", sink=sink)
    assert told(again) == []
    assert (again.n_rejected, again.n_rejected_records) == (0, 0)
    assert (again.n_unchanged, again.n_rejected_before, again.n_held) == (5, 1, 4)
    write(broken, *results("a", "b"), {"sample_id": 2})
    assert warehouse.ingest("in", sink=sink).n_rejected_records == 1


def test_each_shard_of_a_large_task_but_the_first_is_reported(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(9):
        write(Path(f"in/{n}.json"), *analysis(f"c{n}"))
    monkeypatch.setattr("promptlab.ingest.parquet.sink.SHARD_FILES", 2)
    for sink in ("duckdb", "parquet://raw"):
        found = told(warehouse.ingest("in", sink=sink))
        assert [(name, message.split(" too")[0]) for name, message in found] == [
            (f"{n}.json", f'task "RUN" was in in/{n - 1}.json') for n in range(1, 9)
        ]


def test_a_name_that_nothing_brings_is_kept_with_its_load(warehouse: Warehouse) -> None:
    write(Path("in/run.jsonl"), *results("a"))
    assert len(told(warehouse.ingest("in", testset="nosuch"))) == 1
    expected = [("run.jsonl", None, "unknown_testset")]
    assert query(warehouse, KEPT) == expected
    warehouse.ingest("in", testset="nosuch")
    assert query(warehouse, KEPT) == expected


def test_a_name_that_a_later_file_brings_is_no_warning(warehouse: Warehouse) -> None:
    score = {"case_id": "c0", "round_id": "c0-1", "score": 1, "scorer": "s"}
    write(Path("in/a.jsonl"), *results("a", testset="s_smoke_v1"))
    write(Path("in/b.jsonl"), score | {"task_id": "t", "dimension_id": "tone"})
    write(Path("in/s_smoke_v1.jsonl"), {"id": "a", "expected_outputs": {"x": 1}})
    assert told(warehouse.ingest("in")) == []
    assert query(warehouse, KEPT) == []


def test_a_name_of_several_testsets_is_a_warning_that_lists_them(
    warehouse: Warehouse,
) -> None:
    for place in ("new", "old"):
        write(Path(f"in/{place}/s_v1.jsonl"), {"id": "a", "expected_outputs": {"x": 1}})
    write(Path("in/a.jsonl"), *results("a", testset="s_v1"))
    write(Path("in/b.jsonl"), *results("b", testset="old/s_v1", run_id="b"))
    [(name, message)] = told(warehouse.ingest("in"))
    assert name == "a.jsonl"
    assert 'called "s_v1", so it checks nothing; there are "new/s_v1", "old/' in message
