"""Mistakes that used to pass in silence: each has its place, its words and its fix."""

from __future__ import annotations

import json

import pytest

from promptlab.cli import run_cli
from tests.ingest.test_load import task, write

# ---------- mistakes that used to pass in silence: each has its place, its words and its fix


GOOD = {"id": "a", "inputs": {"text": "x"}, "expected_outputs": {"intent": "refund"}}
RESULT = {
    "sample_id": "a",
    "entity_id": "agent",
    "variant": "v1",
    "executed_at": "2025-07-01T08:00:00Z",
}
SCORE = {"task_id": "t", "case_id": "c", "round_id": "c-1", "scale": 1, "score": 1}
SCORE |= {"scorer": "judge", "scorer_version": "1"}
NOTHING_EXPECTED = (
    "no case of this testset expects anything, so nothing is checked against it. Write"
    ' what is right, such as "expected_outputs": {"intent": "refund"}. If this is no'
    " testset, --kind says what it is."
)


def expecting(text: object) -> dict:
    return {"id": "a", "inputs": {}, "expected_outputs": {"reply": text}}


def analysis(**changes: object) -> dict:
    document = task("t")
    document["dimensions"] = [
        {"dimension_id": "accuracy", "name": "n", "weight": 1, "scoring_mode": "higher_better"}
    ]  # fmt: skip
    return document | changes


@pytest.fixture
def validate(capsys, monkeypatch, tmp_path):
    """Validate files of these records: ``validate(name=[…]) -> (code, lines)``."""
    from promptlab.cli import run_cli

    monkeypatch.chdir(tmp_path)

    def call(**files: list) -> tuple[int, list[str]]:
        for name, records in files.items():
            write(tmp_path / "in" / f"{name}.jsonl", *records)
        code = run_cli(["validate", "in"])
        out = capsys.readouterr().out
        return code, [line.removeprefix("in/") for line in out.splitlines()]

    return call


