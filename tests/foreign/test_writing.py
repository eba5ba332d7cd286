"""A reader writes the records of a task; the seed explains its rules of totals."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptlab.ingest.foreign.writing import (
    Baseline,
    Case,
    Check,
    Claim,
    Dimension,
    Round,
    Score,
    Task,
    TaskWriter,
)
from promptlab.ingest.reading.source import Source


@pytest.fixture
def task() -> TaskWriter:
    source = Source(Path("quiz.run.json"), "quiz", "/quiz.run.json")
    return TaskWriter("quizmaster", "t", source)


def test_a_case_is_written_once_and_its_rounds_are_numbered(task: TaskWriter) -> None:
    for output in ("yes", {"a": 1}):
        task.case("c", {"q": 1}, golden="yes").round(output)
    case, golden, first, second = task.written()
    assert case == Case("t", "c", 0, '{"q":1}')
    assert golden == Baseline("t", "c", "expected", 0, '{"answer":"yes"}')
    assert isinstance(first, Round) and isinstance(second, Round)
    assert (first.round_id, first.raw_output, first.parsed_output) == (
        "c-1",
        "yes",
        None,
    )
    assert (second.round_id, second.position, second.run_index) == ("c-2", 1, 2)
    assert second.parsed_output == '{"a":1}'


def test_what_was_written_is_handed_on_once(task: TaskWriter) -> None:
    task.case("c", {})
    assert len(task.written()) == 1
    assert task.written() == []


def test_an_answer_that_is_expected_to_be_null_is_not_known(task: TaskWriter) -> None:
    task.case("c", {}, golden=None)
    assert [type(each) for each in task.written()] == [Case]


def test_duplicates_are_distinguished(task: TaskWriter) -> None:
    assert [task.distinct("c") for _ in range(3)] == ["c", "c~2", "c~3"]
    assert task.distinct("c", "in another round") == "c"


@pytest.mark.parametrize(
    ("given", "round_id", "position"),
    [
        ({"n": 3}, "c-3", 2),
        ({"n": 0}, "c-0", 0),
        ({"n": 3, "name": "3~2"}, "c-3~2", 2),
    ],
)
def test_a_round_may_have_its_own_number(
    task: TaskWriter, given: dict, round_id: str, position: int
) -> None:
    task.case("c", {}).round("yes", **given)
    _, written = task.written()
    assert isinstance(written, Round)
    assert (written.round_id, written.position) == (round_id, position)


def test_a_round_that_broke_is_an_error(task: TaskWriter) -> None:
    case = task.case("c", {})
    case.round(None, error="timeout")
    case.round(None, error="timeout", status="fail")
    _, *rounds = task.written()
    assert [each.reported_status for each in rounds] == ["error", "fail"]


def test_checks_have_places_and_scores_make_dimensions(
    task: TaskWriter,
) -> None:
    answer = task.case("c", {}).round("yes")
    answer.check("is short", "length", True)
    answer.check("is polite", "judge", None, error="it broke")
    answer.score("right", 1.0, 1.0)
    answer.score("seconds", 4.2)
    task.describe(model="m")
    task.grade(directions={"seconds": "lower_better"})
    task.claim({"right": 1, "unknown": 1, "seconds": None}, n_rows=1)
    written = task.written()
    found = {
        kind: [e for e in written if type(e) is kind] for kind in map(type, written)
    }
    assert [check.position for check in found[Check]] == [0, 1]
    assert [score.value for score in found[Score]] == [1.0, 4.2]
    claims = [(each.dimension_id, each.value) for each in found[Claim]]
    assert claims == [(None, 1.0), ("right", 1.0)]
    dimensions = [(e.name, e.weight, e.direction) for e in found[Dimension]]
    assert dimensions == [
        ("right", 1.0, "higher_better"),
        ("seconds", 0.0, "lower_better"),
    ]
    (described,) = found[Task]
    assert (described.title, described.prompt_version) == ("quiz", "unknown")
    assert (described.created_at, described.run_id) == (None, "t")


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    "rows",
    [
        [["of one case", "right", "short"], *[["right", "short"]] * 5],
        [["short"], *[["right", "short"]] * 5],
        [*[["right"], ["short"]] * 3],
    ],
    ids=["a metric of one case", "a row lacks the first", "never both"],
)
def test_the_score_is_the_metric_that_rows_have_first_whatever_their_order(
    rows: list[list[str]], order: int, task: TaskWriter
) -> None:
    for place, names in enumerate(rows[::order]):
        answer = task.case(f"c{place}", {}).round("yes")
        for name in names:
            answer.score(name, 1.0, 1.0)
    task.grade()
    weights = {e.name: e.weight for e in task.written() if isinstance(e, Dimension)}
    assert {name for name, weight in weights.items() if weight} == {"right"}


def test_two_runs_with_the_same_rows_have_one_hash() -> None:
    hashes = set()
    for order in (1, -1):
        source = Source(Path("quiz.json"), "quiz", "/quiz.json")
        task = TaskWriter("quizmaster", "t", source)
        for row in ("a", "b")[::order]:
            task.same_run.add(row)
        task.describe()
        (described,) = task.written()
        assert isinstance(described, Task)
        hashes.add(described.run_hash)
    assert len(hashes) == 1


def test_a_warning_names_the_task_or_the_case(task: TaskWriter) -> None:
    task.warn("totals_only", "no rows")
    task.warn("odd_verdict", "maybe", "c")
    assert [each.record_id for each in task.written()] == ["t", "c"]
