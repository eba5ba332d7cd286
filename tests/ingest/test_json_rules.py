"""The table of JSON rules in docs/formats.md, for every kind of input."""

from __future__ import annotations

import json

import pytest

from promptlab.ingest.load import read_files
from promptlab.ingest.plan import plan

RESULT = '{"sample_id":"s","run_id":"r","entity_id":"e","variant":"v","metadata":%s}\n'
SCORE = (
    '{"task_id":"t","case_id":"c","round_id":"r","dimension_id":"d","score":1,'
    '"scale":1,"scorer":"s","payload":%s}\n'
)
ANALYSIS = (
    '{"task":{"task_id":"t","title":"t","prompt_version":"1","model":"m",'
    '"triggered_by":"ci","env":{},"created_at":"2024-10-24T12:30:00Z"},'
    '"cases":[{"case_id":"c","context":%s,"rounds":[]}]}'
)
DIMENSION = (
    ANALYSIS[:-1] % "{}" + ',"dimensions":[{"dimension_id":"d","name":"D","weight":1,'
    '"scoring_mode":"higher_better","parameters":%s}]}'
)
MEMORY = (
    '{"experiment_info":{"dataset":"d","task_id":"t"},"test_results":[],'
    '"dataset_statistics":%s}'
)
TOOL = '{"id":"a","example_id":"e","inputs.q":%s,"feedback.f":1}\n'

INPUTS = {
    "testset": ("t.jsonl", '{"id":"a","inputs":%s,"expected_outputs":{"x":1}}\n'),
    "results": ("r.jsonl", RESULT),
    "results_list": ("r.json", f"[{RESULT}]"),
    "scores": ("s.jsonl", SCORE),
    "analysis": ("a.json", ANALYSIS),
    "dimension": ("a.json", DIMENSION),
    "memory": ("d/240101_0000/t.json", MEMORY),
    "tool": ("l.jsonl", TOOL),
}

VALUES = {
    "duplicate_key": b'{"a":1,"a":2}',
    "not_a_number": b'{"a":NaN}',
    "number_out_of_range": b'{"a":1e400}',
    "lone_surrogate": b'{"a":"\\ud800"}',
    "bad_utf8": b'{"a":"\xff"}',
    "integer_too_long": b'{"a":' + b"9" * 5000 + b"}",
    "too_deep": b'{"a":' + b"[" * 2000 + b"]" * 2000 + b"}",
    "syntax": b'{"a":1,}',
    "good": b'{"a":[1,"x",null,true]}',
}
STORED = {"duplicate_key", "number_out_of_range", "integer_too_long"}
"""Accepted inside the JSON that a record keeps as it is written."""

MENDED = {"lone_surrogate", "good"}
"""Accepted everywhere: half of a surrogate pair is read as U+FFFD, with a warning."""

ACCEPTED = {
    "testset": set(),
    "results": STORED,
    "results_list": STORED,
    "scores": STORED,
    "analysis": STORED,
    "dimension": {"duplicate_key", "number_out_of_range"},
    "memory": {"duplicate_key"},
    "tool": {"duplicate_key", "not_a_number"},
}


def rejects(tmp_path, kind, value):
    name, text = INPUTS[kind]
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    before, after = text.split("%s")
    path.write_bytes(before.encode() + value + after.encode())
    return [
        problem
        for _, reading in read_files(plan([path]))
        for problem in reading.problems
        if problem.severity == "reject"
    ]


@pytest.mark.parametrize("code", VALUES)
@pytest.mark.parametrize("kind", INPUTS)
def test_each_input_accepts_what_the_table_says(tmp_path, kind, code):
    found = rejects(tmp_path, kind, VALUES[code])
    if code in ACCEPTED[kind] | MENDED:
        assert found == []
    elif kind == "tool":
        assert [problem.code for problem in found] == ["unexpected_shape"]
    else:
        assert [problem.code for problem in found] == [code]


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("bad_utf8", "the byte 0xFF is not UTF-8"),
        ("syntax", "found '}', expected a key in double quotes"),
        ("too_deep", "objects and lists inside each other; the limit is"),
    ],
)
def test_an_error_has_the_same_words_in_every_input(tmp_path, kind, code, words):
    [problem] = rejects(tmp_path, kind, VALUES[code])
    assert words in problem.message
    assert problem.line == 1


LAYOUTS = {
    "comment": lambda text: f"// a comment\n{text}",
    "comment after a byte order mark": lambda text: f"\ufeff  // a comment\n{text}",
    "comment inside": lambda text: text.replace("{", "{\n  // {why}\n", 1),
    "comment at the end": lambda text: f"{text.rstrip()}\n//",
    "CRLF": lambda text: text.rstrip("\n") + "\r\n",
    "blank lines": lambda text: f"\n \n{text}\n\n",
    "in many lines": lambda text: json.dumps(json.loads(text), indent=1),
}
IN_MANY_LINES = {"comment inside", "in many lines"}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", INPUTS)
def test_the_layout_of_a_text_does_not_matter(tmp_path, kind, layout):
    if kind == "tool" and layout in IN_MANY_LINES:
        pytest.skip("the tool writes a record in a line")
    name, text = INPUTS[kind]

    def reading(data):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode())
        return [
            (one.records_loaded, [p.code for p in one.problems])
            for _, one in read_files(plan([path]))
        ]

    assert reading(LAYOUTS[layout](text % "{}")) == reading(text % "{}")


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**64, 10**30])
@pytest.mark.parametrize("kind", INPUTS)
def test_a_number_of_more_than_64_bits_is_read(tmp_path, kind, number):
    assert rejects(tmp_path, kind, b'{"a":%d}' % number) == []


@pytest.mark.parametrize("kind", INPUTS)
def test_a_byte_order_mark_is_skipped(tmp_path, kind):
    name, text = INPUTS[kind]
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\xef\xbb\xbf" + (text % "{}").encode())
    for _, reading in read_files(plan([path])):
        assert [p for p in reading.problems if p.severity == "reject"] == []
