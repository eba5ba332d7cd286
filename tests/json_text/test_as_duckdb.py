"""Reading, copying and writing JSON as the warehouse does."""

from __future__ import annotations

import datetime
import json
from types import MappingProxyType

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlab.errors import InputError, UsageError
from promptlab.json_text.reading import JsonText, copy_json, parse_as_duckdb
from promptlab.json_text.writing import compact_as_duckdb

DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | DOUBLES
    | st.text(st.characters(codec="utf-8"), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(st.characters(codec="utf-8"), max_size=3), inner, max_size=3
        )
    ),
    max_leaves=10,
)


@pytest.fixture(scope="module")
def duckdb_text():
    """Return DuckDB's output for a JSON text."""
    with duckdb.connect() as con:
        query = "select cast(json_extract(cast(? as json), '$') as varchar)"
        yield lambda text: con.execute(query, [text]).fetchone()[0]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1e2", "100.0"),
        ("1.50", "1.5"),
        ("-0", "0"),
        ("-0.0", "-0.0"),
        ("0e5", "0.0"),
        ("1e16", "10000000000000000.0"),
        ("1e20", "100000000000000000000.0"),
        ("1e21", "1e21"),
        ("1E+22", "1e22"),
        ("123456.789e20", "1.23456789e25"),
        ("0.000001", "0.000001"),
        ("1.5e-7", "1.5e-7"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e308"),
        ("1E400", "1E400"),
        ("18446744073709551617", "18446744073709551617"),
        ("-9223372036854775809", "-9223372036854775809"),
        ("9" * 5000, "9" * 5000),
        (' {"a" : [1 , 2] } ', '{"a":[1,2]}'),
        ('{"b":1,"a":2}', '{"b":1,"a":2}'),
        ('{"a":1,"a":[2,{"b":3,"b":4}]}', '{"a":1,"a":[2,{"b":3,"b":4}]}'),
        ('"\\u4e2d\\/\\u001f\\u007f\\u2028"', '"中/\\u001F\x7f\u2028"'),
        ('"\\b\\f\\n\\r\\t\\u000b\\u0000"', '"\\b\\f\\n\\r\\t\\u000B\\u0000"'),
        ('"\\ud83d\\ude00\\"\\\\"', '"😀\\"\\\\"'),
        ("[]", "[]"),
        ("{}", "{}"),
    ],
)
def test_text_is_written_as_duckdb_writes_it(duckdb_text, text, written):
    assert compact_as_duckdb(parse_as_duckdb(text)) == written == duckdb_text(text)


@given(st.lists(DOUBLES, min_size=1, max_size=50))
def test_doubles_are_written_as_duckdb_writes_them(duckdb_text, doubles):
    text = json.dumps(doubles)
    assert compact_as_duckdb(parse_as_duckdb(text)) == duckdb_text(text)


@given(JSON)
def test_documents_are_written_as_duckdb_writes_them(duckdb_text, value):
    text = json.dumps(value)
    assert compact_as_duckdb(value) == duckdb_text(text)


@given(JSON)
def test_what_is_written_is_read_back(value):
    read = parse_as_duckdb(compact_as_duckdb(value))
    assert read == value
    assert compact_as_duckdb(read) == compact_as_duckdb(value)


def test_integers_and_doubles_stay_what_they_are():
    value = parse_as_duckdb('[1, 1.0, 1e0, 12345678901234567890123, "9"]')
    assert [type(each) for each in value] == [int, float, float, int, str]
    assert value[3] == 12345678901234567890123


def test_of_equal_keys_the_first_counts():
    value = parse_as_duckdb('{"a": {"x": 1}, "b": 2, "a": 3}')
    assert value == {"a": {"x": 1}, "b": 2}
    assert list(value) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1, column 2"),
        ("[1,]", "line 1, column 4"),
        ('{"a": 1}\n x', "line 2, column 2"),
        ("NaN", "NaN is not a JSON value"),
        ("[-Infinity]", "-Infinity is not a JSON value"),
        ('"\\ud800"', "half of a surrogate pair"),
        ('{"\\udc00": 1}', "half of a surrogate pair"),
        ("[" * 3000 + "]" * 3000, "more than 800 objects and lists"),
        ("", "line 1, column 1"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(text, message):
    with pytest.raises(InputError, match=message):
        parse_as_duckdb(text)


def test_a_copy_shares_nothing_with_its_source():
    source = {"a": [{"b": 1}], "c": "x"}
    copied = copy_json(source)
    copied["a"][0]["b"] = 2
    assert source == {"a": [{"b": 1}], "c": "x"}


def test_a_copy_is_made_of_plain_types():
    class Name(str):
        __slots__ = ()

    source = MappingProxyType({"a": (1, 2), "b": Name("x")})
    copied = copy_json(source)
    assert copied == {"a": [1, 2], "b": "x"}
    assert type(copied) is dict
    assert type(copied["b"]) is str


def test_json_text_is_read_wherever_it_stands():
    copied = copy_json({"a": JsonText('{"n": 1e2, "n": 5}'), "b": "[1]"})
    assert copied == {"a": {"n": 100.0}, "b": "[1]"}
    assert compact_as_duckdb(copied["a"]) == '{"n":100.0,"n":5}'


def test_a_copy_of_equal_keys_still_has_both():
    value = parse_as_duckdb('{"a": {"b": 1, "b": 2}, "a": 3}')
    assert compact_as_duckdb(copy_json(value)) == '{"a":{"b":1,"b":2},"a":3}'


class Endless(list):
    """A list that contains itself."""

    def __init__(self) -> None:
        super().__init__()
        self.append(self)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [{1, 2}]}, "^outputs/a/0: set is not a JSON value; pass dict, list"),
        ({"a/b": object()}, "^outputs/a~1b: object is not a JSON value"),
        ({"t": datetime.date(2024, 1, 1)}, "^outputs/t: date is not a JSON value"),
        ({"x": float("nan")}, "^outputs/x: nan is not a JSON number; use None"),
        ([float("-inf")], "^outputs/0: -inf is not a JSON number"),
        ({5: "five"}, "^outputs: key 5 is int, JSON keys are text; write '5'"),
        ({"a": "\ud800"}, "^outputs/a: character 0 is half of a surrogate pair"),
        ({"\udfff": 1}, "^outputs: character 0 is half of a surrogate pair"),
        ({"a": JsonText("{")}, "^outputs/a: not JSON: line 1, column 2"),
        (Endless(), "^outputs: nested deeper than 800 levels, or a value that"),
    ],
)
def test_what_is_no_json_value_is_pointed_at(value, message):
    with pytest.raises(UsageError, match=message):
        copy_json(value, "outputs")
