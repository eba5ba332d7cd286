from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlab.json_text.places import (
    SpanIndex,
    keys_of,
    line_column,
    members,
    pointer,
    spans,
    value_end,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


def ways(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    found = [(way, value)]
    if isinstance(value, dict):
        for key in value:
            found += ways(value[key], (*way, key))
    if isinstance(value, list):
        for n, each in enumerate(value):
            found += ways(each, (*way, n))
    return found


@given(JSON, st.sampled_from([None, 1]), st.booleans())
def test_every_value_is_found_where_it_stands(value, indent, ascii_):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_)
    index = SpanIndex(text)
    for way, each in ways(value):
        start = index.find(way)
        assert json.loads(text[start : value_end(text, start)]) == each


@given(st.lists(st.text(max_size=4), max_size=4))
def test_a_pointer_is_read_as_it_was_written(way):
    assert keys_of(pointer(way)) == way


@pytest.mark.parametrize(
    ("way", "written"),
    [((), ""), (("a/b", 0, "m~n"), "/a~1b/0/m~0n"), (("",), "/"), (("~1",), "/~01")],
)
def test_a_pointer_is_written_as_rfc_6901_says(way, written):
    assert pointer(way) == written


def test_the_deepest_value_on_the_way_is_found_where_the_last_is_missing():
    text = '{"a": {"b": [1, 2]}}'
    index = SpanIndex(text)
    assert text[index.find(("a", "c")) :] == '{"b": [1, 2]}}'
    assert text[index.find(("a", "b", 5)) :] == "[1, 2]}}"
    assert text[index.find(("a", "b", 1, "x")) :] == "2]}}"


@given(st.text("ab好\n", max_size=30))
def test_lines_and_columns_count_from_one_in_characters(text):
    index = SpanIndex(text)
    for place in range(len(text)):
        line, column = index.line_column(place)
        assert text.split("\n")[line - 1][column - 1 : column] == text[place].strip(
            "\n"
        )
        assert line_column(text, place) == (line, column)


def test_values_deeper_than_python_recurses_have_an_end():
    deep = "[" * 50_000 + '"]"' + "]" * 50_000
    assert value_end(deep, 0) == len(deep)
    [span] = spans(f'{{"a": {deep}}}', 0)[0]
    assert (span.key, span.start) == ("a", 6)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[1, ]", 4),
        ("[1 2]", 3),
        ('{"a": 1,}', 8),
        ('{"a" 1}', 5),
        ("{a: 1}", 1),
        ('{"a": }', 6),
        ("[", 1),
        ('{"a": 1', 7),
        ("[" * 5_000, 1),
    ],
)
def test_broken_text_is_refused_where_it_breaks(text, place):
    with pytest.raises(json.JSONDecodeError) as raised:
        spans(text, 0)
    assert raised.value.pos == place


@pytest.mark.parametrize(
    ("text", "member"),
    [
        ('{"id": "a"}', "a"),
        ('{"x": {"id": "b"}, "id": "a\\n"}', "a\n"),
        ('{"id": 5}', None),
        ('{"x": 1}', None),
        ('["id", "a"]', None),
        ('"id"', None),
    ],
)
def test_a_text_member_is_read_without_its_neighbours(text, member):
    assert SpanIndex(text).text_member("id") == member


TEXTS = st.text('ab,:"\\{}[] \n', max_size=6)
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.data())
def test_the_keys_of_a_cut_document_are_its_first_keys(document, data):
    text = json.dumps(document, indent=data.draw(st.sampled_from([None, 1])))
    found = list(members(text.encode()))
    read = json.JSONDecoder().raw_decode
    assert {
        json.loads(b'"%b"' % key): read(text[place:].lstrip())[0]
        for key, place in found
    } == document
    cut = data.draw(st.integers(0, len(text)))
    begun = list(members(text[:cut].encode()))
    assert begun == found[: len(begun)]
    assert all(place > cut for _, place in found[len(begun) :])
