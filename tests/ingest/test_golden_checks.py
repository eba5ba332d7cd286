"""Golden answers as flat checks: of which tasks, and what a row says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from promptlab.ingest import checks as module
from promptlab.ingest.analysis.reader import read_analysis
from promptlab.ingest.checks import GoldenAnswer, golden_checks
from promptlab.ingest.raw.rows import Reading, height
from tests.scoring.tasks import case, dimension, task


def read(golden: Any, *dimensions: dict[str, Any]) -> Reading:
    asked = [each | {"weight": 1.0} for each in dimensions]
    document = task("t", [case("x", golden=golden), case("y")], asked)
    return read_analysis(json.dumps(document).encode())


def checks(payload: str) -> list[tuple[Any, ...]]:
    columns = golden_checks([GoldenAnswer("c", "b", payload)])
    names = ("golden_no", "check_no", "path", "matcher", "operand", "number", "length")
    return list(zip(*(columns[name] for name in names), strict=True))


def test_golden_answers_are_flattened_where_a_dimension_compares_them_as_json():
    exact = dimension("accuracy")
    as_json = dimension("shape", scorer="accuracy", match_rule="json")
    assert "golden_checks" not in read({"a": 1}, exact).rows
    rows = read({"a": 1}, exact, as_json).rows["golden_checks"]
    assert height(rows) == 2
    assert list(rows["task_id"]) == ["t", "t"]
    assert list(rows["case_id"]) == ["c1", "c1"]
    assert list(rows["pointer"]) == ["", "/a"]


def test_a_case_without_golden_answer_has_no_checks():
    reading = read(None, dimension("accuracy", match_rule="json"))
    assert height(reading.rows["golden_checks"]) == 0
    assert reading.records_loaded == 2


@pytest.mark.parametrize(
    ("payload", "rows"),
    [
        ('{"text": "a", "answer": "b"}', [(1, 0, "$", "text", "a", None, None)]),
        ('{"text": null, "answer": 5}', [(1, 0, "$", "number", "5", 5.0, None)]),
        ('{"output": true}', [(1, 0, "$", "bool", "true", None, None)]),
        (
            '{"text": ["contains: a", null, [1]]}',
            [
                (1, 0, "$", "contains", "a", None, None),
                (2, 0, "$", "array", None, None, 1),
                (2, 1, "$[0]", "number", "1", 1.0, None),
            ],
        ),
        ('{"text": "regex:("}', [(1, 0, "$", "regex", None, None, None)]),
        ('{"text": "a", "text": "b"}', [(1, 0, "$", "text", "a", None, None)]),
        (
            '{"text": {"": {"*": 1}}}',
            [
                (1, 0, "$", "object", None, None, None),
                (1, 1, "/", "object", None, None, None),
                (1, 2, "//*", "number", "1", 1.0, None),
            ],
        ),
        (
            '{"text": 123456789012345678901234567890}',
            [
                (1, 0, "$", "number", "123456789012345678901234567890",
                 1.2345678901234568e29, None)
            ],
        ),
        ('{"text": []}', []),
        ('{"text": null}', []),
        ("{}", []),
    ],
)  # fmt: skip
def test_a_golden_answer_is_read_as_an_expectation_is(payload, rows):
    assert checks(payload) == rows


def test_alternatives_are_counted_through_all_baselines_of_a_case():
    columns = golden_checks(
        [
            GoldenAnswer("c", "one", '{"text": ["a", "b"]}'),
            GoldenAnswer("c", "two", '{"text": "c"}'),
            GoldenAnswer("d", "one", '{"text": "d"}'),
        ]
    )
    assert columns["golden_no"] == [1, 2, 3, 1]
    assert columns["baseline_id"] == ["one", "one", "two", "one"]


def test_a_number_beyond_a_double_is_near_no_number():
    [row] = checks('{"text": 1e400}')
    assert row[3:6] == ("number", None, None)


def test_a_golden_answer_that_is_far_larger_flat_rejects_its_case(monkeypatch):
    monkeypatch.setattr(module, "_LEAST_ROOM", 0)
    monkeypatch.setattr(module, "_ROOM_PER_CHARACTER", 1)
    reading = read({"a": {"b": {"c": [1, 2, 3]}}}, dimension("a", match_rule="json"))
    assert (reading.records_loaded, reading.records_rejected) == (1, 1)
    [problem] = [each for each in reading.problems if each.severity == "reject"]
    assert problem.pointer == "/cases/0"
    assert "golden answers are far larger than they are written" in problem.message