MISTAKES = [
    pytest.param(
        {"r": [RESULT | {"output": "x"}, RESULT | {"output": "y"}]},
        ['r.jsonl:1:108: /output: unknown key "output" (here and in 1 more) is only kept'
         ' in metadata; did you mean "final_output"? (warning)'],
        id="output instead of final_output",
    ),
    pytest.param(
        {"r": [RESULT | {"final_ouput": "x"}]},
        ['r.jsonl:1:113: /final_ouput: unknown key "final_ouput" is only kept in'
         ' metadata; did you mean "final_output"? (warning)'],
        id="a slip in a key of a result",
    ),
    pytest.param(
        {"r": [RESULT | {"final_output": "x", "output": "raw", "room": 7}]},
        [],
        id="own keys of a result are welcome",
    ),
    pytest.param(
        {"r": [{"id": "a", "entity_id": "e", "variant": "v", "final_output": "x"}]},
        ['r.jsonl:1:1: /sample_id: required, but missing; did you mean "id"?'],
        id="results with id instead of sample_id",
    ),
    pytest.param(
        {"t": [{"id": "a", "inputs": {"text": "x"}}, {"id": "b", "inputs": {}}]},
        [f"t.jsonl:1: {NOTHING_EXPECTED} (warning)"],
        id="a testset in which no case expects anything",
    ),
    pytest.param(
        {"t": [{"id": "a", "inputs": {"text": "x"}}, GOOD | {"id": "b"}]},
        [],
        id="one case that expects something is enough",
    ),
    pytest.param(
        {"t": [{"id": "a", "input": {"q": "x"}, "expected_output": {"x": 1}}]},
        ["t.jsonl:1:22: /input: read as the simple form, in which each key is an input"
         " or an expected output of its own; did you mean inputs and expected_outputs?"
         " (warning)"],
        id="input and expected_output as objects",
    ),
    pytest.param(
        {"t": [{"id": "a", "inputs": {"q": "x"}, "expected": "hello"}]},
        ["t.jsonl:1:47: /expected: unknown, so only kept in raw_data; did you mean"
         " expected_outputs? (warning)",
         f"t.jsonl:1: {NOTHING_EXPECTED} (warning)"],
        id="inputs with expected",
    ),
    *[
        pytest.param(
            {"t": [expecting(text)]},
            [f"t.jsonl:1:57: /expected_outputs/reply: {written} is not a prefix, so the"
             f' whole text is compared; did you mean "{meant}:"? If not, put literal: in'
             " front. (warning)"],
            id=text,
        )
        for text, written, meant in [
            ("contain:hello", '"contain:"', "contains"),
            ("Contains: hello", '"Contains:"', "contains"),
            (" contains:hello", '" contains:"', "contains"),
            ("contains：你好", '"contains："', "contains"),
            ("regexp:\\d", '"regexp:"', "regex"),
            ("REGEX:\\d", '"REGEX:"', "regex"),
            ("litteral:x", '"litteral:"', "literal"),
        ]
    ],
    *[
        pytest.param({"t": [expecting(text)]}, [], id=text)
        for text in ("contains:x", "container: 3", "context: x", "Note: x", "literal:contain:x")
    ],
    pytest.param(
        {"greet_smoke_v1": [GOOD], "r": [RESULT | {"testset": "greet_smok_v1"}]},
        ['r.jsonl:1:109: /testset: there is no testset "greet_smok_v1", so it checks'
         ' nothing; did you mean "greet_smoke_v1"? (warning)'],
        id="a testset that is not there, and one that is near",
    ),
    pytest.param(
        {"other": [GOOD], "r": [RESULT | {"testset": "greet"}]},
        ['r.jsonl:1:109: /testset: there is no testset "greet", so it checks nothing;'
         ' ingest it, or correct the name; there are "other" (warning)'],
        id="a testset that is not there, and none is near",
    ),
    pytest.param(
        {"greet": [GOOD], "r": [RESULT | {"testset": "greet.jsonl"}]},
        [],
        id="a testset may be named with its suffix",
    ),
    pytest.param(
        {"a": [analysis(extras={"testset": "greet"})]},
        ['a.jsonl:1:501: /extras/testset: there is no testset "greet", so it checks'
         " nothing; ingest it, or correct the name (warning)"],
        id="the testset of an analysis",
    ),
    pytest.param(
        {"a": [analysis()], "s": [SCORE | {"dimension_id": "acuracy"}, SCORE | {"dimension_id": "accuracy"}]},
        ['s.jsonl:1:135: /dimension_id: task "t" has no dimension "acuracy", so its'
         ' scores count nowhere; did you mean "accuracy"? (warning)'],
        id="scores of an unknown dimension",
    ),
    pytest.param(
        {"s": [SCORE | {"dimension_id": "accuracy"}]},
        [],
        id="scores may come before their task",
    ),
    pytest.param(
        {"a": [analysis(dimensions=[
            {"dimension_id": "acuracy", "name": "n", "weight": 1, "scoring_mode": "higher_better"},
            {"dimension_id": "tone", "name": "n", "weight": 1, "scoring_mode": "higher_better"},
        ])]},
        ['a.jsonl:1:406: /dimensions/0/dimension_id: no scorer is called "acuracy", so'
         ' only scores from outside count here; did you mean "accuracy"? (warning)'],
        id="a dimension whose scorer is misspelt",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("files", "messages"), MISTAKES)
def test_a_mistake_is_reported_with_its_place_and_its_fix(validate, files, messages):
    code, lines = validate(**files)
    assert lines == messages
    is_warning = all(message.endswith("(warning)") for message in messages)
    assert code == (0 if is_warning else 6)


def test_the_faults_of_an_analysis_are_all_named_at_once(validate):
    document = analysis()
    del document["task"]["title"]
    document["dimensions"][0]["weight"] = 7
    document["cases"] += [{"case_id": "", "rounds": []}, dict(document["cases"][0])]
    document["cases"][0]["rounds"][0]["run_index"] = "first"
    code, lines = validate(a=[document])
    assert code == 6
    assert [line.split(": ")[1] for line in lines] == [
        "/task/title",
        "/dimensions/0/weight",
        "/cases/0/rounds/0/run_index",
        "/cases/1/case_id",
        "/cases/2/rounds/0/run_index",
    ]


def test_ingest_and_run_tell_of_a_testset_that_is_not_there(tmp_path, monkeypatch, capsys):  # fmt: skip
    from promptlab.cli import run_cli

    monkeypatch.chdir(tmp_path)
    write(tmp_path / "greet_smoke_v1.jsonl", GOOD)
    write(tmp_path / "r.jsonl", RESULT | {"testset": "greet_smok_v1"})
    run_cli(["ingest", "greet_smoke_v1.jsonl"])
    capsys.readouterr()
    run_cli(["ingest", "r.jsonl"])  # it is in the warehouse that the testset is near
    assert 'did you mean "greet_smoke_v1"?' in capsys.readouterr().err
    run_cli(["validate", "r.jsonl"])
    assert 'did you mean "greet_smoke_v1"?' in capsys.readouterr().out
    write(tmp_path / "r.jsonl", RESULT | {"testset": "greet_smoke_v1"})
    run_cli(["validate", "r.jsonl"])
    run_cli(["ingest", "r.jsonl"])
    said = capsys.readouterr()
    assert "there is no testset" not in said.out + said.err


def test_the_testset_of_the_command_line_must_be_there_too(tmp_path, monkeypatch, capsys):  # fmt: skip
    from promptlab.cli import run_cli

    monkeypatch.chdir(tmp_path)
    write(tmp_path / "set_a.jsonl", GOOD)
    write(tmp_path / "r.jsonl", RESULT)
    run_cli(["ingest", ".", "--testset", "set_b", "--log-format", "json"])
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    told = [line["message"] for line in lines if line["event"] == "problem"]
    assert told == [
        'r.jsonl: there is no testset "set_b", so --testset has no effect, and a testset'
        ' that the files name counts; did you mean "set_a"? (warning)'
    ]


# ---------- uRLs are refused in plain words, wherever a path is expected


@pytest.mark.parametrize(
    ("call", "url"),
    [
        (["run", "s3://bucket/results"], "s3://bucket/results"),
        (["run", ".", "--out", "gs://bucket/out"], "gs://bucket/out"),
        (["run", ".", "--publish", "https://host/w.duckdb"], "https://host/w.duckdb"),
        (["ingest", "a.json", "az://box/b.json"], "az://box/b.json"),
        (["export", "--parquet", "s3://bucket/lake"], "s3://bucket/lake"),
        (["export", "--file", "s3://bucket/w.duckdb"], "s3://bucket/w.duckdb"),
        (["export", "--file", "ducklake:meta.ducklake"], "ducklake:meta.ducklake"),
        (["export", "--file", "md:marts"], "md:marts"),
        (["run", ".", "--publish", "ducklake:m.db"], "ducklake:m.db"),
        (["report", "--out", "file:///tmp/out"], "file://tmp/out"),
        (["ingest", ".", "--sink", "parquet://s3://bucket/raw"], "s3://bucket/raw"),
        (["build", "--raw", "parquet://gs://bucket/raw"], "gs://bucket/raw"),
        (["runs", "--db", "md:warehouse"], "md:warehouse"),
        (["runs", "--db", "s3://bucket/w.duckdb"], "s3://bucket/w.duckdb"),
    ],
)
def test_a_url_is_refused_and_nothing_is_written(
    call, url, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert run_cli(call) == 2
    said = capsys.readouterr().err
    assert f"{url} is a URL" in said
    assert "local" in said
    assert list(tmp_path.iterdir()) == []


def test_a_url_in_the_environment_is_refused_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROMPTLAB_DB", "md:warehouse")
    assert run_cli(["runs"]) == 2
    assert "md:warehouse is a URL" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a:b.duckdb", "C:/w.duckdb", "12:30/w.duckdb"])
def test_a_colon_makes_no_url(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_cli(["runs", "--db", name]) != 0
    assert "is a URL" not in capsys.readouterr().err
