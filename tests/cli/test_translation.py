"""Help, progress and errors in Chinese: none is missing, and facts stay what they are."""

from __future__ import annotations

import ast
import importlib
import json
import re
import string
import tomllib
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click
import pytest
from pydantic import BaseModel

from promptlab import errors
from promptlab.cli import COMMANDS, SECTIONS, cli, run_cli, translation
from promptlab.cli.options import EXITS
from promptlab.cli.output import printed
from promptlab.cli.reference import _CONFIG
from promptlab.contracts import schemas
from promptlab.ingest.reading.problems import expected_at
from promptlab.reports.gate.policy import default_policy

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


PRODUCT = [
    file
    for folder in ("promptlab", "ingest", "reports")
    for file in sorted((ROOT.parent / folder).rglob("*.py"))
    if file.relative_to(ROOT.parent).parts[:2]
    not in (("promptlab", "ingest"), ("promptlab", "reports"))  # links to the others
]
FOR_PROGRAMS = {
    "promptlab/agents.py": "read by agents",
    "promptlab/evaluator": "raised in programs of users; its feedback has a Chinese form",
    "promptlab/pytest_plugin.py": "printed by pytest",
    "promptlab/spark_sql": "SQL",
    "promptlab/json_text/places.py": "never printed: places of values in a valid text",
    "ingest/files/secret_values.py": "words that rules look for",
    "ingest/foreign/names.py": "words of score names",
}
NO_MESSAGES = """
    4.3.1 and files of 2024| versions of a tool
    the public API of 2025 and 2026
    output items of 2025 and 2026
    the layouts in docs/tools/memory_benchmarks
    Grade not found in model output| texts of tools and libraries, compared with
    could not read|could not write|file too large|no space left|Number out of range
    incomplete multibyte sequence|invalid perl operator: (?
    mapping values are not allowed|did you mean
    {} rows need a closer look| caught before anybody sees them
    no fast form for {}: add it to ingest/reading/structs.py
    rows of {} values for the columns {}
    module 'promptlab' has no attribute {}
    Warehouse({}, {} results of {} titles, newest {})
    {}{}, and call again ({})| pieces of a message of the catalogue
    --table` with this path
    "$out/base/$(git rev-parse --show-prefix)"| shell
    git worktree add --force --detach "$out/base" {}
    git worktree remove --force "$out/base"
    npx promptfoo eval {}{} --repeat {} --no-cache --no-table
    result usage scope|native status answer|status completion probability| columns
    input token count|output token count|max new tokens
    case, round and cells|document and filter|id of an output item
    application/json; charset=utf-8|out=$(mkdir -p {} && cd {} && pwd)
    promptlab ingest{} {} --recheck-of={}
    inspect eval {} --model={}{} --sample-id={} --epochs {}
    (from raw.tasks where {})|from ({}) as found where title = ${}
    from (from marts.fct_trends where measure = $1)
"""
"""Texts in words that nobody reads as a message; what they are stands behind some."""
NOT_READ = {text.strip() for text in re.split(r"[|\n]", NO_MESSAGES)}

_SQL = re.compile(
    r"\b(select|insert into|partition_by|unnest|coalesce|cast|desc|nulls (first|last)"
    r"|in \(from|is not (null|true)|comment on|read_parquet|exists \(|null as"
    r"|case (kind )?when|interval 1|load_id|semi join|delete from)\b|rounds\.round_id|= \$"
)
_BEFORE_A_FACT = re.compile(r"[a-z]+: \{\}|[\w ]+\|.*")
"""The name of a program or command, and the words that columns are guessed by."""
_SILENT = {"detail", "execute", "sql", "compile", "option", "argument", "Option"}
_TELLS = {"Fault", "Problem", "warning", "warn", "say", "reject", "fail"}
_TELLS |= {name for name in vars(errors) if name.endswith("Error")} | {"NothingToDo"}


