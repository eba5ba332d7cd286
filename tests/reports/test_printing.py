"""Formatting of values, and of text that is not ours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlab.contracts.analysis_result import AssertionOutcome
from promptlab.reports.printing import (
    Filters,
    TextPiece,
    clip,
    highlighted,
    iso,
    parts,
    visible,
)
from promptlab.reports.texts import catalogue

# ---------- formatting of values


ZH = Filters(catalogue("zh"))
EN = Filters(catalogue("en"))
EVENING = datetime(2024, 10, 24, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.842, "84.2%"),
        (0, "0.0%"),
        (1, "100.0%"),
        (0.99999, ">99.9%"),
        (0.00001, "<0.1%"),
        (0.285, "28.5%"),
        (0.00005, "<0.1%"),
        (0.6665, "66.7%"),
        (None, "未评分"),
    ],
)
def test_a_share_is_a_percent_and_only_all_is_100(share, text):
    assert ZH.percent(share) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.842, "84.2"),
        (0.0, "0.0"),
        (0, "0.0"),
        (1.0, "100.0"),
        (0.9, "90.0"),
        (0.89997, "89.997"),
        (0.900004, "90.0004"),
        (0.999999, "99.9999"),
        (0.00004, "0.004"),
        (None, "not scored"),
    ],
)
def test_a_score_is_of_100_and_never_rounds_onto_a_whole_ten(share, text):
    assert EN.score(share) == text


@pytest.mark.parametrize(
    ("share", "beside", "text"),
    [
        (0.849971, 0.85, "84.997"),
        (0.85, 0.85, "85.0"),
        (0.8506, 0.85, "85.1"),
        (0.849971, None, "85.0"),
        (None, 0.85, "not scored"),
    ],
)
def test_a_score_is_distinguished_from_the_target_beside_it(share, beside, text):
    assert EN.score(share, beside) == text


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((0.1, 0.25), "10.0–25.0"),
        ((None, 0.2), "no interval"),
        ((0, 0.29961), "0.0–30.0"),
    ],
)
def test_an_interval_needs_both_ends(ends, text):
    assert EN.interval(*ends) == text


@pytest.mark.parametrize(
    ("difference", "text"),
    [
        (0.0123, "+1.2"),
        (-0.034, "−3.4"),
        (0.0, "±0.0"),
        (-0.0004, "±0.0"),
        (None, "not comparable"),
    ],
)
def test_a_difference_always_has_a_sign(difference, text):
    assert EN.delta(difference) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567, "1,234,567"),
        (-5, "−5"),
        (1020.952381, "1,020.952"),
        (0.5, "0.5"),
        (100.0, "100"),
        (-0.0, "0"),
        (0.00001234, "1.2e−05"),
        (1e300, "1e+300"),
        (float("nan"), "not measured"),
        (float("inf"), "not measured"),
        (None, "not measured"),
    ],
)
def test_a_number_is_short_and_never_nan(value, text):
    assert EN.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(842.4, "842 ms"), (12345.0, "12.3 s"), (0.0, "0 ms"), (None, "未测量")],
)
def test_a_latency_has_its_unit(value, text):
    assert ZH.milliseconds(value) == text


def test_a_time_is_beijing_time_in_chinese_and_utc_in_english():
    assert ZH.moment(EVENING) == "2024-10-24 20:30 北京时间"
    assert EN.moment(EVENING) == "2024-10-24 12:30 UTC"


def test_a_time_of_another_zone_is_the_same_moment():
    tokyo = EVENING.astimezone(timezone(timedelta(hours=9)))
    assert EN.moment(tokyo) == EN.moment(EVENING)
    assert iso(tokyo) == "2024-10-24T12:30:00Z"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (True, "true"),
        (None, "无数据"),
        (3, "3"),
        ({"a": ["文"]}, '{"a": ["文"]}'),
    ],
)
def test_a_json_value_is_text_as_written(value, text):
    assert ZH.value(value) == text


@pytest.mark.parametrize(
    ("value", "beside", "text"),
    [
        ('"explain_policy"', '"refuse"', "explain_policy"),
        (r'"within \\d+ days"', None, r"within \d+ days"),
        ('"say \\"no\\""', None, 'say "no"'),
        ("5", '"5"', "5"),
        ('"5"', "5", '"5"'),
        ('"5"', '"6"', "5"),
        ('""', '"a"', '""'),
        ('["a"]', None, '["a"]'),
        ('"cut \\u00' + "e9" + "a" * 200, None, "cut é" + "a" * 200 + "…"),
        ('"' + "a" * 200 + "\\", None, "a" * 200 + "…"),
        ('"he said" and left', None, '"he said" and left'),
        ("null", None, "JSON null"),
        (None, "5", "(no value)"),
        ({"a": 1}, None, '{"a": 1}'),
    ],
)
def test_an_expected_value_is_shown_without_json_quotes(value, beside, text):
    assert EN.json_value(value, beside) == text


def test_a_list_is_read_out_and_anything_else_is_a_value():
    assert ZH.listed(["final", "步骤"]) == "final、步骤"
    assert EN.listed(["a", 1]) == "a, 1"
    assert EN.listed(3) == "3"


@pytest.mark.parametrize(
    ("kind", "status", "score", "threshold", "text"),
    [
        ("latency", "pass", 1.0, 5000, "at most 5,000"),
        ("latency", "fail", 0.0, 5000, "at most 5,000"),
        ("cost", "fail", 0.0, 0.002, "at most 0.002"),
        ("perplexity", "fail", 7.0, 5, "at most 5"),
        ("similar", "pass", 0.9, 0.8, "at least 0.8"),
        ("similar", "fail", 0.7, 0.8, "at least 0.8"),
        ("Toxicity", "pass", 0.1, 0.5, "at most 0.5"),
        ("Toxicity", "fail", 0.7, 0.5, "at most 0.5"),
        ("llm-rubric", "error", None, 0.5, "at least 0.5"),
    ],
)
def test_a_limit_says_on_which_side_values_pass(kind, status, score, threshold, text):
    assertion = AssertionOutcome.model_construct(
        type=kind, status=status, score=score, threshold=threshold
    )
    assert EN.bound(assertion) == text


# ---------- text that is not ours: hidden characters and evidence marks


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", "a⟦U+0000⟧b"),
        ("\x1b[31m", "⟦U+001B⟧[31m"),
        ("x\u202egnp.exe\u202c", "x⟦U+202E⟧gnp.exe⟦U+202C⟧"),
        ("a\u200bb\ufeff", "a⟦U+200B⟧b⟦U+FEFF⟧"),
        ("a\ud800b", "a⟦U+D800⟧b"),
        ("\U000e0041", "⟦U+E0041⟧"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("a\rb", "a⟦U+000D⟧b"),
        ("\x01" * 6, "⟦U+0001 U+0001 U+0001 U+0001 +2⟧"),
        ("普通，“文字”…… 👩‍👩‍👧 é", "普通，“文字”…… 👩‍👩‍👧 é"),
    ],
)
def test_hidden_characters_are_named_and_others_left_alone(text, shown):
    assert visible(text) == shown


@given(st.text(st.characters(exclude_categories=[])))
def test_what_is_shown_can_always_be_written_as_utf_8(text):
    visible(text).encode()
    for part in parts(text):
        part.text.encode()


@given(st.text(), st.lists(st.lists(st.integers(-5, 60), max_size=3)))
def test_marks_never_lose_or_add_a_letter(text, offsets):
    shown = "".join(part.text for part in highlighted(text, offsets, limit=10**9))
    assert shown == "".join(part.text for part in parts(text) if not part.code)


@pytest.mark.parametrize(
    ("offsets", "marked"),
    [
        ([[1, 3]], ["bc"]),
        ([[2, 4], [1, 3]], ["bcd"]),
        ([[1, 2], [2, 3]], ["bc"]),
        ([[-4, 1], [4, 99]], ["a", "ef"]),
        ([[3, 1]], []),
        ([[1]], []),
        ([[True, 3]], []),
        ([["1", "3"]], []),
        ("no list", []),
        (None, []),
    ],
)
def test_offsets_are_clamped_sorted_and_merged(offsets, marked):
    found = [part.text for part in highlighted("abcdef", offsets) if part.marked]
    assert found == marked


def test_a_long_snippet_is_cut_around_its_first_mark():
    text = "x" * 1000 + "WRONG" + "y" * 1000
    found = highlighted(text, [[1000, 1005]], window=10, limit=100)
    assert found[0] == TextPiece("…")
    assert found[-1] == TextPiece("…")
    assert "".join(p.text for p in found) == "…" + "x" * 10 + "WRONG" + "y" * 85 + "…"


def test_a_cut_text_says_so():
    assert clip("abcdef", 4) == "abc…"
    assert clip("abcd", 4) == "abcd"
