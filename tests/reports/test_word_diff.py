"""Two texts side by side: what is marked, and what a text may not do to it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlab.reports.printing import TextPiece, marked_parts
from promptlab.reports.views import MOST_CHARS, word_diff


def shown(list_of_parts: list[TextPiece]) -> str:
    return "".join(f"[{p.text}]" if p.marked else p.text for p in list_of_parts)


@pytest.mark.parametrize(
    ("before", "after", "marked_before", "marked_after"),
    [
        ("the quick brown fox", "the slow brown fox", "the [quick] brown fox", "the [slow] brown fox"),
        ("one two", "one two three", "one two", "one two[ three]"),
        ("订单不能退款。", "订单可以退款。", "订单[不能]退款。", "订单[可以]退款。"),
        ("退款 128.5 元", "退款 159.0 元", "退款 [128].[5] 元", "退款 [159].[0] 元"),
        ('{"a":true}', '{"a":false}', '{"a":[true]}', '{"a":[false]}'),
        ("abc", "xyz", "abc", "xyz"),
        ("", "new", "", "new"),
        ("It is due for 7 days.", "Yes, I sent it for you.", "It is due for 7 days.", "Yes, I sent it for you."),
    ],
)  # fmt: skip
def test_words_are_compared_and_chinese_letter_by_letter(
    before, after, marked_before, marked_after
):
    diff = word_diff(before, after)
    assert (shown(diff.before), shown(diff.after)) == (marked_before, marked_after)


def test_equal_texts_are_the_same():
    assert word_diff("a b", "a b").is_same
    assert not word_diff("a b", "a c").is_same


@given(st.text(max_size=80), st.text(max_size=80))
def test_each_side_is_its_text_and_what_is_left_unmarked_is_common(before, after):
    diff = word_diff(before, after)
    for side, text in ((diff.before, before), (diff.after, after)):
        whole = marked_parts(text, marked=False)
        assert "".join(p.text for p in side) == "".join(p.text for p in whole)
    if any(p.marked for p in [*diff.before, *diff.after]):
        left = [
            "".join(p.text for p in s if not p.marked)
            for s in (diff.before, diff.after)
        ]
        assert left[0] == left[1]


def test_a_hidden_character_stays_named_inside_a_change():
    diff = word_diff("pay 5 euro", "pay 5\u202e euro now")
    assert [p.code for p in diff.after if p.code] == ["U+202E"]


@pytest.mark.parametrize("word", ["a ", "字", "\n", "_", "!"])
def test_long_texts_are_bounded(word):
    before, after = word * 100_000, (word + "b") * 100_000
    began = time.process_time()
    diff = word_diff(before, after)
    assert time.process_time() - began < 2
    assert sum(len(p.text) for p in diff.before) <= MOST_CHARS