def shape(node: ast.AST) -> str | None:
    """A text as the key of the catalogue has it: ``{}`` in place of each fact."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        parts = (getattr(part, "value", None) for part in node.values)
        return "".join(part if isinstance(part, str) else "{}" for part in parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = shape(node.left), shape(node.right)
        if sides != (None, None):
            return "".join("{}" if side is None else side for side in sides)
    return None


def texts_of(node: ast.AST, least: int = 3) -> Iterator[str]:
    """Every text below a node of at least so many words; fewer where it is told."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # the description of what stands above it
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in _SILENT:
            return
        least = 1 if name in _TELLS else 3
    text = shape(node)
    if text is not None:
        bare = re.sub("`[^`]*`", " ", text)
        words = re.findall(r"(?<![\w{'.|/])[a-z']{2,}(?![\w|])", bare)
        is_message = " " in text.strip() and len(words) >= least
        if is_message and not (_SQL.search(text) or _BEFORE_A_FACT.fullmatch(text)):
            yield text
        inside = (n for n in ast.walk(node) if isinstance(n, ast.FormattedValue))
        for fact in inside:
            yield from texts_of(fact.value)
        if isinstance(node, ast.BinOp):
            yield from texts_of(node.left, 9**9)
            yield from texts_of(node.right, 9**9)
        return
    for child in ast.iter_child_nodes(node):
        yield from texts_of(child, least)


def test_every_text_that_a_person_may_read_has_its_chinese() -> None:
    """Errors, problems of files, warnings, hints, progress: found in the code."""
    known = {" ".join(text.split()) for text in (*ZH, *printed("zh"))}
    missing, found = [], 0
    for file in PRODUCT:
        name = file.relative_to(ROOT.parent).as_posix()
        if name.startswith(tuple(FOR_PROGRAMS)):
            continue
        for text in texts_of(ast.parse(file.read_text("utf-8"))):
            found += 1
            key = " ".join(text.split())
            keys = {key, re.sub(r"\{\w+(!r)?\}", "{}", key)}  # of str.format
            if text != _CONFIG and not keys & (known | NOT_READ):
                missing.append(f"{name}: {text}")
    assert found > 800
    assert missing == [], "\n".join(missing)


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


WITH_FACTS = [key for key in sorted(ZH) if re.search(r"\{\d\}", ZH[key])]


def in_chinese(message: str) -> str:
    token = translation.LANGUAGE.set("zh")
    try:
        return translation.translated(message)
    finally:
        translation.LANGUAGE.reset(token)


def is_kept(key: str) -> bool:
    """Whether a long text of a model, with the words of the message, stays in it."""
    pieces = key.split("{}")
    before, repeated = "", "; ".join(pieces)
    if translation._END.match(key):  # is found from the end, so it stands once
        before, repeated = "no problems", "of a model"
    hostile = f"«{repeated}»" * 50
    facts = [hostile] + [""] * (len(pieces) - 2)
    if "{0:words}" in ZH[key]:
        facts = ["text", hostile, *facts[2:]]
    filled = zip(pieces, [*facts[: len(pieces) - 1], ""], strict=True)
    message = before + "".join(piece + fact for piece, fact in filled)
    written = in_chinese(message)
    return written != message and written.count("«") == written.count(
        "»"
    ) == message.count("«")


@pytest.mark.parametrize(
    ("message", "chinese"),
    [
        ("expected at least 1, found 0", "应不小于 1，实际为 0"),
        (
            "expected at most 9, found 10; it is kept in extras. (warning)",
            "应不大于 9，实际为 10；保存在 extras 里。（警告）",
        ),
        (
            "expected an object, found 5; it is kept in extras. (here and in 2 more)",
            "应为对象，实际为 5；保存在 extras 里。（这里和另外 2 处）",
        ),
        (
            "expected a whole number, found null; the answer is left out.",
            "应为整数，实际为 null；该回答被略过。",
        ),
        ('expected text or null, found ["x"] (warning)',
         '应为文本或 null，实际为 ["x"]（警告）'),
        ('expected text that is not blank, found " "', '应为非空白的文本，实际为 " "'),
        ("expected a round, an object, found 5.", "回合应为对象，实际为 5。"),
        (
            'expected one of a, b, found "aa"; did you mean "a"?',
            '应为以下之一：a, b，实际为 "aa"；是不是 "a"？',
        ),
        (
            'unknown key "x" is not stored; put it into `context` (warning)',
            '未知的键 "x"，不会保存；请放进 `context`（警告）',
        ),
        *(
            (
                f"{levels} objects and lists inside each other; the limit is 500"
                " (setting max_depth). Flatten the value.",
                f"对象和列表嵌套{chinese} 层；上限为 500（设置 max_depth）。"
                "请把值写得平一些。",
            )
            for levels, chinese in (("601", " 601"), ("more than 500", "超过 500"))
        ),
        (
            'expected text, found "the end; the answer is left out."',
            '应为文本，实际为 "the end; the answer is left out."',
        ),
    ],
)  # fmt: skip
def test_the_end_of_a_message_is_no_part_of_a_fact(message, chinese):
    assert in_chinese(message) == chinese


