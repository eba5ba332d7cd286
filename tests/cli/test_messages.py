"""Messages on stderr: sentences, or one JSON object per line that says the same."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from promptlab import messages
from promptlab.cli import run_cli
from promptlab.cli.streams import asked_form
from tests.ingest.test_load import task, write


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def call(*args: object) -> tuple[int, list[dict]]:
        code = run_cli([str(arg) for arg in args])
        return code, [json.loads(line) for line in capsys.readouterr().err.splitlines()]

    return call


def test_each_line_has_a_time_a_level_an_event_and_a_message(run, tmp_path):
    write(tmp_path / "in" / "a.json", task())
    write(tmp_path / "in" / "bad.jsonl", '{"id": "x", "inputs": {}, "tags": 1}')
    code, lines = run("ingest", "in", "--log-format", "json")
    assert code == 6
    for line in lines:
        assert set(line) >= {"ts", "level", "event", "message"}
        assert datetime.fromisoformat(line["ts"]).utcoffset().total_seconds() == 0
    files = {Path(x["file"]).name: x for x in lines if x["event"] == "file"}
    assert files["a.json"]["status"] == "loaded"
    assert files["a.json"]["records"] == 1


def test_problems_carry_their_place(run, tmp_path):
    good = json.dumps({"id": "x", "tags": [], "inputs": {}, "expected_outputs": {}})
    bad = json.dumps({"id": "y", "tags": 1, "inputs": {}, "expected_outputs": {}})
    write(tmp_path / "t.jsonl", good, bad)
    _, lines = run("ingest", "t.jsonl", "--kind", "testset", "--log-format", "json")
    problem = next(line for line in lines if line["event"] == "problem")
    assert problem["line"] == 2
    assert problem["pointer"] == "/tags"
    assert problem["severity"] == "reject"
    assert problem["file"] == "t.jsonl"


@pytest.mark.parametrize(
    ("args", "code", "kind"),
    [
        (("runs",), 2, "SettingsError"),
        (("ingest", "gone.json"), 6, "InputError"),
        (("ingest",), 2, "UsageError"),
        (("nonsense",), 2, "UsageError"),
        (("runs", "--config", "gone.toml"), 2, "SettingsError"),
    ],
)
def test_an_error_is_one_line_with_its_kind_and_exit_code(run, args, code, kind):
    found, lines = run(*args, "--log-format", "json")
    assert found == code
    assert [(x["level"], x["event"], x["type"], x["exit_code"]) for x in lines] == [
        ("error", "error", kind, code)
    ]


def test_quiet_leaves_errors_only(run, tmp_path):
    write(tmp_path / "a.json", task())
    assert run("ingest", "a.json", "--log-format", "json", "--quiet") == (0, [])
    code, lines = run("ingest", "gone.json", "--log-format", "json", "--quiet")
    assert (code, [x["level"] for x in lines]) == (6, ["error"])


def test_the_form_comes_from_the_environment_and_the_config_file_too(
    run, tmp_path, monkeypatch
):
    write(tmp_path / "a.json", task())
    (tmp_path / "promptlab.toml").write_text('log_format = "json"', "utf-8")
    assert [x["event"] for x in run("ingest", "a.json")[1]] == ["file"]
    (tmp_path / "promptlab.toml").unlink()
    monkeypatch.setenv("PROMPTLAB_LOG_FORMAT", "json")
    assert [x["event"] for x in run("ingest", "a.json")[1]] == ["file"]


@pytest.mark.parametrize(
    ("args", "form"),
    [
        ([], "text"),
        (["runs", "--log-format", "json"], "json"),
        (["runs", "--log-format=json"], "json"),
        (["runs", "--log-format"], "text"),
        (["runs", "--log-format", "papyrus"], "text"),
    ],
)
def test_the_form_is_known_before_the_command_line_is_parsed(args, form):
    assert asked_form(args) == form


def test_python_code_hears_nothing_unless_it_listens(tmp_path):
    write(tmp_path / "a.json", task())
    script = "from promptlab import Warehouse; Warehouse('w.duckdb').ingest('a.json')"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_lines_of_other_programs_become_events(monkeypatch):
    told = []
    monkeypatch.setattr(messages, "detail", lambda *event: told.append(event))
    print("1 of 2 OK", "\n", "2 of", end="", file=messages.LinesAsEvents("dbt"))
    assert told == [("1 of 2 OK", "dbt")]
