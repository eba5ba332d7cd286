"""Reading memory-benchmark files: what is loaded, what is rejected, and why."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlab.contracts.memory_run import MemoryRunFile
from promptlab.ingest.memory.head import run_name
from promptlab.ingest.memory.locomo_form import answer_parts, reference_parts, stems
from promptlab.ingest.memory.porter import stem
from promptlab.ingest.raw.rows import Reading
from promptlab.warehouse import Warehouse
from tests.ingest.at_once import read_memory
from tests.memory.oracle import locomo_words

PATH = PurePath("/data/.sage/benchmarks/benchmark_memory/locomo/251120_1430/0000.json")


def question(index: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "question_index": index,
        "question_text": f"Question {index}?",
        "predicted_answer": "Technology",
        "reference_answer": "Technology and AI",
        "evidence": ["D1:3", "D1:5"],
        "category": 4,
    } | changes


def one_round(*questions: Any, test_index: Any = 1, **changes: Any) -> dict[str, Any]:
    return {
        "test_index": test_index,
        "question_range": {"start": 1, "end": len(questions)},
        "dialogs_inserted_count": 8,
        "questions": list(questions),
    } | changes


def document(*rounds: Any, **changes: Any) -> dict[str, Any]:
    return {
        "experiment_info": {"dataset": "locomo", "task_id": "0000"},
        "dataset_statistics": {
            "total_sessions": 3,
            "total_dialogs": 56,
            "total_questions": 100,
            "valid_questions": 99,
            "invalid_questions": [
                {"question_index": 15, "question": "When?", "reason": "no_evidence"}
            ],
        },
        "test_summary": {"total_tests": len(rounds), "test_threshold": "1/10"},
        "test_results": list(rounds),
    } | changes


def read(content: Any, path: PurePath = PATH) -> Reading:
    text = content if isinstance(content, str) else json.dumps(content, indent=2)
    return read_memory(text.encode("utf-8", "surrogatepass"), path)


def told(reading: Reading) -> list[tuple[str, str, str | None]]:
    return [(p.severity, p.code, p.pointer) for p in reading.problems]


def column(reading: Reading, table: str, name: str) -> list[Any]:
    return list(reading.rows[table][name])


def test_a_good_file_is_loaded_without_a_word():
    first = one_round(question(1), question(2, category=None))
    second = one_round(question(1), test_index=2)
    reading = read(document(first, second))
    assert reading.problems == []
    assert (reading.records_loaded, reading.records_rejected) == (3, 0)
    assert reading.keys == [("memory", "locomo/251120_1430", "0000")]
    assert column(reading, "memory_answers", "test_index") == [1, 1, 2]
    assert column(reading, "memory_answers", "category") == ["4", None, "4"]
    assert column(reading, "memory_tests", "questions") == [2, 1]
    assert column(reading, "memory_runs", "total_dialogs") == [56]
    started = datetime(2025, 11, 20, 14, 30, tzinfo=UTC)
    assert column(reading, "memory_runs", "started_at") == [started]
    assert column(reading, "memory_invalid_questions", "reason") == ["no_evidence"]


def test_a_good_file_keeps_its_contract():
    MemoryRunFile.model_validate(document(one_round(question())))


def test_a_byte_order_mark_is_no_fault():
    data = b"\xef\xbb\xbf" + json.dumps(document(one_round(question()))).encode()
    assert read_memory(data, PATH).problems == []


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("", "unexpected_end", (1, 1)),
        ('{"test_results": [\n  {"test_index": 1,\n', "unexpected_end", (3, 1)),
        ('{"test_results": [],\n "x": nope}', "syntax", (2, 7)),
        ('{"test_results": [],\n "x": NaN}', "not_a_number", (2, 7)),
        ('{"test_results": [],\n "x": 1e999}', "number_out_of_range", (2, 7)),
        ('{"test_results": []} {}', "syntax", (1, 22)),
        ('["test_results"]', "not_a_memory_result", (1, 1)),
        ('{\n "experiment_info": {}\n}', "not_a_memory_result", (1, 1)),
        ('{"test_results": 5}', "not_a_memory_result", (1, 18)),
        ('{"test_results": "a\ud800"}', "lone_surrogate", None),
    ],
)
def test_a_file_that_is_no_result_is_rejected_whole_with_its_place(text, code, place):
    reading = read(text)
    assert reading.rejected
    assert reading.rows == {}
    assert reading.keys == []
    (problem,) = reading.problems
    assert problem.severity == "reject"
    if place is not None:
        assert (problem.code, problem.line, problem.column) == (code, *place)


@pytest.mark.parametrize(
    ("bad", "code", "pointer"),
    [
        (question(2) | {"question_index": "2"}, "wrong_type", "/question_index"),
        (question(2) | {"question_index": True}, "wrong_type", "/question_index"),
        (question(2) | {"question_index": 2**70}, "out_of_range", "/question_index"),
        (question(2) | {"question_text": None}, "wrong_type", "/question_text"),
        ({"question_index": 2}, "missing", "/question_text"),
        (question(1, question_text="again"), "duplicate_answer", "/question_index"),
        ("what?", "wrong_type", ""),
        (None, "wrong_type", ""),
    ],
)
def test_a_bad_answer_is_left_out_and_the_others_are_loaded(bad, code, pointer):
    reading = read(document(one_round(question(1), bad, question(3))))
    assert told(reading) == [("reject", code, f"/test_results/0/questions/1{pointer}")]
    assert column(reading, "memory_answers", "question_index") == [1, 3]
    assert (reading.records_loaded, reading.records_rejected) == (2, 1)
    (problem,) = reading.problems
    assert json.loads(problem.raw_text or "") == bad
    assert problem.line is not None


@pytest.mark.parametrize(
    ("bad", "code", "pointer"),
    [
        (one_round(question(), test_index=None), "bad_round", "/test_index"),
        (one_round(question(), test_index="2"), "bad_round", "/test_index"),
        (one_round(question(), test_index=2**31), "bad_round", "/test_index"),
        (one_round(question(), test_index=1), "duplicate_round", "/test_index"),
        (one_round(test_index=2, questions=None), "bad_round", "/questions"),
        ({"questions": [question()]}, "bad_round", "/test_index"),
        (7, "bad_round", ""),
    ],
)
def test_a_bad_round_is_left_out_and_the_others_are_loaded(bad, code, pointer):
    reading = read(document(one_round(question()), bad, one_round(test_index=3)))
    assert told(reading) == [("reject", code, f"/test_results/1{pointer}")]
    assert column(reading, "memory_tests", "test_index") == [1, 3]
    assert (reading.records_loaded, reading.records_rejected) == (1, 1)


def test_a_count_that_no_benchmark_reaches_is_kept_aside_and_named():
    content = document(one_round(question()))
    content["dataset_statistics"]["total_questions"] = 2**63 - 1
    reading = read(content)
    (problem,) = reading.problems
    assert (problem.severity, problem.pointer) == (
        "warning",
        "/dataset_statistics/total_questions",
    )
    assert problem.message == (
        "expected at most 2147483647, found 9223372036854775807; it is kept in extras."
    )
    assert column(reading, "memory_runs", "total_questions") == [None]


def test_what_is_not_understood_is_kept_and_named():
    content = document(
        one_round(question(speaker="Jon"), question(2, speaker="Gina"), mood="good"),
        notes=["x"],
    )
    content["experiment_info"]["seed"] = 7
    content["dataset_statistics"]["total_dialogs"] = "56"
    content["dataset_statistics"]["invalid_questions"][0]["place"] = 3
    reading = read(content)
    assert reading.records_loaded == 2
    assert sorted(told(reading)) == [
        ("warning", "unknown_key", "/dataset_statistics/invalid_questions/0/place"),
        ("warning", "unknown_key", "/experiment_info/seed"),
        ("warning", "unknown_key", "/notes"),
        ("warning", "unknown_key", "/test_results/0/mood"),
        ("warning", "unknown_key", "/test_results/0/questions/0/speaker"),
        ("warning", "unreadable_value", "/dataset_statistics/total_dialogs"),
    ]
    (extras,) = column(reading, "memory_runs", "extras")
    assert json.loads(extras) == {
        "experiment_info": {"seed": 7},
        "dataset_statistics": {
            "total_dialogs": "56",
            "invalid_questions": {"0": {"place": 3}},
        },
        "notes": ["x"],
    }
    assert column(reading, "memory_runs", "total_dialogs") == [None]
    assert column(reading, "memory_tests", "extras") == ['{"mood":"good"}']
    assert column(reading, "memory_answers", "extras") == [
        '{"speaker":"Jon"}',
        '{"speaker":"Gina"}',
    ]


def test_a_wrong_value_is_left_out_alone_and_kept_under_its_path():
    content = document(one_round(question(), question_range={"start": "x", "end": 9}))
    times = {"summary": {"pre_insert_ms": {"avg_ms": "x", "count": 2}}}
    content["timing_summary"] = {"insert_timings": times, "retrieval_timings": 5}
    content["experiment_info"]["task_id"] = ""
    reading = read(content)
    assert sorted(told(reading)) == [
        ("warning", "task_from_path", "/experiment_info/task_id"),
        ("warning", "unreadable_value", "/experiment_info/task_id"),
        ("warning", "unreadable_value", "/test_results/0/question_range/start"),
        (
            "warning",
            "unreadable_value",
            "/timing_summary/insert_timings/summary/pre_insert_ms/avg_ms",
        ),
        ("warning", "unreadable_value", "/timing_summary/retrieval_timings"),
    ]
    assert column(reading, "memory_tests", "range_start") == [None]
    assert column(reading, "memory_tests", "range_end") == [9]
    assert column(reading, "memory_timings", "count") == [2]
    assert column(reading, "memory_tests", "extras") == [
        '{"question_range":{"start":"x"}}'
    ]
    (extras,) = column(reading, "memory_runs", "extras")
    assert json.loads(extras) == {
        "experiment_info": {"task_id": ""},
        "timing_summary": {
            "insert_timings": {"summary": {"pre_insert_ms": {"avg_ms": "x"}}},
            "retrieval_timings": 5,
        },
    }


def test_a_key_in_very_many_answers_is_one_warning_that_counts():
    questions = [question(n, speaker="Jon") for n in range(500)]
    (problem,) = read(document(one_round(*questions))).problems
    assert "here and in 499 more" in problem.message


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ("two", ["two"]),
        ("", [""]),
        (2022, ["2022"]),
        (3.5, ["3.5"]),
        (["a", 7, None], ["a", "7"]),
        ([], None),
        (None, None),
    ],
)
def test_a_reference_may_be_text_a_number_or_a_list(given, texts):
    reading = read(document(one_round(question(reference_answer=given))))
    assert reading.problems == []
    (held,) = column(reading, "memory_answers", "reference_texts")
    assert (None if held is None else json.loads(held)) == texts
    (as_given,) = column(reading, "memory_answers", "reference_answer")
    assert (None if as_given is None else json.loads(as_given)) == given


def test_missing_fields_are_null_and_not_empty():
    bare = {"question_index": 1, "question_text": "Who?"}
    reading = read(document(one_round(bare)))
    assert reading.problems == []
    for name in ("predicted_answer", "reference_answer", "evidence", "category"):
        assert column(reading, "memory_answers", name) == [None]


@pytest.mark.parametrize("nothing", [None, "", False, 0])
def test_an_empty_error_is_no_error(nothing):
    reading = read(document(one_round(question(error=nothing))))
    assert column(reading, "memory_answers", "error") == [None]


def test_an_answer_that_is_no_text_is_read_as_json_with_a_warning():
    reading = read(document(one_round(question(predicted_answer=["a"]))))
    assert [p.code for p in reading.problems] == ["answer_not_text"]
    assert column(reading, "memory_answers", "predicted_answer") == ['["a"]']


def test_a_question_keeps_its_key_in_every_round_and_run():
    asked = [question(n) for n in (1, 2, 3)]
    shifted = [one | {"question_index": n} for n, one in enumerate(asked[1:], 1)]
    content = document(one_round(*asked), one_round(*shifted, test_index=2))
    elsewhere = PurePath("/data/locomo/251121_0900/mem0/0000_1200.json")
    keys = column(read(content), "memory_answers", "question_key")
    assert keys[1:3] == keys[3:]
    assert len(set(keys)) == 3
    assert column(read(content, elsewhere), "memory_answers", "question_key") == keys


def test_true_twins_and_look_alikes_are_different_questions():
    asked = [
        question(1),
        question(2, question_text="Question 1?"),  # a twin
        question(3, question_text="Question 1?", category=5),
        question(4, question_text="Question 1?", evidence=["D1:3"]),
        question(5, question_text="Question 1?", category="4"),  # reads the same
    ]
    content = document(one_round(*asked), one_round(*asked, test_index=2))
    keys = column(read(content), "memory_answers", "question_key")
    assert len(set(keys)) == 5
    assert keys[:5] == keys[5:]


def test_a_run_without_rounds_is_loaded_with_a_warning():
    reading = read(document())
    assert [p.code for p in reading.problems] == ["no_rounds"]
    assert reading.rows["memory_runs"]["run_id"] == ["locomo/251120_1430"]


def test_a_cut_file_is_recognised_by_its_count_of_rounds():
    content = document(one_round(question()))
    content["test_summary"]["total_tests"] = 10
    assert told(read(content)) == [
        ("warning", "rounds_missing", "/test_summary/total_tests")
    ]


def test_times_and_snapshots_of_later_writers_are_read():
    content = document(
        one_round(question()),
        timing_summary={
            "insert_timings": {
                "summary": {
                    "pre_insert_ms": {
                        "avg_ms": 2.5,
                        "min_ms": 1,
                        "max_ms": 4.0,
                        "count": 2,
                    }
                },
                "details": [
                    {"pre_insert_ms": 1, "odd_ms": "x"},
                    {"post_insert_ms": 4.0},
                ],
            },
            "retrieval_timings": {
                "summary": {},
                "details": [{"test_index": 1, "memory_retrieval_ms": 0.5}],
            },
        },
        memory_snapshots=[{"test_index": 1, "entries": 3}, {"test_index": 9}],
    )
    content["dataset_statistics"]["total_messages"] = 112
    content["test_summary"]["test_segments"] = 10
    reading = read(content)
    names = ("operation", "grain", "position", "test_index", "stage", "duration_ms")
    timings = [column(reading, "memory_timings", name) for name in names]
    assert list(zip(*timings, strict=True)) == [
        ("insert", "summary", 0, None, "pre", 2.5),
        ("insert", "detail", 0, None, "pre", 1),
        ("insert", "detail", 1, None, "post", 4.0),
        ("retrieval", "detail", 0, 1, "memory", 0.5),
    ]
    assert column(reading, "memory_timings", "count")[0] == 2
    assert column(reading, "memory_tests", "memory_snapshot") == ['{"entries":3}']
    assert column(reading, "memory_runs", "total_messages") == [112]
    assert column(reading, "memory_runs", "test_segments") == [10]
    assert sorted(told(reading)) == [
        ("warning", "unreadable_value", "/memory_snapshots/1"),
        (
            "warning",
            "unreadable_value",
            "/timing_summary/insert_timings/details/0/odd_ms",
        ),
    ]
    (extras,) = column(reading, "memory_runs", "extras")
    assert json.loads(extras) == {
        "timing_summary": {"insert_timings": {"details": {"0": {"odd_ms": "x"}}}},
        "memory_snapshots": {"1": {"test_index": 9}},
    }


@pytest.mark.parametrize(
    ("snapshots", "expected"),
    [
        ([{"test_index": 9}, 5], [(0, "belongs to no", ""), (1, "an object", "")]),
        ([5, {"test_index": 9}], [(0, "an object", ""), (1, "belongs to no", "")]),
        ([5, "x", 6], [(0, "an object", "(here and in 2 more)")]),
        (
            [5, {"test_index": 9}, 6, {"test_index": 8}],
            [
                (0, "an object", "(here and in 1 more)"),
                (1, "belongs to no", "(here and in 1 more)"),
            ],
        ),
    ],
)
def test_faults_of_one_kind_are_counted_and_each_kind_is_named(snapshots, expected):
    problems = read(document(one_round(), memory_snapshots=snapshots)).problems
    assert [problem.pointer for problem in problems] == [
        f"/memory_snapshots/{place}" for place, *_ in expected
    ]
    for problem, (_, kind, count) in zip(problems, expected, strict=True):
        assert kind in problem.message
        assert ("(here and" in problem.message, count in problem.message) == (
            bool(count),
            True,
        )


def test_every_frame_may_have_any_wrong_type_and_the_answers_are_still_read():
    good = document(one_round(question()))
    good["timing_summary"] = {"insert_timings": {"summary": {}, "details": []}}
    good["memory_snapshots"] = [{"test_index": 1}]
    ways = [
        ("dataset_statistics",),
        ("dataset_statistics", "invalid_questions"),
        ("dataset_statistics", "invalid_questions", 0),
        ("test_summary",),
        ("test_results", 0, "question_range"),
        ("test_results", 0, "dialogs_inserted_count"),
        ("timing_summary",),
        ("timing_summary", "insert_timings"),
        ("timing_summary", "insert_timings", "summary"),
        ("timing_summary", "insert_timings", "details"),
        ("memory_snapshots",),
        ("memory_snapshots", 0),
    ]
    for way in ways:
        for wrong in (None, True, -1, 2.5, "x", ["x"], {"x": 1}):
            content = copy.deepcopy(good)
            inside = content
            for key in way[:-1]:
                inside = inside[key]
            inside[way[-1]] = wrong
            reading = read(content)
            assert reading.records_loaded == 1, (way, wrong)
            assert not [p for p in reading.problems if p.severity == "reject"]
            kept = json.dumps(
                [reading.rows[table] for table in sorted(reading.rows)], default=str
            )
            if wrong not in (None, True, -1, 2.5):
                assert "x" in kept, (way, wrong)


@pytest.mark.parametrize(
    ("path", "run_id", "task", "started_at"),
    [
        ("locomo/251120/conv-26.json", "locomo/251120", "conv-26", "251120 0000"),
        ("locomo/251120_1430/0000.json", "locomo/251120_1430", "0000", "251120 1430"),
        (
            "locomo/251120/mem0/conv-26_1430.json",
            "locomo/251120/mem0",
            "conv-26",
            "251120 1430",
        ),
        (
            "locomo/mem0/conv-26_251120_1430.json",
            "locomo/251120_1430/mem0",
            "conv-26",
            "251120 1430",
        ),
        (
            "locomo/mem0/conv-26_251120.json",
            "locomo/251120/mem0",
            "conv-26",
            "251120 0000",
        ),
        ("locomo/mem0/conv-26_1430.json", "locomo/undated/mem0", "conv-26", None),
        ("locomo/conv-26.json", "locomo/undated", "conv-26", None),
        ("locomo/first try/conv-26.json", "locomo/first try", "conv-26", None),
        ("downloads/conv-26.json", "locomo/downloads", "conv-26", None),
        ("downloads/conv-26_251120.json", "locomo/251120", "conv-26", "251120 0000"),
        ("conv-26.json", "locomo/undated", "conv-26", None),
        ("locomo/999999/conv-26.json", "locomo/999999", "conv-26", None),
    ],
)
def test_a_path_names_the_run(path, run_id, task, started_at):
    name = run_name(PurePath("/a/b/c", path), dataset="locomo", task_id=task)
    if "/" not in path:
        name = run_name(PurePath(path), dataset="locomo", task_id=task)
    assert name.run_id("locomo") == run_id
    assert name.task == task
    moment = started_at and datetime.strptime(f"{started_at} +0000", "%y%m%d %H%M %z")
    assert name.started_at == moment
    assert name.is_guessed == (started_at is None)


def test_a_task_whose_name_ends_like_a_stamp_keeps_it():
    path = PurePath("locomo/251120/conv_1234.json")
    assert run_name(path, dataset="locomo", task_id="conv_1234").task == "conv_1234"


def test_files_of_one_folder_are_one_run_whatever_the_folder_is_called():
    content = document(one_round(question()))
    reading = read(content, PurePath("/home/me/tuesday/0000.json"))
    assert told(reading) == [("warning", "run_without_timestamp", "")]
    assert reading.keys == [("memory", "locomo/tuesday", "0000")]


def test_data_set_and_task_come_from_the_path_where_the_file_does_not_name_them():
    content = document(one_round(question()), experiment_info=None)
    reading = read(content, PurePath("/x/locomo/251120/mem0/conv-26_1430.json"))
    assert reading.keys == [("memory", "locomo/251120/mem0", "conv-26")]
    assert [p.code for p in reading.problems] == ["dataset_from_path", "task_from_path"]


def test_a_file_that_nothing_names_a_data_set_for_is_rejected_with_a_remedy():
    content = document(one_round(question()), experiment_info={"task_id": "0000"})
    reading = read(content, PurePath("0000.json"))
    assert reading.rejected
    (problem,) = reading.problems
    assert problem.code == "no_dataset"
    assert '"dataset"' in problem.message


def test_an_integer_task_id_is_read_as_text():
    content = document(one_round(question()))
    content["experiment_info"]["task_id"] = 26
    reading = read(content)
    assert reading.rows["memory_runs"]["task_id"] == ["26"]
    assert [p.code for p in reading.problems] == ["task_id_not_text"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cats and a dog, running", "cat dog run"),
        ("Happily dying", "happili die"),  # nltk's extensions of Porter's algorithm
        ("1,000 well-known", "1000 wellknown"),
        ("Ann and Sandra", "ann sandra"),
        ("", ""),
        ("the", ""),
    ],
)
def test_stems_are_those_of_the_published_score(text, expected):
    assert stems(text) == expected


@given(st.text(st.sampled_from("aAndthes ,.;'_’—ΑΣİ小\u00a0\u001c\u0000"), max_size=20))
def test_words_by_themselves_have_the_stems_that_they_have_in_their_text(text):
    assert stems(text) == " ".join(locomo_words(text))


def test_stems_are_those_of_nltk():
    table = Path(__file__).resolve().parents[1] / "data" / "porter.txt"
    lines = table.read_text("utf-8").splitlines()
    found = [(word, stem(word)) for word, _ in map(str.split, lines)]
    assert found == [tuple(line.split()) for line in lines]


def test_a_word_of_a_megabyte_is_left_as_it_is():
    assert stems("y" * 1_000_000) == "y" * 1_000_000


def test_only_category_1_is_compared_by_comma_parts_and_3_is_cut_at_its_semicolon():
    assert answer_parts("a dog, cats, dogs", "1") == ["dog", "cat"]
    assert answer_parts("dogs, cats", "2") == ["dog cat"]
    assert reference_parts("dogs, dogs", "1") == ["dog", "dog"]
    assert reference_parts("dogs; because", "3") == ["dog"]
    assert reference_parts("dogs; because", "4") == ["dog becaus"]


CHINESE = question(
    1,
    question_text="小林周末去了哪里？",
    predicted_answer="去了北京。",
    reference_answer="北京",
    category="单跳",
)
FOLDER = {
    "locomo/250101_0900/broken.json": '{"test_results": [\n {"test_index": 1,',
    "locomo/250101_0900/no-result.json": '{"experiment_info": {"dataset": "locomo"}}',
    "locomo/250101_0900/a-list.json": "[1, 2]",
    "locomo/250101_0900/empty.json": document(),
    "locomo/250101_0900/twins.json": document(
        one_round(question(1), question(1), question(2)), one_round(question(1))
    ),
    "locomo/250101_0900/chinese.json": document(one_round(CHINESE)),
    "locomo/250101_0900/good.json": document(one_round(question(1))),
    "locomo/250102_0900/good.json": document(one_round(question(1))),
    "older/locomo/250102_0900/good.json": document(one_round(question(1), question(2))),
}
"""Files of one folder; the task of each is named as the file."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A warehouse of ``FOLDER``: its rows, by a query."""
    root = tmp_path_factory.mktemp("runs")
    for name, content in FOLDER.items():
        path = root / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, dict):
            info = {"dataset": "locomo", "task_id": path.stem}
            content = json.dumps(content | {"experiment_info": info})
        path.write_text(content, "utf-8")
    warehouse = Warehouse(root / "w.duckdb")
    warehouse.ingest(root / "in")
    with duckdb.connect(str(warehouse.settings.db), read_only=True) as con:
        yield lambda sql: con.execute(sql).fetchall()


