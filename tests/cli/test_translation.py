"""Help, progress and errors in Chinese: none is missing, and facts stay what they are."""

from __future__ import annotations

import ast
import json
import re
import string
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click
import pytest

from promptlab.cli import COMMANDS, SECTIONS, cli, run_cli, translation
from promptlab.cli.options import EXITS
from promptlab.cli.reference import _CONFIG

ROOT = Path(translation.__file__).parents[1]
ZH = translation.catalogue("zh")
ENGLISH = re.compile(r"(?<![`./-])\b[a-z]+ [a-z]+ [a-z]+\b")
HAN = re.compile("[\u4e00-\u9fff]")


def commands(
    command: click.Command = cli, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), name)
            assert found is not None
            yield from commands(found, (*path, name))


ALL = dict(commands())


def texts_of_help() -> Iterator[str]:
    yield from (*SECTIONS, *EXITS.values())
    yield from ("Usage:", "Options", "Commands", "Exit codes")
    yield from re.findall(r"\{(.+?)\}", _CONFIG)
    for command in ALL.values():
        for paragraph in re.split(r"\n\s*\n", cleandoc(command.help or "")):
            if not paragraph.startswith("Exit codes: "):
                yield paragraph
        yield command.short_help or ""
        yield from (p.help or "" for p in command.params if isinstance(p, click.Option))


def test_every_text_of_the_help_and_of_the_config_has_its_chinese() -> None:
    found = {" ".join(text.split()) for text in texts_of_help()} - {""}
    assert sorted(found - ZH.keys()) == []


def templates(*functions: str) -> set[str]:
    """The texts, and with ``{}`` in place of facts the f-strings, of these calls."""
    found = set()
    for file in [*ROOT.glob("*.py"), *ROOT.glob("[bco]*/**/*.py")]:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and node.args):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", None))
            first = node.args[0]
            if name in functions and isinstance(first, ast.JoinedStr | ast.Constant):
                parts = first.values if isinstance(first, ast.JoinedStr) else [first]
                found.add(
                    "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "{}"
                        for part in parts
                    )
                )
    return found


def test_every_line_of_progress_has_its_chinese() -> None:
    said = templates("say")
    assert len(said) > 25
    assert sorted(said - ZH.keys()) == []


def test_a_message_has_the_same_facts_in_both_languages() -> None:
    def facts(text: str) -> list[str]:
        return sorted(name for _, name, *_ in string.Formatter().parse(text) if name is not None)  # fmt: skip

    odd = [
        english
        for english, chinese in ZH.items()
        if (n := english.count("{}")) and facts(chinese) != [str(i) for i in range(n)]
    ]
    assert odd == []


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_the_help_of_a_command_is_chinese_within_its_width(path, capsys, monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert run_cli([*path, "--help"]) == 0
    page = capsys.readouterr().out
    assert HAN.search(page)
    lines = [line for line in page.splitlines() if "用法" not in line]
    assert ENGLISH.findall(re.sub("`[^`]*`", "", page.partition("\n\n")[2])) == []
    from promptlab.cli.output import width

    # a list of choices is one word
    assert max(width(line) for line in lines if "|" not in line) <= 80


@pytest.mark.parametrize(
    ("args", "chinese"),
    [
        (["rnu"], "没有命令 `rnu`；是不是 `run`？"),
        (["run"], "缺少参数 'PATHS...'。"),
        (["gate", "--lnag", "zh"], "没有选项 --lnag"),
        (["run", "nowhere", "--db", "w.duckdb"], "nowhere"),
        (["show", "nothing", "--db", "{db}"], "nothing：没有这个任务"),
        (["show", "--db", "none.duckdb"], "这里还没有仓库"),
        (["purge", "--db", "{db}"], "请写明要删除什么"),
        (["query", "create table t (a int)", "--db", "{db}"], "query："),
        (["run", "s3://bucket/x", "--db", "w.duckdb"], "promptlab 只读写本地文件"),
        (["init", "{tmp}"], "已经存在"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_commonest_errors_are_chinese(
    example_db, tmp_path, monkeypatch, capsys, args, chinese
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    (tmp_path / "promptlab.toml").write_text("", "utf-8")
    places = {"{db}": str(example_db), "{tmp}": str(tmp_path)}
    assert run_cli([places.get(arg, arg) for arg in args]) != 0
    assert chinese in capsys.readouterr().err


def test_programs_read_english_and_so_does_everybody_else(
    example_db, capsys, monkeypatch
):
    asked = ["show", "nothing", "--db", str(example_db)]
    run_cli([*asked, "--lang", "zh", "--log-format", "json"])
    message = json.loads(capsys.readouterr().err.splitlines()[-1])["message"]
    assert message.startswith("promptlab: nothing: there is no such task")
    run_cli(asked)
    assert "there is no such task" in capsys.readouterr().err
    run_cli(["gate", "--help"])
    assert "Decide whether a run can ship" in capsys.readouterr().out
    assert COMMANDS


@pytest.mark.parametrize("key", [key for key in sorted(ZH) if "{}" in key])
def test_facts_of_any_length_are_found_in_one_pass_and_stay_what_they_are(
    key: str,
) -> None:
    """A fact may be a text of a model, with the words of the message in it."""
    first, *middle, last = key.split("{}")
    fact = f"<{'; '.join(middle)}>" * 5_000
    token = translation.LANGUAGE.set("zh")
    try:
        message = first + fact + "".join(middle) + last
        written = translation.translated(message)
    finally:
        translation.LANGUAGE.reset(token)
    assert written != message
    assert written.count("<") == written.count(">") == 5_000
