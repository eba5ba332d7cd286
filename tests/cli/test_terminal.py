"""Nothing that a file says, or is called, is obeyed by a terminal or a runner."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptlab.cli.streams import (
    GuardedText,
    for_json,
    for_people,
    guarded,
    in_one_line,
    is_read_by_a_runner,
)
from tests.ingest.test_load import task, write

ROOT = Path(__file__).parents[2]
_SEPARATORS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_HOSTILE = (
    "x\x1b]0;pwn\x07\n::warning::x\x1b[2J\u202e\x9b31m ##[add-mask]y ##vso[task]z"
)


def is_obeyed(line: str) -> bool:
    """Return true if a runner interprets a line as a command: it skips spaces first."""
    return line.lstrip().startswith("::") or "##[" in line or "##vso[" in line


_PARTS = st.lists(
    st.text(st.sampled_from("a:# \t[v\r\n\x85\u2028so"), max_size=6), max_size=6
)


@given(_PARTS)
@example([":", ":warning::x"])
@example(["#", "#[x]"])
@example(["##", "vso[x]"])
@example([" ", "\t", "::x"])
@example(["a\r", "::x"])
def test_no_line_is_a_command_whatever_parts_it_is_written_in(parts):
    raw = io.BytesIO()
    stream = GuardedText(raw, encoding="utf-8", newline="")
    for part in parts:
        stream.write(part)
    stream.flush()
    written = raw.getvalue().decode()
    assert not any(map(is_obeyed, written.splitlines()))
    assert written.replace("\u2060", "") == "".join(parts)


@given(st.text(st.sampled_from("a:# \t[v\x1b\x07\x9b\u202e\ud800" + _SEPARATORS)))
def test_a_text_for_people_is_not_obeyed(text):
    for shown in (for_people(text), in_one_line(text)):
        shown.encode()
        assert not set(shown) & set("\x1b\x07\x9b\u202e\r\v\f\x85\u2028\u2029")
    assert not any(map(is_obeyed, for_people(text).splitlines()))
    assert len(in_one_line(text).splitlines()) <= 1


@given(st.text(st.sampled_from('a:#[v\x1b\x9b\u202e"\\' + _SEPARATORS)))
def test_json_says_the_same_and_steers_nothing(text):
    shown = for_json(json.dumps({text: [text]}, ensure_ascii=False, indent=1))
    assert json.loads(shown) == {text: [text]}
    assert not any(map(is_obeyed, shown.splitlines()))
    assert not set(shown) & set("\x1b\x9b\u202e\x85\u2028")


def test_what_is_harmless_stays():
    for text in ("a::b", "std::vector x", "# [x]", "##", "a\n: x\n\tb", "é🔑 中文"):
        assert guarded(text) == for_people(text) == text


def test_a_runner_reads_a_pipe_and_not_a_file(tmp_path):
    on = {"GITHUB_ACTIONS": "true"}
    with (tmp_path / "f").open("w") as file:
        assert not is_read_by_a_runner(file, on)
    reads, writes = os.pipe()
    with os.fdopen(reads), os.fdopen(writes, "w") as pipe:
        assert is_read_by_a_runner(pipe, on)
        assert is_read_by_a_runner(pipe, {"TF_BUILD": "True"})
        assert not is_read_by_a_runner(pipe, {})


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A folder of files whose texts would be obeyed."""
    folder = tmp_path_factory.mktemp("hostile")
    document = task("t1", _HOSTILE, cases=2)
    document["task"]["title"] = _HOSTILE
    for n, case in enumerate(document["cases"]):
        case["name"] = f"::error::{n} {_HOSTILE}"
    write(folder / "in" / f"{_HOSTILE}.json".replace("/", ""), document)
    write(folder / "in" / "::warning::bad.jsonl", '{"id": "::set-output name=a::b"}')
    write(folder / "in" / f"bad{_HOSTILE}.jsonl", '{"id": "x", "tags": 1}')
    return folder


def run(folder: Path, *args: str, stdout=subprocess.PIPE, **environ: str):
    """Call promptlab as a runner does."""
    return subprocess.run(
        [sys.executable, "-m", "promptlab", *args],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


COMMANDS = [
    ("validate", "in"),
    ("ingest", "in", "--db", "new.duckdb"),
    ("run", "in", "--out", "out"),
    ("show", "t1"),
    ("runs",),
    ("runs", "--wide"),
    ("gate", "t1"),
    ("query", "select * from marts.dim_tasks"),
    ("query", "select chr(58) || ':x' as a, 1 as b"),
    ("query", "select raw_output from raw.rounds"),
    ("doctor", "--wide"),
    ("report", "t1", "--out", "out2"),
]
CALLS = [(*args, "--format", form) for form in ("table", "csv") for args in COMMANDS]
CALLS += [
    (*args, "--format", "json") for args in COMMANDS if args[0] in ("show", "query")
]
LOGGED = [
    (*args, "--log-format", log) for log in ("text", "json") for args in COMMANDS[:5]
]

_END = "-- the end of a call --"
_MAIN = f"""
import json, sys
from promptlab.cli import run_cli
from promptlab.cli.streams import guard_stderr, outlast_readers
outlast_readers()
guard_stderr()
for call in json.loads(sys.argv[1]):
    run_cli(call)
    for stream in (sys.stdout, sys.stderr):
        print("{_END}", file=stream, flush=True)
"""
"""What ``promptlab.__main__`` does, for several calls in one process."""

Outputs = dict[tuple[str, ...], str]


def outputs(folder: Path, calls: Sequence[tuple[str, ...]], **environ: str) -> Outputs:
    """Return what each call writes to both streams, which are pipes."""
    done = subprocess.run(
        [sys.executable, "-c", _MAIN, json.dumps(calls)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    parts = zip(done.stdout.split(_END), done.stderr.split(_END), strict=True)
    return dict(zip(calls, map("\n".join, list(parts)[:-1]), strict=True))


@pytest.fixture(scope="module")
def under_a_runner(hostile: Path) -> Outputs:
    """What each call prints; `run` builds the warehouse of those after it."""
    return outputs(hostile, CALLS, GITHUB_ACTIONS="true")


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_no_line_of_a_command_is_obeyed_by_a_runner(call, under_a_runner):
    lines = under_a_runner[call].splitlines()
    assert len(lines) > 1
    assert [line for line in lines if is_obeyed(line)] == []
    assert not set(under_a_runner[call]) & set("\x1b\x07\x9b\u202e")


@pytest.fixture(scope="module")
def elsewhere(hostile: Path, under_a_runner: Outputs) -> Outputs:
    return outputs(hostile, LOGGED, GITHUB_ACTIONS="", TF_BUILD="")


@pytest.mark.parametrize("call", LOGGED, ids=" ".join)
def test_no_message_and_no_table_is_obeyed_elsewhere(call, elsewhere):
    lines = elsewhere[call].splitlines()
    assert lines
    assert [line for line in lines if line.lstrip().startswith("::")] == []
    assert not set(elsewhere[call]) & set("\x1b\x07\x9b\u202e")


@pytest.mark.usefixtures("under_a_runner")
@pytest.mark.parametrize("github", ["", "true"])
def test_a_file_of_csv_keeps_every_sign_under_a_runner_too(github, hostile, tmp_path):
    args = ("query", "select raw_output from raw.rounds", "--format", "csv")
    with (tmp_path / "out.csv").open("w") as file:
        done = run(hostile, *args, stdout=file, GITHUB_ACTIONS=github)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out.csv").read_bytes().decode()
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[1:] == [[_HOSTILE]] * 2
