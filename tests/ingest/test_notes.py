"""A fault becomes a problem with its place; what many records have is said once."""

from __future__ import annotations

from promptlab.ingest.reading.problems import (
    LONGEST_RAW_TEXT,
    CountedProblems,
    Problem,
    kept,
    problem_at,
)
from promptlab.json_text.reading import Fault


def test_a_fault_stands_where_its_keys_lead_and_below_the_way_to_its_text():
    asked = []

    def place(keys):
        asked.append(keys)
        return 3, 7

    fault = Fault(("a/b", 0), "wrong_type", "found \udcff")
    problem = problem_at(place, fault, "warning", record_id="c\ud83d", way=("cases", 1))
    assert asked == [("a/b", 0)]
    assert problem == Problem(
        "wrong_type",
        "found \\xff",
        "warning",
        line=3,
        column=7,
        record_id="c\\ud83d",
        pointer="/cases/1/a~1b/0",
    )


def test_of_a_long_record_the_beginning_is_kept_and_its_length():
    assert kept("x" * LONGEST_RAW_TEXT) == "x" * LONGEST_RAW_TEXT
    text = kept("x" * (LONGEST_RAW_TEXT + 1))
    assert (
        text == "x" * LONGEST_RAW_TEXT + f"… ({LONGEST_RAW_TEXT + 1} characters in all)"
    )


def test_what_many_records_have_is_said_at_the_first_and_counted():
    def never() -> Problem:
        raise AssertionError("only the first is placed")

    said = CountedProblems(lambda kind, first, count: f"{first.message} {kind} {count}")
    said.add("b", lambda: Problem("odd", "one", line=1))
    said.add("a", lambda: Problem("odd", "two", line=2), 3)
    said.add("b", never, 4)
    assert said.problems() == [
        Problem("odd", "one b 5", line=1),
        Problem("odd", "two a 3", line=2),
    ]
