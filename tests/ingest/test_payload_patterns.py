"""The patterns of a baseline with a separate spelling, and this spelling."""

from __future__ import annotations

import json

import polars as pl
import pytest

from promptlab.ingest.analysis.rows import spellings
from promptlab.patterns import translate


def listed(payload, kind="golden_answer", *, whole=True):
    """Return the patterns of one payload, given as JSON or as a value."""
    text = payload if isinstance(payload, str) else json.dumps(payload)
    (found,) = spellings(
        pl.Series([kind]), pl.Series([text]), are_answers_patterns=whole
    )
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