def test_facts_of_any_length_are_found_in_one_pass_and_stay_what_they_are() -> None:
    assert [key for key in WITH_FACTS if not is_kept(key)] == []


def test_a_megabyte_of_a_model_stays_what_it_is() -> None:
    name = "«expected text; did you mean»" * 40_000
    assert in_chinese(f"{name}: there is no such task") == f"{name}：没有这个任务"


def test_a_text_with_the_words_of_all_messages_is_looked_up_a_few_times(monkeypatch):
    hostile = " ".join(key.replace("{}", "text") for key in ZH)
    looked_up = []
    templates = translation._Messages.templates
    monkeypatch.setattr(
        translation._Messages,
        "templates",
        lambda self, text: looked_up.append(text) or templates(self, text),
    )
    token = translation.LANGUAGE.set("zh")
    try:
        translation.translated_message(f'expected text, found "{hostile[:20_000]}"')
    finally:
        translation.LANGUAGE.reset(token)
    assert 1 < len(looked_up) < 20 * translation._MOST_PARTS


@pytest.mark.parametrize("name", ["no problems", "text", "an object", "written: x"])
def test_a_name_that_is_a_text_of_the_catalogue_stays_a_name(name: str) -> None:
    assert in_chinese(f"{name}: there is no such task") == f"{name}：没有这个任务"


def test_problems_of_bad_files_have_no_english_left(capsys, monkeypatch, tmp_path):
    """Of every kind of file; names, values and reasons of libraries stay."""
    monkeypatch.chdir(tmp_path)
    data = ROOT.parent / "tests" / "data"
    run_cli(["validate", str(data), "--lang", "zh"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 90
    of_others = re.compile(
        r"`[^`]*`|\"[^\"]*\"|'[^']*'|（invalid perl operator.*?）|RE2 报告：[^。]*"
        rf"|{re.escape(str(data))}\S*|（csv：[^）]*）"
    )
    assert [line for line in lines if ENGLISH.search(of_others.sub("", line))] == []


def needed(model: type[BaseModel]) -> Iterator[str]:
    """What a message says of each key that an input must have."""
    for name, field in model.model_fields.items():
        if field.is_required():
            yield expected_at(model, (name,))
        for each in re.findall(r"promptlab\.contracts\.[\w.]+", str(field.annotation)):
            module, _, inner = each.rpartition(".")
            found = getattr(importlib.import_module(module), inner)
            if isinstance(found, type) and issubclass(found, BaseModel):
                yield from needed(found)


@pytest.mark.parametrize("model", schemas._READ.values(), ids=list(schemas._READ))
def test_what_a_missing_key_should_be_is_said_in_chinese(model):
    written = {text: in_chinese(f"required, but missing. Write {text}")
               for text in needed(model)}  # fmt: skip
    alone = re.compile(r"one of [\w, ]+: |e\.g\..*|`[^`]*`")
    assert [
        text
        for text, chinese in written.items()
        if not HAN.search(chinese) or ENGLISH.search(alone.sub("", chinese))
    ] == []


def test_the_policy_to_start_from_is_explained_in_chinese(capsys):
    run_cli(["gate", "--init"])
    english = capsys.readouterr().out
    run_cli(["gate", "--init", "--lang", "zh"])
    chinese = capsys.readouterr().out
    assert english == default_policy()
    assert tomllib.loads(chinese) == tomllib.loads(english)
    assert ENGLISH.findall(chinese) == []
