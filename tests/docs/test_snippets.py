"""Every snippet of the documentation runs, or says above it why it does not.

A block is left alone under a comment ``not run: WHY``. ``pytest --update-golden
tests/docs`` writes the outputs below commands and Python as they are now.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import pytest

from promptlab.cli import cli
from promptlab.database import connect
from promptlab.relations import run_query
from tests.conftest import ROOT
from tests.docs import console, markdown

TUTORIALS = ("docs/tutorial.md", "docs/zh/tutorial.md")
PAGES = {str(path.relative_to(ROOT)): path for path in markdown.pages(ROOT)}

RUN_HERE = {"console", "python", "sql", "json", "jsonl", "yaml"}
SCORERS = "docs/scorers.md"  # tests/scorers/test_docs.py runs its scorer
DBT = "docs/dbt.md"  # tests/packaging/test_dbt_package.py runs all of it
TOOLS = "docs/tools/"  # tests/docs/test_tools.py runs our commands of their pages
COOKBOOK = "docs/cookbook.md"  # tests/history/test_cookbook.py runs its SQL

OUTPUT = ("text", "")
"""Languages of blocks that show what something printed or looks like."""


def read(path: str) -> str:
    return PAGES[path].read_text("utf-8")


def to_run(path: str, *languages: str) -> list[markdown.Block]:
    """The blocks of a page that do not say that they are not run."""
    if path == DBT:
        return []
    found = markdown.blocks(read(path), *languages)
    return [block for block in found if not block.note.startswith("not run: ")]


def with_blocks(*languages: str, but: Sequence[str] = ()) -> list[str]:
    """The pages that have blocks of these languages to run."""
    return [path for path in PAGES if path not in but and to_run(path, *languages)]


@pytest.mark.parametrize("path", PAGES)
def test_every_snippet_runs_or_says_why_not(path):
    known = {*RUN_HERE, *OUTPUT, *(["toml"] if path == SCORERS else [])}
    known |= {"sh"} if path.startswith(TOOLS) else set()
    left = [b for b in to_run(path) if b.language not in known]
    assert not left, [f"{path}:{b.line}: {b.language}" for b in left]


@pytest.mark.parametrize("path", with_blocks("console", but=TUTORIALS))
def test_console_blocks_print_what_the_page_shows(path, page, example_folder, programs):
    check_console(path, page, example_folder, programs)


@pytest.mark.slow
@pytest.mark.parametrize("path", TUTORIALS)
def test_a_tutorial_runs_from_the_first_command_to_the_last(
    path, page, tmp_path, programs
):
    check_console(path, page, tmp_path, programs)


def check_console(
    path: str, page: Callable[[str, str], None], folder: Path, programs: Path
) -> None:
    language = "zh" if "zh" in path else "en"
    wanted = [
        block
        for block in to_run(path)
        if block.note.startswith("file: ") or block.language == "console"
    ]
    results = console.run(wanted, folder, programs, language)
    failed = [
        f"{path}:{block.line}: {command.text}: exit code {command.exit_code}"
        f"\n{command.output}"
        for block, ran in results.items()
        for command in ran
        if command.exit_code
    ]
    assert not failed, "\n".join(failed)
    texts = {block: console.written(ran) for block, ran in results.items()}
    page(path, markdown.replaced(read(path), texts))


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, inside duckdb
@pytest.mark.parametrize("path", with_blocks("python", but=[*TUTORIALS, SCORERS]))
def test_python_blocks_print_what_the_page_shows(
    path, page, page_db, example_folder, monkeypatch
):
    shutil.copy(page_db, example_folder / "promptlab.duckdb")
    monkeypatch.chdir(example_folder)
    shown = run_python(to_run(path, "python", "text"))
    page(path, markdown.replaced(read(path), shown))


def run_python(
    found: Sequence[markdown.Block],
) -> dict[markdown.Block, str]:
    """Run the Python blocks in one namespace; return the texts that follow them."""
    shown = {}
    namespace: dict[str, object] = {"__name__": "docs"}
    output = None
    for block in found:
        if block.language == "text" and output is not None:
            shown[block] = console.tidy(output) + "\n"
            output = None
        elif block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(block.text, f"line {block.line}", "exec"), namespace)
            output = printed.getvalue()
    return shown


@pytest.mark.parametrize("path", with_blocks("sql", but=[COOKBOOK]))
def test_sql_blocks_run(path, page_db):
    with connect(page_db, read_only=True) as con:
        for block in to_run(path, "sql"):
            _, rows = run_query(con, block.text)
            assert rows, f"{path}:{block.line}: no rows"


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=f"{path}:{block.line}")
        for path in with_blocks("json", "jsonl", "yaml", but=[*TUTORIALS, SCORERS])
        for block in to_run(path, "json", "jsonl", "yaml")
    ],
)
def test_every_example_of_a_file_is_read_without_a_word(block):
    from promptlab.encoding import without_comments
    from promptlab.ingest.foreign.file_head import Head
    from promptlab.ingest.formats import recognise
    from promptlab.ingest.reading.source import Source
    from tests.ingest.at_once import read as read_file

    data = without_comments(block.text.encode())
    kind = recognise(Head(data))
    assert kind is not None
    source = Source(Path("example"), "example", "example", data=data)
    found = read_file(kind, source)
    assert not found.problems
    assert found.records_loaded


def commands() -> list[tuple[str, str]]:
    """Every promptlab command of a shell snippet, run or not, with its place."""
    return [
        (f"{path}:{block.line}", re.split(r"#|&&|\|", line)[0])
        for path in PAGES
        for block in markdown.blocks(read(path), "sh")
        for line in block.text.splitlines()
        if re.match(r"promptlab [a-z]", line)
    ]


@pytest.mark.parametrize(("where", "line"), commands())
def test_a_command_that_is_not_run_exists_with_its_options(where, line):
    _, name, *args = shlex.split(line)
    command = cli.get_command(click.Context(cli), name)
    assert command is not None, where
    command.make_context(name, args)


@pytest.mark.parametrize(
    ("readme", "tutorial"),
    list(zip(["README.md", "README.zh.md"], TUTORIALS, strict=True)),
)
def test_the_readme_shows_the_first_run_as_the_tutorial_does(readme, tutorial):
    shown = markdown.blocks(read(readme), "text")[0].text
    assert shown in read(tutorial)


@pytest.mark.parametrize("page", ["README.md", "README.zh.md"])
def test_what_the_readme_opens_is_what_make_demo_writes(page):
    demo = re.search(r"--db (\S+)", (ROOT / "Makefile").read_text("utf-8"))
    opened = re.findall(r'Warehouse\("(.*?)"\)', (ROOT / page).read_text("utf-8"))
    assert demo is not None
    assert opened == [demo[1]]