@pytest.mark.parametrize(
    ("name", "status", "loaded", "codes"),
    [
        ("250101_0900/broken", "rejected", 0, ["unexpected_end"]),
        ("250101_0900/no-result", "rejected", 0, ["not_a_memory_result"]),
        ("250101_0900/a-list", "skipped", 0, []),
        ("250101_0900/empty", "loaded", 0, ["no_rounds"]),
        ("250101_0900/twins", "loaded", 2, ["duplicate_answer", "duplicate_round"]),
        ("250101_0900/chinese", "loaded", 1, ["chinese_references"]),
        ("250101_0900/good", "loaded", 1, []),
        ("in/locomo/250102_0900/good", "loaded", 1, []),
        ("older/locomo/250102_0900/good", "loaded", 2, ["id_in_two_files"]),
    ],
)
def test_a_bad_file_says_what_is_wrong_and_stops_no_other(
    folder, name, status, loaded, codes
):
    ((load_id, *found),) = folder(
        "select load_id, status, rows_loaded from raw.loads"
        f" where file_uri like '%{name}.json'"
    )
    assert found == [status, loaded]
    said = folder(f"select code from raw.rejects where load_id = {load_id} order by 1")
    assert [code for (code,) in said] == codes


def test_one_task_in_two_runs_is_two_and_twice_in_a_run_the_last_file_read(folder):
    held = folder(
        "select run_id, count(*) from raw.memory_answers where task_id = 'good'"
        " and load_id in (select load_id from live.objects)"
        " group by run_id order by run_id"
    )
    assert held == [("locomo/250101_0900", 1), ("locomo/250102_0900", 2)]


def test_a_chinese_question_is_kept_letter_by_letter(folder):
    assert folder(
        "select question_text, predicted_answer, reference_answer, category"
        " from raw.memory_answers where task_id = 'chinese'"
    ) == [("小林周末去了哪里？", "去了北京。", '"北京"', "单跳")]


def test_questions_under_a_key_that_is_nearly_right_are_named():
    file = document({"test_index": 1, "question": []})
    messages = [problem.message for problem in read(file).problems]
    assert any('did you mean "question"?' in message for message in messages)
