"""Strict JSON: what is refused, where, and what is kept exactly."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlab.json_text.places import decode, pointer
from promptlab.json_text.reading import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_FAULTS,
    JsonReader,
    JsonTextError,
    parse_fast,
    read_exactly,
)
from promptlab.json_text.writing import canonical, compact

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8")),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4),
    ),
    max_leaves=12,
)


def parse(text: str | bytes, *, strict: bool = True) -> Any:
    """Read with the exact reader; the fast one must agree."""
    text = decode(text) if isinstance(text, bytes) else text
    reader = read_exactly(text, strict=strict)
    if reader.faults:
        with pytest.raises((ValueError, RecursionError)):
            parse_fast(text)
        raise JsonTextError(reader.faults)
    if strict:
        assert parse_fast(text) == reader.value
    return reader.value


def faults(text: str | bytes, *, strict: bool = True) -> list[tuple]:
    with pytest.raises(JsonTextError) as caught:
        parse(text, strict=strict)
    return [
        (fault.code, fault.line, fault.column, pointer(fault.keys))
        for fault in caught.value.faults
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"a":NaN}', ("not_a_number", 1, 6, "/a")),
        ('{"a":[0,-Infinity]}', ("not_a_number", 1, 9, "/a/1")),
        ('{"a":1e400}', ("number_out_of_range", 1, 6, "/a")),
        ('{"a":-1e309}', ("number_out_of_range", 1, 6, "/a")),
        ('{"a":{"b":1,\n "b":2}}', ("duplicate_key", 2, 2, "/a/b")),
        ('{"":1,"":2}', ("duplicate_key", 1, 7, "/")),
        ('{"a/b~":{"é":NaN}}', ("not_a_number", 1, 14, "/a~1b~0/é")),
        (r'{"a":"x\ud83d"}', ("lone_surrogate", 1, 8, "/a")),
        (r'{"a":"\ud83d\ude00\ude00"}', ("lone_surrogate", 1, 19, "/a")),
        (r'{"\udc00":1}', ("lone_surrogate", 1, 3, "")),
        (b'{"\xe4\xb8\xad":"\xff"}', ("bad_utf8", 1, 7, "/中")),
        (b'{"a":"\xed\xa0\x80"}', ("bad_utf8", 1, 7, "/a")),
        (b"\xff{}", ("bad_utf8", 1, 1, "")),
        (b"\xc3", ("bad_utf8", 1, 1, "")),
        ('{"a":' + "9" * (MAX_DIGITS + 1) + "}", ("integer_too_long", 1, 6, "/a")),
        ('{"a":1,}', ("syntax", 1, 8, "")),
        ("[1,]", ("syntax", 1, 4, "/1")),
        ('{"a":[1 2]}', ("syntax", 1, 9, "/a/1")),
        ('{"a" 1}', ("syntax", 1, 6, "/a")),
        ("{a:1}", ("syntax", 1, 2, "")),
        ("{'a':1}", ("syntax", 1, 2, "")),
        ('{"a":01}', ("syntax", 1, 6, "/a")),
        ('{"a":1.}', ("syntax", 1, 6, "/a")),
        ('{"a":.5}', ("syntax", 1, 6, "/a")),
        ('{"a":+1}', ("syntax", 1, 6, "/a")),
        ('{"a":١}', ("syntax", 1, 6, "/a")),
        ('{"a":True}', ("syntax", 1, 6, "/a")),
        ('{"a":nul}', ("syntax", 1, 6, "/a")),
        ("{}{}", ("syntax", 1, 3, "")),
        ("\u00a0{}", ("syntax", 1, 1, "")),
        ('{"a":"b', ("unterminated_string", 1, 6, "/a")),
        ('{"a":"b\n"}', ("unterminated_string", 1, 6, "/a")),
        ('{"a":"\t"}', ("control_character", 1, 7, "/a")),
        (r'{"a":"\x41"}', ("bad_escape", 1, 7, "/a")),
        (r'{"a":"\u12g4"}', ("bad_escape", 1, 7, "/a")),
        ('{"a":[1,', ("unexpected_end", 1, 9, "/a/1")),
        ('{"a":1', ("unexpected_end", 1, 7, "/a")),
        ("", ("unexpected_end", 1, 1, "")),
        ("\n\n", ("unexpected_end", 3, 1, "")),
        ("[" * 801 + "]" * 801, ("too_deep", 1, 801, "")),
        ('{"a":' * 801 + "1" + "}" * 801, ("too_deep", 1, 4001, "")),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_fault_is_named_with_code_line_column_and_pointer(text, fault):
    assert faults(text) == [fault]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a":1,}', "found '}', expected a key in double quotes. Remove the comma"),
        ('{"a":1 "b":2}', 'found \'"\', expected "," or "}". Add the missing comma'),
        ("{'a':1}", "straight double quotes"),
        ("{“a”:1}", "straight double quotes"),
        ('{"a":True}', "JSON writes true, false and null."),
        ('{"a":1}{"b":2}', "Write each record on its own line."),
        ('{"a":1},', "Records are not separated by commas"),
        ('{"a":/* x */1}', "A comment is a whole line that starts with //."),
        ('{"a":"\t"}', r"(U+0009) in a text. Write it as \t."),
        (
            '{"a":"C:\\dir"}',
            r"\d is not a JSON escape. Write a backslash itself as \\.",
        ),
        (b'{"a":"\xe9t\xe9"}', "the byte 0xE9 is not UTF-8. Save the file as UTF-8."),
        ('{"a":[\n{"b":1', "opened in line 2, column 1"),
    ],
)
def test_a_message_says_what_to_write_instead(text, message):
    with pytest.raises(JsonTextError, match=re.escape(message)):
        parse(text)


def test_value_faults_are_all_named_at_once():
    text = '{"a":NaN,"b":[1e999],"a":1,"c":"\\ud800"}'
    assert [fault[0] for fault in faults(text)] == [
        "not_a_number",
        "number_out_of_range",
        "duplicate_key",
        "lone_surrogate",
    ]


def test_a_million_faults_are_not_listed_but_the_last_word_is():
    found = faults("[" + "NaN," * 5000 + "}")
    assert len(found) == MAX_FAULTS
    assert found[-1][0] == "syntax"


@pytest.mark.parametrize("digits", [19, 20, 400, MAX_DIGITS])
def test_an_integer_keeps_every_digit(digits):
    text = "7" * digits
    assert parse(f"[-{text}]") == [-int(text)]
    assert compact(parse(f"[{text}]")) == f"[{text}]"


@pytest.mark.parametrize(
    ("opening", "middle", "closing"), [("[", "", "]"), ('{"a":', "1", "}")]
)
def test_nesting_up_to_the_limit_is_read_and_written(opening, middle, closing):
    text = opening * MAX_DEPTH + middle + closing * MAX_DEPTH
    assert compact(parse(text)) == text
    assert canonical(parse(text)) == text.encode()


@pytest.mark.parametrize("text", ["[" * 300_000, '{"a":' * 100_000, "[[]," * 100_000])
def test_hostile_nesting_is_a_fault_and_no_crash(text):
    assert faults(text)[0][0] in ("too_deep", "unexpected_end")


def test_many_brackets_side_by_side_are_not_deep():
    assert parse("[" + "[]," * 5000 + "[]]") == [[]] * 5001


@pytest.mark.parametrize("limit", [5000])
def test_the_limit_of_nesting_holds_where_python_would_go_deeper(limit, monkeypatch):
    import sys

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        assert faults("[" * 801 + "]" * 801)[0][0] == "too_deep"
    finally:
        sys.setrecursionlimit(before)


def test_a_byte_order_mark_and_crlf_are_accepted():
    assert parse(b'\xef\xbb\xbf{"a":\r\n1}\r\n') == {"a": 1}


def test_read_leniently_the_first_of_equal_keys_counts_and_numbers_may_be_huge():
    assert parse('{"a":1,"a":2}', strict=False) == {"a": 1}
    assert parse("[1e999]", strict=False) == [float("inf")]
    assert faults("[NaN]", strict=False)[0][0] == "not_a_number"


@given(VALUES)
def test_what_is_written_reads_back_the_same(value):
    assert parse(compact(value)) == value
    assert parse(json.dumps(value)) == value
    assert parse(json.dumps(value, indent=2)) == value


@given(VALUES)
def test_a_value_is_complete_with_its_last_line(value):
    reader = JsonReader()
    for line in json.dumps(value, indent=1).split("\n"):
        assert not reader.complete
        reader.feed(line)
    assert reader.complete


PIECES = ["{", "}", "[", "]", ",", ":", '"a"', '"b"', '"\\n"', "1", "-2.5e3", "0"]
PIECES += ["true", "null", " ", "\n", "NaN", "1e400", "'", '"', "\\", "tru", "-", "."]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_both_readers_refuse_the_same_texts(text):
    try:
        fast = parse_fast(text)
    except ValueError:
        with pytest.raises(JsonTextError):
            parse(text)
    else:
        assert parse(text) == fast


@given(VALUES, st.randoms(use_true_random=False))
def test_canonical_text_does_not_depend_on_the_order_of_keys(value, random):
    assert canonical(shuffled(value, random)) == canonical(value)


def shuffled(value, random):
    if isinstance(value, dict):
        keys = list(value)
        random.shuffle(keys)
        return {key: shuffled(value[key], random) for key in keys}
    if isinstance(value, list):
        return [shuffled(item, random) for item in value]
    return value


def test_canonical_text_tells_different_values_apart():
    values = [1, 1.0, "1", True, None, [], {}, [1], {"a": 1}, {"a": None}, [[]], ""]
    assert len({canonical(value) for value in values}) == len(values)
