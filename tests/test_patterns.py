"""Matchers of texts in expectations, and the meaning of patterns."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import duckdb
import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from promptlab import patterns
from promptlab.patterns import text_check, translate

DOCS = Path(__file__).resolve().parent.parent / "docs" / "matching.md"

# Every code point that a text can contain; unassigned ones are not tested.
BMP = [chr(code) for code in range(0x10000) if not 0xD800 <= code <= 0xDFFF]
ASSIGNED = [char for char in BMP if unicodedata.category(char) != "Cn"]

# Unicode's own block boundaries of the scripts that the docs name.
BLOCKS = [
    (0x0000, 0x02AF),  # Latin up to the phonetic extensions
    (0x0370, 0x052F),  # Greek, Cyrillic and its supplement
    (0x1100, 0x11FF),  # Hangul Jamo
    (0x1E00, 0x1FFF),  # Latin Extended Additional, Greek Extended
    (0x3005, 0x3007),  # marks that stand for a CJK character
    (0x3040, 0x318F),  # Hiragana, Katakana, Bopomofo, Hangul letters
    (0x31F0, 0x31FF),  # Katakana Phonetic Extensions
    (0x3400, 0x4DBF),  # CJK Extension A
    (0x4E00, 0x9FFF),  # CJK
    (0xAC00, 0xD7A3),  # Hangul Syllables
    (0xF900, 0xFAFF),  # CJK Compatibility
    (0xFF00, 0xFFEF),  # Halfwidth and Fullwidth Forms
]


def is_digit(char: str) -> bool:
    if char.isascii():
        return char in "0123456789"
    return unicodedata.name(char, "").startswith("FULLWIDTH DIGIT")


def is_space(char: str) -> bool:
    return char.isspace()


def is_word(char: str) -> bool:
    if char == "_":
        return True
    category = unicodedata.category(char)
    letter = category.startswith("L") or category == "Nd" or char == "\u3007"
    return letter and any(first <= ord(char) <= last for first, last in BLOCKS)


ORACLES = {"d": is_digit, "s": is_space, "w": is_word}


def found(pattern: str, characters: list[str]) -> set[str]:
    """The characters that a pattern, as SQL gets it, matches."""
    translated = translate(pattern).translated
    assert translated is not None
    runs = re2.findall(f"(?s)(?:{translated})+", "".join(characters))
    return set("".join(runs))


@pytest.mark.parametrize("letter", "dws")
def test_a_class_is_what_the_oracle_says_on_every_assigned_character(letter):
    expected = {char for char in ASSIGNED if ORACLES[letter](char)}
    assert found(rf"\{letter}", ASSIGNED) == expected
    assert found(rf"[\{letter}]", ASSIGNED) == expected


@pytest.mark.parametrize("letter", "dws")
def test_the_capital_class_is_everything_else(letter):
    everything = set(BMP)
    rest = everything - found(rf"\{letter}", BMP)
    assert found(rf"\{letter.upper()}", BMP) == rest
    assert found(rf"[^\{letter}]", BMP) == rest


def test_a_class_of_non_digits_holds_everything_but_the_digits():
    assert found(r"[\D]", BMP) == set(BMP) - found(r"\d", BMP)
    assert found(r"[^\D]", BMP) == found(r"\d", BMP)


@pytest.mark.parametrize(
    ("pattern", "char", "matches"),
    [
        (r"^\w$", "\U00020bb7", True),  # a CJK character beyond the first plane
        (r"^\w$", "\U0001f600", False),  # an emoji
        (r"^\d$", "\U0001d7d8", False),  # a mathematical digit
        (r"^\s$", "\U000e0020", False),
    ],
)
def test_beyond_the_first_plane_only_cjk_is_a_word(pattern, char, matches):
    assert translate(pattern).search(char) is matches


@pytest.mark.parametrize("flags", ["", "(?i)", "(?s)", "(?m)", "(?U)"])
@pytest.mark.parametrize(
    "item",
    [r"\d", r"\D", r"\w", r"\W", r"\s", r"\S"]
    + [rf"[{caret}\{letter}x-z]" for caret in ("", "^") for letter in "dDws"]
    + [r"[\s-z]", r"[\d-z]", r"[^\w.-]", r"[]\s]", r"[^]\s]"],
)
def test_on_every_ascii_character_both_patterns_agree(item, flags):
    pattern = translate(flags + item)
    full, cheap = re2.compile(pattern.translated), re2.compile(pattern.ascii)
    for char in map(chr, range(128)):
        assert bool(full.search(char)) == bool(cheap.search(char)), char


ITEMS = [r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\b", r"\B", ".", "^", "$"]
ITEMS += ["a", "K", "7", "_", " ", r"\t", r"\.", r"\\", r"\Qa\d\E", "é", "中", "ſ"]
ITEMS += [r"[\d_]", r"[^\s,]", r"[\w-]", r"[\D]", "[[:alpha:]]", r"\pL", r"[\]\s]"]
COMPOSED = st.recursive(
    st.sampled_from(ITEMS),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "*?"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
        inner.map(lambda one: f"(?i:{one})"),
    ),
    max_leaves=8,
)


@given(COMPOSED, st.text(st.characters(max_codepoint=127), max_size=12))
def test_on_ascii_texts_both_patterns_agree(source, text):
    pattern = translate(source)
    assert pattern.error is None
    full, cheap = re2.compile(pattern.translated), re2.compile(pattern.ascii)
    assert bool(full.search(text)) == bool(cheap.search(text))


@given(COMPOSED, st.text(max_size=8))
def test_search_is_what_the_database_finds(source, text):
    pattern = translate(source)
    row = duckdb.execute(
        "select regexp_matches(t, p) from (values (?, ?)) as pairs(t, p)",
        [text, pattern.translated],
    ).fetchone()
    assert row == (pattern.search(text),)


@pytest.mark.parametrize(
    ("pattern", "translated"),
    [
        (r"\Q\d\E\d", rf"\Q\d\E[{patterns.DIGIT}]"),
        (r"\Q\d", r"\Q\d"),
        (r"\\d", r"\\d"),
        (r"[\\d]", r"[\\d]"),
        (r"[]\d]", rf"[]{patterns.DIGIT}]"),
        (r"[^]\d]", rf"[^]{patterns.DIGIT}]"),
        (r"[\]\d]", rf"[\]{patterns.DIGIT}]"),
        (r"[[:alpha:]\d]", rf"[[:alpha:]{patterns.DIGIT}]"),
        (r"[[]\d", rf"[[][{patterns.DIGIT}]"),
        (r"\[\d", rf"\[[{patterns.DIGIT}]"),
        (r"(?P<d>a)", r"(?P<d>a)"),
        (r"(?<d>a)", r"(?P<d>a)"),
        (r"[(?<x]", r"[(?<x]"),
        (r"\x{64}\pL\07", r"\x{64}\pL\07"),
        ("电话: \\d", f"电话: [{patterns.DIGIT}]"),
    ],
)
def test_only_class_escapes_and_named_groups_are_rewritten(pattern, translated):
    assert translate(pattern).translated == translated


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?=a)", "Look-around"),
        ("(?!a)b", "Look-around"),
        ("(?<=a)b", "Look-around"),
        ("(?<!a)b", "Look-around"),
        (r"(a)\1", "back-references"),
        (r"(?P<n>a)(?P=n)", "RE2 says"),
        ("(", "RE2 says: missing )"),
        ("[a", "RE2 says: missing ]"),
        ("a**", "bad repetition operator"),
        ("a++", "quantifiers"),
        ("a{1001}", "invalid repetition size"),
        (r"\Z", r"The end of the text is $"),
        (r"\u4e2d", r"\x{4e2d}"),
        (r"[\W]", r"\W and \S cannot stand inside a character class"),
        (r"[^a\S]", r"\W and \S cannot stand inside a character class"),
        (r"[a-\d]", "RE2 says"),
        (r"[!-\d]", "RE2 says"),
        ("\\", "RE2 says"),
        ("\ud800", "surrogate"),
        (r"\pL{1000}", "too large"),
    ],
)
def test_a_pattern_that_cannot_be_used_says_why(pattern, reason):
    result = translate(pattern)
    assert reason in result.error
    assert result.translated is None
    assert result.ascii is None
    assert result.search("a") is None


@pytest.mark.parametrize("pattern", [r"\d", r"(?i)ok\b", "中\\d", r"\pL+"])
def test_an_ordinary_pattern_gives_no_warning(pattern):
    assert translate(pattern).warnings == ()


@pytest.mark.parametrize(
    ("pattern", "warning"),
    [
        (r"\b中文\b", "only ASCII words"),
        (r"é\B", "only ASCII words"),
        ("", "every text"),
    ],
)
def test_a_doubtful_pattern_is_valid_and_warned_of(pattern, warning):
    result = translate(pattern)
    assert result.error is None
    assert warning in result.warnings[0]


@pytest.mark.parametrize(
    ("text", "matcher", "operand"),
    [
        ("ok", "text", "ok"),
        ("", "text", ""),
        ("contains:  done \n", "contains", "done"),
        ("contains:a b", "contains", "a b"),
        ("contains:", "contains", ""),
        ("regex:  ^a $ ", "regex", "^a $ "),
        ("literal: contains:x ", "text", " contains:x "),
        (" contains:x", "text", " contains:x"),
        ("Contains:x", "text", "Contains:x"),
        ("contains :x", "text", "contains :x"),
        ("regexp:x", "text", "regexp:x"),
        ("literal:literal:x", "text", "literal:x"),
    ],
)
def test_the_prefix_of_an_expected_text_names_its_matcher(text, matcher, operand):
    assert text_check(text) == (matcher, operand)


def test_the_docs_name_exactly_the_ranges_that_are_searched():
    rows = re.findall(r"^\| `\\([dsw])`[^|]*\| (.*) \|$", DOCS.read_text("utf-8"), re.M)
    named: dict[str, set[str]] = {"d": set(), "s": set(), "w": set()}
    for letter, ranges in rows:
        for first, last in re.findall(r"U\+([0-9A-F]+)(?:–([0-9A-F]+))?", ranges):
            codes = range(int(first, 16), int(last or first, 16) + 1)
            named[letter].update(map(chr, codes))
    everything = [*BMP, *map(chr, range(0x20000, 0x32400))]
    for letter, characters in named.items():
        assert found(rf"\{letter}", everything) == characters
