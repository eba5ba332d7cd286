"""Pipeline files: YAML in, rows and problems out."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from textwrap import dedent
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlab.errors import InputError
from promptlab.ingest.files.yaml_secrets import MAX_YAML_BYTES
from promptlab.ingest.pipelines import load_pipeline_config, parse_pipeline
from promptlab.ingest.reading.yaml_text import read_yaml
from tests.ingest.at_once import read_pipeline

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"

GOOD = dedent(
    """\
    id: reviews
    name: 评论 pipeline
    default_testset: reviews_smoke_v1.jsonl
    evaluation_target: summary
    steps:
      - id: clean
        agent: cleaner
        output_key: cleaned_text
      - id: collect
        type: batch_aggregator
        required: false
      - id: summarize
        output_key: summary
    variants:
      short: {overrides: {summarize: {flow: v2}}}
    """
).encode()


def problems(text: str | bytes) -> list[tuple]:
    data = text.encode() if isinstance(text, str) else text
    return [
        (one.severity, one.code, one.line, one.column, one.pointer)
        for one in read_pipeline(data, "file").problems
    ]


def rejects(text: str | bytes) -> list[tuple]:
    return [one[1:] for one in problems(text) if one[0] == "reject"]


def test_a_pipeline_becomes_one_row_and_one_per_step():
    reading = read_pipeline(GOOD, "reviews")
    assert reading.problems == []
    assert reading.keys == [("pipeline", "reviews")]
    pipelines = dict(reading.rows["pipelines"])
    raw_data = json.loads(pipelines.pop("raw_data")[0])
    assert pipelines == {
        "pipeline_id": ["reviews"],
        "name": ["评论 pipeline"],
        "evaluation_target": ["summary"],
        "default_testset": ["reviews_smoke_v1.jsonl"],
    }
    assert raw_data["variants"] == {
        "short": {"overrides": {"summarize": {"flow": "v2"}}}
    }
    assert raw_data["steps"][0]["agent"] == "cleaner"
    assert reading.rows["pipeline_steps"] == {
        "pipeline_id": ["reviews"] * 3,
        "step_id": ["clean", "collect", "summarize"],
        "output_key": ["cleaned_text", None, "summary"],
        "type": [None, "batch_aggregator", None],
        "required": [True, False, True],
        "position": [0, 1, 2],
    }


def test_the_columns_are_those_of_the_raw_tables():
    con = duckdb.connect()
    con.execute(
        resources.files("promptlab.ingest.raw").joinpath("raw.sql").read_text("utf-8")
    )
    for table, columns in read_pipeline(GOOD, "reviews").rows.items():
        names = con.execute(
            "select column_name from duckdb_columns()"
            " where schema_name = 'raw' and table_name = ?",
            [table],
        ).fetchall()
        given_by_the_loader = {"load_id", "file_uri"}
        assert set(columns) == {name for (name,) in names} - given_by_the_loader


def test_unknown_keys_are_kept_on_the_pipeline_and_its_steps():
    pipeline, _ = parse_pipeline(GOOD, "reviews")
    assert pipeline is not None
    assert pipeline.model_extra is not None
    assert "variants" in pipeline.model_extra
    assert pipeline.steps[0].model_extra == {"agent": "cleaner"}


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", [("wrong_type", 1, 1, "")]),
        ("# only a comment", [("wrong_type", 1, 1, "")]),
        ("- id: a", [("wrong_type", 1, 1, "")]),
        ("just text", [("wrong_type", 1, 1, "")]),
        ("steps: [{id: a}]", [("missing", 1, 1, "/id")]),
        ("id: a", [("missing", 1, 1, "/steps")]),
        ("id: a\nsteps: []", [("bad_value", 2, 8, "/steps")]),
        ("id: a\nsteps: {b: 1}", [("wrong_type", 2, 8, "/steps")]),
        ("id: a\nsteps:\n  - b", [("wrong_type", 3, 5, "/steps/0")]),
        ("id: a\nsteps:\n  - {agent: b}", [("missing", 3, 5, "/steps/0/id")]),
        ("id: ' '\nsteps: [{id: a}]", [("blank", 1, 5, "/id")]),
        (
            "id:\nname: [1]\nsteps:\n  - id: {}\n    required: maybe",
            [
                ("wrong_type", 1, 4, "/id"),
                ("wrong_type", 2, 7, "/name"),
                ("wrong_type", 4, 9, "/steps/0/id"),
                ("wrong_type", 5, 15, "/steps/0/required"),
            ],
        ),
        (
            "id: a\nsteps:\n  - id: b\n  - id: c\n  - id: b\n",
            [("duplicate_step", 5, 9, "/steps/2/id")],
        ),
        (
            "id: a\nsteps:\n  - id: 1\n  - id: '1'\n",
            [("duplicate_step", 4, 9, "/steps/1/id")],
        ),
        ("id: a\nid: b\nsteps: [{id: c}]", [("duplicate_key", 2, 1, "/id")]),
        ("id: a\n\tsteps: 1", [("syntax", 2, 1, None)]),
        ("id: a\nname: b: c", [("syntax", 2, 8, None)]),
        ("id: [a", [("syntax", 1, 7, None)]),
        ("id: *b", [("syntax", 1, 5, None)]),
        ("id: a\n---\nid: b", [("syntax", 2, 1, None)]),
        ("id: a\x01", [("control_character", 1, 6, None)]),
        (b"id: a\nname: \xff", [("bad_utf8", 2, 7, None)]),
        ("id: a\nx: .nan", [("not_a_number", 2, 4, "/x")]),
        ("id: a\nx: [-.inf]", [("not_a_number", 2, 5, "/x/0")]),
        ("id: a\nx: !!python/name:os.system", [("unknown_tag", 2, 4, "/x")]),
        ("id: a\nx: !own {}", [("unknown_tag", 2, 4, "/x")]),
        ("id: a\nx: !!binary aGk=", [("unknown_tag", 2, 4, "/x")]),
        ("id: a\nx: !!int b", [("wrong_type", 2, 4, "/x")]),
        ("id: a\n? [b]\n: c", [("wrong_type", 2, 3, "")]),
        ("id: a\nx: {<<: 1}", [("wrong_type", 2, 9, "/x")]),
    ],
)
def test_a_fault_is_named_with_code_line_column_and_pointer(text, faults):
    assert rejects(text) == faults
    reading = read_pipeline(text.encode() if isinstance(text, str) else text, "f")
    assert reading.rejected
    assert reading.rows == {}
    assert reading.records_rejected == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("steps: [{id: a}]", "required, but missing. Add: id: file"),
        ("id: a\n\tsteps: 1", "Indent with blanks, not with tabs."),
        ("id: a\nname: b: c", "Put a text that holds a colon in quotes."),
        ("id: a\nsteps: []\n b: 1", "Indent what belongs together by the same number"),
        ("id: a\n---\nid: b", "Write one pipeline per file."),
        ("id: a\nsteps:\n- id: b\n- id: b", "already the id of the step in line 3"),
    ],
)
def test_a_message_says_what_to_write_instead(text, message):
    assert message in read_pipeline(text.encode(), "file").problems[0].message


@pytest.mark.parametrize(
    ("written", "text"),
    [("7", "7"), ("1.10", "1.10"), ("on", "on"), ("2024-01-01",) * 2],
)
def test_an_unquoted_id_is_the_text_that_is_written_with_a_warning(written, text):
    data = f"id: a\nsteps:\n  - id: {written}\n".encode()
    reading = read_pipeline(data, "f")
    assert reading.rows["pipeline_steps"]["step_id"] == [text]
    assert problems(data) == [("warning", "unquoted_text", 3, 9, "/steps/0/id")]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (
            "id: a\nsteps: [{id: sum}]\nevaluation_target: sun",
            "unknown_step",
            'no step has the id or output key "sun"; did you mean "sum"?',
        ),
        (
            "id: a\nsteps: [{id: b, output_key: o}, {id: c, output_key: o}]",
            "duplicate_output_key",
            '"o" is already the output key of the step in line 2; '
            "the later step hides the earlier.",
        ),
    ],
)
def test_a_likely_slip_is_warned_of_and_the_pipeline_is_loaded(text, code, message):
    reading = read_pipeline(text.encode(), "f")
    (problem,) = reading.problems
    assert (problem.severity, problem.code) == ("warning", code)
    assert problem.message == message
    assert reading.records_loaded == 1


def test_aliases_and_merges_unfold_and_own_keys_win():
    text = """
        llm: &llm {id: 7, type: llm, flow: v1}
        id: a
        steps:
          - {<<: *llm, id: b}
          - {<<: [*llm, {type: code, extra: 1}], id: c, flow: v2}
        again: *llm
    """
    data = dedent(text).encode()
    assert problems(data) == []
    raw = json.loads(read_pipeline(data, "f").rows["pipelines"]["raw_data"][0])
    assert raw["steps"] == [
        {"type": "llm", "flow": "v1", "id": "b"},
        {"id": "c", "type": "llm", "extra": 1, "flow": "v2"},
    ]
    assert raw["again"] == {"id": 7, "type": "llm", "flow": "v1"}


def bomb(line: str) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    first = f"{letters[0]}0: &{letters[0]} {{x: [1, 2, 3]}}\n"
    return first + "".join(
        line.replace("NEW", letters[n]).replace("OLD", letters[n - 1]) + "\n"
        for n in range(1, 26)
    )


@pytest.mark.parametrize(
    "text",
    [
        bomb("NEW0: &NEW [*OLD, *OLD, *OLD, *OLD]"),
        bomb("NEW0: &NEW {<<: [*OLD, *OLD]}"),
        "x: &x [*x]",
        "x: &x {<<: *x}",
        "x: &x {y: {<<: [*x]}}",
        "a: &a " + "x" * 3000 + "\nb: [" + "*a, " * 3000 + "]",
    ],
    ids=["aliases", "merges", "a list in itself", "a merge of itself", "deep", "text"],
)
def test_an_alias_bomb_is_refused(text):
    assert [one[0] for one in rejects("id: a\n" + text)] == ["too_large"]


@pytest.mark.parametrize(
    "text", ["[" * 600, "{a: " * 600, "- " * 1000, "{a: " * 100 + "1" + "}" * 100]
)
def test_hostile_nesting_is_a_fault_and_no_crash(text):
    assert [one[0] for one in rejects("id: a\nx:\n  " + text)] == ["too_deep"]


def test_a_file_beyond_the_limit_is_not_even_parsed():
    assert rejects(b"#" * (MAX_YAML_BYTES + 1)) == [("too_large", 1, 1, None)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 2024-01-01", {"a": "2024-01-01"}),
        ("a: 2024-01-01T10:00:00Z", {"a": "2024-01-01T10:00:00Z"}),
        ("1: a\ntrue: b\n1.5: c", {"1": "a", "true": "b", "1.5": "c"}),
        ("a: yes", {"a": True}),
        ("a: ~\nb:", {"a": None, "b": None}),
        ('a: "\\ud83d\\ude00"', {"a": "😀"}),
        ("\ufeffa: 1", {"a": 1}),
        ("a: " + "9" * 400, {"a": int("9" * 400)}),
        ("a: |\n  b\n  c\n", {"a": "b\nc\n"}),
    ],
)
def test_yaml_becomes_plain_json_data(text, value):
    result = read_yaml(text.encode())
    assert result.problems == []
    assert result.value == value


PLAIN = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        # YAML 1.1 reads an exponent without a point (1e-07) as text.
        st.floats(-1e6, 1e6).filter(lambda number: "e" not in repr(number)),
        st.text(st.characters(codec="utf-8")),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(PLAIN)
def test_what_yaml_shares_with_json_is_read_as_json(value: Any):
    text = json.dumps({"v": value})
    assert read_yaml(text.encode()).value == json.loads(text)


# ---------------------------------------------------------------- for Python


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "reviews.yaml").write_bytes(GOOD)
    other = b"id: inner_name\nsteps: [{id: a}]"
    (tmp_path / "another.yml").write_bytes(other)
    (tmp_path / "broken.yaml").write_bytes(b"id: broken\nsteps: []\n")
    return tmp_path


def test_a_pipeline_is_loaded_by_the_path_of_its_file(folder):
    for path in (folder / "reviews.yaml", str(folder / "reviews.yaml")):
        assert load_pipeline_config(path).id == "reviews"


@pytest.mark.parametrize("name", ["reviews", "inner_name"])
def test_a_pipeline_is_loaded_by_its_id(folder, name):
    assert load_pipeline_config(name, folders=[folder / "none", folder]).id == name


def test_by_default_an_id_is_looked_for_where_pipelines_usually_lie(
    folder, monkeypatch, tmp_path_factory
):
    project = tmp_path_factory.mktemp("project")
    (project / "pipelines").symlink_to(folder)
    monkeypatch.chdir(project)
    assert load_pipeline_config("reviews").steps[0].id == "clean"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", 'no pipeline has the id "nothing" (looked in'),
        ("broken", "broken.yaml:2:8: /steps: expected at least one step"),
        ("another", 'no pipeline has the id "another"'),
    ],
)
def test_a_pipeline_that_cannot_be_loaded_is_an_input_error(folder, name, message):
    with pytest.raises(InputError, match=re.escape(message)):
        load_pipeline_config(name, folders=[folder])


def test_a_path_that_is_not_there_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match=re.escape("no.yaml: cannot be read")):
        load_pipeline_config(tmp_path / "no.yaml")


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is not there")
def test_a_pipeline_that_people_wrote_is_read_whole():
    data = (SHARED / "pipelines" / "document_summary.yaml").read_bytes()
    reading = read_pipeline(data, "document_summary")
    assert reading.problems == []
    assert reading.rows["pipeline_steps"]["step_id"] == ["clean", "summarize"]
