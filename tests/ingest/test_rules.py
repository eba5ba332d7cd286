"""Rules of a case become one row each, whatever their spelling."""

from __future__ import annotations

import json

import pytest

from promptlab.contracts.scoring import RULE_VALUES
from promptlab.ingest.analysis.reader import read_analysis
from promptlab.ingest.analysis.rules import rules_of
from promptlab.patterns import translate
from tests.ingest.analysis_documents import as_bytes, document


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
    for case in changed["cases"]:
        case["baselines"][0] |= {"type": "rules", "payload": payload}
    reading = read_analysis(as_bytes(changed))
    [problem] = reading.problems
    assert (problem.severity, problem.code) == ("warning", code)
    assert problem.pointer == f"/cases/0/baselines/0/payload{pointer}"
    assert words in problem.message
    assert problem.message.endswith("(here and in 1 more)")
    assert reading.records_loaded == 2


def test_an_integer_that_is_too_long_stops_no_file():
    assert rules('{"max_chars": ' + "9" * 5000 + "}")[0].rule == "max_chars"
