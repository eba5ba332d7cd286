"""The language of what commands print: the one that is set, else the locale's."""

from __future__ import annotations

import ast
import os
import re
import string
from pathlib import Path

import pytest

from promptlab.cli import decide, run_cli
from promptlab.cli.output import _MARKS, printed
from promptlab.paths import language_of
from promptlab.settings import Settings, load_settings
from tests.cli.test_tables import READING

CLI = Path(decide.__file__).parent
HAN = re.compile("[\u4e00-\u9fff]")


@pytest.mark.parametrize(
    ("locale", "lang"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW"}, "zh"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_GB.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
        ({"LC_ALL": "C"}, "en"),
    ],
)
def test_a_locale_has_a_language(locale, lang):
    assert language_of(locale) == lang


def test_what_is_set_wins_over_the_locale(tmp_path, monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert Settings().lang == "zh"
    (tmp_path / "promptlab.toml").write_text('lang = "en"', "utf-8")
    assert load_settings({}, environ=os.environ, folder=tmp_path).lang == "en"


def literals() -> set[str]:
    """Every text passed to ``spoken``, or used as a column heading."""
    found = {*decide._SOURCES.values(), decide._COUNTS}
    for file in CLI.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id in ("spoken", "Column"):
                found |= {
                    each.value
                    for each in ast.walk(node.args[0])
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                }
    of_doctor = {"name", "fix"}
    return found - {"–", "_", " "} - of_doctor


def test_every_text_of_a_table_has_its_chinese():
    of_doctor_and_headlines = {
        "warn",
        "ship",
        "do not ship",
        "cannot tell",
        "first run",
    }
    words = {code.replace("_", " ") for code in _MARKS} - of_doctor_and_headlines
    assert (literals() - {""}) | words <= set(printed("zh"))


def test_a_text_names_the_same_values_in_both_languages():
    def names(text: str) -> set[str | None]:
        return {name for _, name, _, _ in string.Formatter().parse(text)} - {None}

    assert [en for en, zh in printed("zh").items() if names(en) != names(zh)] == []


OF_OURS = [args for args in READING if args[0] not in ("doctor", "query")]
"""Tables whose headings and words are all ours."""


@pytest.mark.parametrize("args", OF_OURS, ids=" ".join)
def test_no_heading_and_no_sentence_of_a_table_is_english_in_chinese(
    example_db, capsys, args
):
    args = [each for each in args if each not in ("--lang", "en")]
    run_cli([*args, "--lang", "zh", "--db", str(example_db)])
    lines = capsys.readouterr().out.splitlines()
    rules = [place for place, line in enumerate(lines) if line.startswith("──")]
    assert rules
    assert [lines[n - 1] for n in rules if not HAN.search(lines[n - 1])] == []
    sentence = re.compile(r"(?<!promptlab )\b(?!promptlab)[a-z]+ [a-z]+ [a-z]+\b")
    texts = [] if "questions" in args else lines  # those are the users' own
    assert [line for line in texts if sentence.search(line)] == []


def test_a_query_keeps_the_names_of_its_columns(example_db, capsys):
    run_cli(["query", "select 1 as score", "--lang", "zh", "--db", str(example_db)])
    assert "score" in capsys.readouterr().out


def test_init_writes_the_language_of_whoever_asks(tmp_path):
    assert run_cli(["init", str(tmp_path), "--lang", "zh", "--quiet"]) == 0
    assert 'lang = "zh"' in (tmp_path / "promptlab.toml").read_text("utf-8")
