"""A file's bytes cut into records."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlab.encoding import without_comments
from promptlab.ingest.reading import jsonl
from promptlab.ingest.reading.jsonl import Record, Rejected
from promptlab.json_text.reading import JsonReader


def read_records(data: bytes, **options):
    return jsonl.read_records(without_comments(data), **options)


def outcome(data: bytes | str) -> list[tuple]:
    """Good records as (line, value), bad ones as (line, code, line of the fault)."""
    encoded = data.encode() if isinstance(data, str) else data
    return [
        (item.place.line, item.value)
        if isinstance(item, Record)
        else (item.line, item.problems[0].code, item.problems[0].line)
        for item in read_records(encoded)
    ]


A, B, C = ({"id": name} for name in "abc")


@pytest.mark.parametrize(
    ("data", "records"),
    [
        ('{"id":"a"}\n{"id":"b"}\n', [(1, A), (2, B)]),
        ('{"id":"a"}\n{"id":"b"}', [(1, A), (2, B)]),
        ('{"id":"a"}\r\n{"id":"b"}\r\n', [(1, A), (2, B)]),
        ('\ufeff{"id":"a"}\n', [(1, A)]),
        ('\n  \t\r\n{"id":"a"}\n\n', [(3, A)]),
        ('// one\n   // two {"id":"x"}\n{"id":"a"}\n//', [(3, A)]),
        ('  {"id":"a"}  ', [(1, A)]),
        ('{"x":"\u2028\u2029\u0085"}', [(1, {"x": "\u2028\u2029\u0085"})]),
        ('{"id":"a"}\r{"id":"b"}', [(1, "syntax", 1)]),
        ("", []),
        ("// only a comment", []),
        ("[1]\n2\n", [(1, [1]), (2, 2)]),
    ],
)
def test_only_a_line_feed_ends_a_line_and_blanks_and_comments_are_skipped(
    data, records
):
    assert outcome(data) == records


def test_a_record_may_span_lines_with_comments_and_blank_lines_inside():
    data = ' {\n  "id": "a",\n  // why\n\n  "x": {\n  }\n}\n{"id":"b"}\n'
    assert outcome(data) == [(1, {"id": "a", "x": {}}), (8, B)]
    first = next(read_records(data.encode()))
    assert first.place.text == '{\n  "id": "a",\n\n\n  "x": {\n  }\n}'
    assert first.place.in_file(1, 1) == (1, 2)
    assert first.place.in_file(5, 3) == (5, 3)


@pytest.mark.parametrize(
    ("data", "records"),
    [
        # a line that is wrong in itself is rejected alone
        ('{"id":"a",}\n{"id":"b"}', [(1, "syntax", 1), (2, B)]),
        ('{"x":"y\n{"id":"b"}', [(1, "unterminated_string", 1), (2, B)]),
        ('{"x":tru\ne}\n{"id":"b"}', [(1, "syntax", 1), (2, "syntax", 2), (3, B)]),
        ('nonsense\n{"id":"b"}', [(1, "syntax", 1), (2, B)]),
        ('{"id":"a"} // why\n{"id":"b"}', [(1, "syntax", 1), (2, B)]),
        ('{"id":"a"},\n{"id":"b"}', [(1, "syntax", 1), (2, B)]),
        # a later line alone is an object with an id
        ('{"id":"a"\n{"id":"b"}\n', [(1, "unclosed_record", 1), (2, B)]),
        (
            '{"x":[\n{"id":"b"}\n]}',
            [(1, "unclosed_record", 1), (2, B), (3, "syntax", 3)],
        ),
        ('{"x":\n{"y":1},\n{"id":"b"}', [(1, "unclosed_record", 1), (3, B)]),
        ('{"x":\n  {"id":"b"}\n', [(1, "unclosed_record", 1), (2, B)]),
        # the file ends
        ('{"id":"a",\n"x":1', [(1, "unclosed_record", 1)]),
        ("{", [(1, "unclosed_record", 1)]),
        ('{"x":[\n{\n"id":"b"\n}\n', [(1, "unclosed_record", 1), (2, B)]),
        ('{"x":[\n{"y":\n{\n"id":"b"\n}\n', [(1, "unclosed_record", 1), (3, B)]),
        # the text goes wrong further down
        ('{"x":[\n{\n"id":"b"\n}\n{\n"id":"c"\n}', [(1, "syntax", 5), (2, B), (5, C)]),
        ('{\n"id":"a"\n"x":1\n}\n{"id":"b"}', [(1, "syntax", 3), (5, B)]),
        ('{\n"id":"a",\n"x":NaN\n}\n{"id":"b"}', [(1, "not_a_number", 3), (5, B)]),
        ('{\n{\n{"id":"b"}', [(1, "syntax", 2), (2, "unclosed_record", 2), (3, B)]),
    ],
)
def test_a_bad_record_is_rejected_at_its_first_line_and_the_others_are_read(
    data, records
):
    assert outcome(data) == records


def test_the_rest_of_a_broken_record_belongs_to_it():
    broken = json.dumps(
        {"id": "a", "batch_items": [{"id": "x", "n": {}}, {"id": "y"}], "inputs": {}},
        indent=2,
    ).replace('"n": {}', '"n": {},')
    good = json.dumps({"id": "b", "inputs": {"q": [{}]}}, indent=2)
    rejected, record = read_records(f"{broken}\n{good}\n".encode())
    assert isinstance(rejected, Rejected)
    assert rejected.problems[0].raw_text == broken
    assert rejected.problems[0].record_id == "a"
    assert record.value["id"] == "b"


def test_a_file_that_is_one_json_list_stays_one_record():
    data = '[\n{"id":"a"},\n{"id":"b"}\n]\n'
    assert outcome(data) == [(1, [A, B])]
    assert outcome('[\n{"id":"a"}\n{"id":"b"}') == [(1, "syntax", 3), (2, A), (3, B)]


@pytest.mark.parametrize("data", [b"\xff\xfe{\x00}\x00", b"\xfe\xff\x00{\x00}"])
def test_a_file_in_utf_16_is_one_problem(data):
    (rejected,) = read_records(data)
    assert "UTF-16" in rejected.problems[0].message


def test_bytes_that_are_not_utf_8_reject_their_record_only():
    data = b'{"id":"a\xff"}\n{"id":"b"}\n\x80\n'
    assert outcome(data) == [(1, "bad_utf8", 1), (2, B), (3, "bad_utf8", 3)]
    rejected = next(read_records(data))
    assert rejected.problems[0].raw_text == r'{"id":"a\xff"}'
    assert rejected.problems[0].record_id == r"a\xff"


def test_an_open_record_says_where_it_opened_and_what_stopped_it():
    rejected = next(read_records(b' {"id":"a","x":[\n{"id":"b"}'))
    (problem,) = rejected.problems
    assert (problem.line, problem.column, problem.pointer) == (1, 2, "/x/0")
    assert problem.message == (
        "the record that opens here is not closed: line 2 is a record of its own, and "
        "the text ends inside the list opened in line 1, column 16; expected a value "
        'or "]". Close every brace and bracket.'
    )


def test_a_fault_further_down_names_the_line_where_its_record_opens():
    (rejected,) = read_records(b'{"id":"a",\n"x":NaN,\n"y":1e999}')
    assert [(one.line, one.code) for one in rejected.problems] == [
        (2, "not_a_number"),
        (3, "number_out_of_range"),
    ]
    opened = "in the record that opens in line 1: "
    assert all(one.message.startswith(opened) for one in rejected.problems)


def test_read_leniently_equal_keys_do_not_reject():
    (record,) = read_records(b'{"a":1,"a":2}', strict=False)
    assert record.value == {"a": 1}


RECORDS = st.lists(
    st.dictionaries(
        st.text(max_size=3), st.one_of(st.integers(), st.text(max_size=3)), max_size=3
    ),
    max_size=6,
)


@given(RECORDS, st.sampled_from([None, 0, 1, 4]), st.sampled_from(["\n", "\r\n"]))
def test_records_come_back_however_they_are_printed(records, indent, end):
    text = "\n".join(json.dumps(record, indent=indent) for record in records)
    read = list(read_records(text.replace("\n", end).encode()))
    assert [item.value for item in read if isinstance(item, Record)] == records


@given(
    st.lists(
        st.sampled_from(
            ["{", "}", "[", "]", '{"id":"a"}', '"x":1', ",", '"x":', "{}", "//", ""]
        ),
        max_size=10,
    )
)
def test_every_line_is_in_a_record_or_in_a_reject(lines):
    data = "\n".join(lines)
    texts = []
    for item in read_records(data.encode()):
        text = (
            item.place.text if isinstance(item, Record) else item.problems[0].raw_text
        )
        texts += filter(None, text.split("\n"))
    kept = [line for line in lines if line and line != "//"]
    assert sorted(texts) == sorted(kept)


N = 3000
HOSTILE = {
    "an unclosed brace on top": "{\n" + '{"id":"x","y":{}}\n' * N,
    "every line opens": '{"a":\n' * N,
    "every line opens, indented": "".join(" " * (i % 50) + "{\n" for i in range(N)),
    "every line opens a list": "[\n" * N,
    "every second line opens": '{"a":[\n1\n' * N,
    "whole objects inside an open one": '{"a":[\n' + '{\n"b":1\n}\n,\n' * N,
    "towers that close in one line": ('{"a":\n' * 300 + "1" + "}" * 300 + "\n") * 10,
    "towers that close line by line": ('{"a":\n' * 300 + "1\n" + "}\n" * 300) * 10,
    "towers that close two by two": ('{"a":\n' * 300 + "1\n" + "}}\n" * 150) * 10,
    "records without their last brace": '{"a":1,\n"x":{\n"y":1\n}\n' * N,
    "objects with an id inside": '{"a":[\n' + '{\n"id":"b"\n},\n' * N,
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_no_file_is_read_more_than_a_few_times_over(data, monkeypatch):
    read = 0
    feed = JsonReader.feed

    def counting(reader: JsonReader, text: str) -> None:
        nonlocal read
        read += len(text) + 1
        feed(reader, text)

    monkeypatch.setattr(JsonReader, "feed", counting)
    items = list(read_records(data.encode()))
    assert items
    assert read <= 3 * len(data)
