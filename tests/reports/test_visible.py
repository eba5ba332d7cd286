"""Text that is not ours: hidden characters and evidence marks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlab.reports.printing import TextPiece, clip, highlighted, parts, visible


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
