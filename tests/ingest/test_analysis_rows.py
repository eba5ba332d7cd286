"""Rules, golden answers and their patterns become rows of their own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from promptlab.contracts.scoring import RULE_VALUES
from promptlab.ingest import checks as module
from promptlab.ingest.analysis.rows import rules_of, spellings
from promptlab.ingest.checks import golden_checks
from promptlab.ingest.raw.rows import Reading, height
from promptlab.patterns import translate
from tests.ingest.analysis_documents import as_bytes, document
from tests.ingest.at_once import read_analysis
from tests.scoring.tasks import case, dimension, task


def rules(payload):
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return rules_of(text)[0]


def short(payload):
    return [(rule.rule, rule.operand, rule.severity) for rule in rules(payload)]


@pytest.mark.parametrize(
    ("payload", "found"),
    [
        (
            {"contains": "x", "max_chars": 80, "severity": "must"},
            [("contains", '"x"', "must"), ("max_chars", "80", "must")],
        ),
        ({"type": "regex_match", "pattern": "a"}, [("regex", '"a"', None)]),
        ({"kind": "non_empty"}, [("non_empty", "true", None)]),
        (
            {
                "severity": "must",
                "rules": [
                    {"type": "equals", "value": "x"},
                    {"is_json": True, "severity": "should"},
                ],
            },
            [("equals", '"x"', "must"), ("is_json", "true", "should")],
        ),
        ('{"contains": "first", "contains": "last"}', [("contains", '"first"', None)]),
        ({"non_empty": False}, []),
        ({"rules": [{"non_empty": False}, 5]}, [(None, None, None)]),
    ],
)
def test_rules_are_read_in_three_spellings(payload, found):
    assert short(payload) == found


@pytest.mark.parametrize(
    ("payload", "is_usable"),
    [
        ({"regex": r"[\W]"}, False),
        ({"regex": None}, False),
        ({"max_chars": "80"}, True),
        ({"max_chars": "many"}, False),
        ({"max_chars": True}, False),
        ({"max_chars": "1e999"}, False),
        ({"required_keys": ["a"]}, True),
        ({"required_keys": {"a": "int"}}, True),
        ({"required_keys": {"a": "date"}}, False),
        ({"allowed_values": []}, False),
        ({"equals": None}, False),
        ({"contains": []}, False),
        ({"contains": {"a": 1}}, False),
        ({"is_json": "yes"}, False),
    ],
)
def test_a_rule_with_an_operand_of_another_kind_is_not_usable(payload, is_usable):
    [rule] = rules(payload)
    assert rule.is_usable is is_usable


def test_a_pattern_is_translated_for_all_texts_and_for_ascii():
    [rule] = rules({"regex": r" \w/~ "})
    pattern = translate(r"\w/~")
    assert (rule.pattern, rule.ascii_pattern) == (pattern.translated, pattern.ascii)


def test_every_kind_of_rule_is_read():
    for kind in RULE_VALUES:
        assert rules({kind: "1"})[0].rule == kind


@pytest.mark.parametrize(
    ("payload", "code", "pointer", "words"),
    [
        ({"contain": "x"}, "unknown_rule", "", 'did you mean "contains"?'),
        ({"type": "maxchars", "value": 5}, "unknown_rule", "", '"max_chars"?'),
        ({"max_chars": "many"}, "invalid_rule", "/max_chars", "expected a number"),
        (
            {"rules": [{"contains": "x"}, {"required_keys": 5}]},
            "invalid_rule",
            "/rules/1/required_keys",
            "expected a list of keys",
        ),
    ],
)
def test_a_slip_in_a_rule_is_one_warning_with_its_place(payload, code, pointer, words):
    changed = document(cases=2)
    for each in changed["cases"]:
        each["baselines"][0] |= {"type": "rules", "payload": payload}
    reading = read_analysis(as_bytes(changed))
    [problem] = reading.problems
    assert (problem.severity, problem.code) == ("warning", code)
    assert problem.pointer == f"/cases/0/baselines/0/payload{pointer}"
    assert words in problem.message
    assert problem.message.endswith("(here and in 1 more)")
    assert reading.records_loaded == 2


def test_an_integer_that_is_too_long_stops_no_file():
    assert rules('{"max_chars": ' + "9" * 5000 + "}")[0].rule == "max_chars"


def read(golden: Any, *dimensions: dict[str, Any]) -> Reading:
    asked = [each | {"weight": 1.0} for each in dimensions]
    document = task("t", [case("x", golden=golden), case("y")], asked)
    return read_analysis(json.dumps(document).encode())


def checks(payload: str) -> list[tuple[Any, ...]]:
    columns = golden_checks([("c", "b", payload)])
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
            ("c", "one", '{"text": ["a", "b"]}'),
            ("c", "two", '{"text": "c"}'),
            ("d", "one", '{"text": "d"}'),
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


def listed(payload, kind="golden_answer", *, whole=True):
    """Return the patterns of one payload, given as JSON or as a value."""
    text = payload if isinstance(payload, str) else json.dumps(payload)
    (found,) = spellings([kind], [text], are_answers_patterns=whole)
    return None if found is None else json.loads(found)


@pytest.mark.parametrize(
    ("payload", "patterns"),
    [
        ({"text": r"\w+先生"}, [r"\w+先生"]),
        ({"text": [r"\d", "plain", r" \s\d "]}, [r"\d", r"\s\d"]),
        ({"text": {"a": [{"b": r"regex: \d"}]}}, [r"regex: \d"]),
        ({"text": r"(?<year>2\d)"}, [r"(?<year>2\d)"]),
        ({"text": "(?<year>20)"}, ["(?<year>20)"]),
        ({"text": 'a "quoted" \\d'}, ['a "quoted" \\d']),
        ('{"text": "\\u005cd"}', [r"\d"]),
        ('{"text": "\\\\d", "text": "\\\\w"}', [r"\d", r"\w"]),
    ],
)
def test_a_pattern_that_re2_reads_otherwise_is_listed(payload, patterns):
    found = listed(payload)
    assert list(found) == sorted(patterns)
    for written, spelled in found.items():
        pattern = translate(written)
        assert spelled == {"unicode": pattern.translated, "ascii": pattern.ascii}


@pytest.mark.parametrize("pattern", [r"[\W]", r"(?=x)\d", r"(a)\1", r"\d("])
def test_a_pattern_that_cannot_be_used_is_listed_with_null(pattern):
    assert listed({"text": pattern}) == {pattern: None}


@pytest.mark.parametrize(
    "payload",
    [
        {"text": "设置"},
        {"text": "(plain|other)+"},
        {"text": "two\nlines, a \t and a \"quote\""},
        {"text": r"1\.5"},
        {"text": None, "n": 1e300, "deep": [[[[]]]]},
        '{"n": ' + "9" * 5000 + "}",
        "{}",
    ],
)  # fmt: skip
def test_what_re2_reads_alike_is_not_listed(payload):
    assert listed(payload) is None


def test_golden_answers_are_patterns_only_where_a_dimension_says_so():
    payload = {"text": [r"C:\data", r"regex:\d+"]}
    assert listed(payload, whole=False) is None


@pytest.mark.parametrize("kind", ["rules", "script", "manual_note"])
def test_baselines_without_patterns_have_none(kind):
    assert listed({"text": r"\d"}, kind) is None


def test_a_deep_payload_costs_no_recursion():
    payload = '{"text": ' + "[" * 5000 + r'"\\d"' + "]" * 5000 + "}"
    assert list(listed(payload)) == [r"\d"]
