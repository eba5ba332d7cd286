"""The documentation is true: its commands run, its numbers come out, its links lead on.

``pytest --update-golden tests/docs`` writes the generated pages, and the outputs below
the commands of the others, as they are now.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from promptlab.cli import run_cli
from promptlab.dictionary import tables as dictionary
from promptlab.pipeline import run_query
from promptlab.warehouse import connect
from tests.docs import command_line, console, markdown, tables

ROOT = tables.ROOT
DOCS = ROOT / "docs"
READMES = ("README.md", "README.zh.md")
PAGES = markdown.pages(ROOT)
COMMANDS = command_line.all_commands()
SEEDS = ROOT / "dbt_project" / "seeds" / "scoring"


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a page with what it should be, or write it: ``page(path, text)``."""

    def check(path: str, text: str) -> None:
        file = ROOT / path
        if request.config.getoption("--update-golden"):
            file.write_text(text, "utf-8")
        assert file.read_text("utf-8") == text, (
            f"{path} is stale; `make golden` writes it anew"
        )

    return check


@pytest.fixture
def example_folder(example_db: Path, tmp_path: Path) -> Path:
    """What `make demo` leaves behind, in a folder of its own."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "demo.duckdb").symlink_to(example_db)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def read(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def seed(name: str) -> list[dict[str, str]]:
    with (SEEDS / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


# ---------- tables.md


def test_the_page_of_tables_says_what_the_project_says(page):
    page("docs/tables.md", tables.page())
    for path, text in tables.pictures().items():
        page(path, text)


def test_every_column_is_described():
    described = [*dictionary.raw(), *dictionary.marts(), *dictionary.policy()]
    silent = [f"{t.name}.{c.name}" for t in described for c in t.columns if not c.text]
    assert not silent, f"dictionary/raw_texts.py, TEXTS, or the YAML lacks {silent}"


@pytest.mark.parametrize("schema", ["raw", "marts"])
def test_every_column_of_a_warehouse_is_on_the_page(rows, schema):
    there = rows(
        "select table_name, column_name from duckdb_columns() where schema_name = ?",
        schema,
    )
    described = dictionary.raw() if schema == "raw" else dictionary.marts()
    assert {(t.name, c.name) for t in described for c in t.columns} == set(there)


# ---------- cli.md, the tables of commands


def test_the_page_of_commands_has_every_option_as_help_has_it(page):
    page("docs/cli.md", markdown.with_parts(read("docs/cli.md"), command_line.parts()))


def test_the_page_of_commands_has_no_command_too_many():
    assert set(markdown.part_names(read("docs/cli.md"))) == set(command_line.parts())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_help_is_on_the_page_of_commands(name, capsys):
    run_cli([*name.split(), "--help"])
    options = re.findall(
        r"^  (?:-\w, )?(--[\w-]+)",
        capsys.readouterr().out.split("Options:")[1],
        re.MULTILINE,
    )
    assert options
    lacking = [o for o in options if f"`{o}" not in read("docs/cli.md")]
    assert lacking == ["--help"]


@pytest.mark.parametrize("readme", READMES)
@pytest.mark.parametrize("name", sorted({name.split()[0] for name in COMMANDS}))
def test_every_command_is_in_the_table_of_the_readme(readme, name):
    table = [line for line in read(readme).splitlines() if line.startswith("| `")]
    assert any(re.search(rf"`promptlab {name}\b", line) for line in table)


# ---------- what has a name in the code has its line in the docs


NUMBERS = {"docs/numbers.md": "_en", "docs/numbers.zh.md": ""}
"""Page → suffix of the columns that hold the texts of its language."""


@pytest.mark.parametrize(("path", "suffix"), NUMBERS.items())
def test_the_pages_of_numbers_list_every_alert_and_reason(path, suffix, page):
    alerts = [
        f"| `{row['code']}` | {row['severity']} | {row[f'message{suffix}']} |"
        for row in seed("alert_policy.csv")
    ]
    reasons = [
        f"| `{row['reason']}` | {row[f'reason_text{suffix}']} |"
        for row in seed("score_reasons.csv")
    ]
    parts = {
        "alerts": cells("| | | |", alerts),
        "reasons": cells("| | |", reasons),
    }
    page(path, markdown.with_parts(read(path), parts))


def cells(head: str, lines: Sequence[str]) -> str:
    rule = head.replace(" ", " --- ", head.count("|") - 1)
    return "\n".join(["", head, rule, *lines, "", ""])


@pytest.mark.parametrize("path", NUMBERS)
def test_every_scorer_is_explained(path):
    text = read(path)
    assert not [
        r["scorer"] for r in seed("scorers.csv") if f"`{r['scorer']}`" not in text
    ]


@pytest.mark.parametrize("path", NUMBERS)
def test_the_grades_are_those_of_the_seed(path):
    text = read(path)
    for row in seed("grades.csv"):
        least = row["min_score"]
        assert float(least) == 0 or f"{row['grade']} ≥ {least}" in text


def test_every_kind_of_file_is_described():
    from ingest.formats import KINDS

    headings = re.findall(r"^## .*`(\w+)`", read("docs/formats.md"), re.MULTILINE)
    assert sorted(headings) == sorted(KINDS)


@pytest.mark.parametrize(
    "block", markdown.blocks(read("docs/formats.md"), "jsonl", "yaml")
)
def test_every_example_of_a_format_is_read_without_a_fault(block):
    from ingest.formats import read as read_file
    from ingest.kinds import recognise
    from ingest.reading.source import Source

    data = block.text.encode()
    kind = recognise(data)
    assert kind is not None
    source = Source(data, "example", Path("example"), "example", datetime.now(UTC))
    found = read_file(kind, source)
    assert not [p for p in found.problems if p.severity == "reject"]
    assert found.records_loaded


def test_every_name_of_the_python_api_is_described():
    import promptlab

    text = read("docs/python.md")
    public = [name for name in promptlab.__all__ if not name.startswith("__")]
    assert not [name for name in public if f"`{name}" not in text]


# ---------- every page


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path):
    for link in markdown.links(path.read_text("utf-8")):
        target, _, anchor = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        assert file.exists(), link
        if anchor and file.suffix == ".md":
            assert anchor in markdown.anchors(file.read_text("utf-8")), link


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_page_names_a_path_of_one_machine(path):
    pattern = r"(?<![\w.~…}])/(?:home|root|tmp|work|Users|usr|opt|mnt)/\w+"
    assert re.findall(pattern, path.read_text("utf-8")) == []


def test_the_index_lists_every_page():
    listed = set(markdown.links(read("docs/README.md")))
    there = {path.name for path in DOCS.glob("*.md")} - {"README.md"}
    assert there <= listed


def test_the_readmes_link_each_other():
    assert "README.zh.md" in markdown.links(read("README.md"))
    assert "README.md" in markdown.links(read("README.zh.md"))


# ---------- what the pages run


@pytest.mark.parametrize("path", [*READMES, "docs/python.md", "docs/numbers.md"])
def test_console_blocks_print_what_the_page_shows(path, page, example_folder):
    check_console(path, page, example_folder)


@pytest.mark.slow
def test_the_tutorial_runs_from_the_first_command_to_the_last(page, tmp_path):
    check_console("docs/tutorial.md", page, tmp_path)


def check_console(path: str, page: Callable[[str, str], None], folder: Path) -> None:
    text = read(path)
    wanted = [
        block
        for block in markdown.blocks(text)
        if block.note.startswith("file: ")
        or (block.language == "console" and not block.note.startswith("not run"))
    ]
    results = console.run(wanted, folder)
    failed = [
        f"{path}:{block.line}: {command.text}: exit code {command.exit_code}"
        f"\n{command.output}"
        for block, ran in results.items()
        for command in ran
        if command.exit_code
    ]
    assert not failed, "\n".join(failed)
    texts = {block: console.written(ran) for block, ran in results.items()}
    page(path, markdown.replaced(text, texts))


@pytest.mark.parametrize("path", [*READMES, "docs/python.md", "docs/cookbook.md"])
def test_python_blocks_print_what_the_page_shows(
    path, page, example_db, tmp_path, monkeypatch
):
    shutil.copy(example_db, tmp_path / "promptlab.duckdb")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    text = read(path)
    shown = run_python(markdown.blocks(text, "python", "text"))
    page(path, markdown.replaced(text, shown))


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
        elif block.language == "python" and not block.note.startswith("not run"):
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(block.text, f"line {block.line}", "exec"), namespace)
            output = printed.getvalue()
    return shown


@pytest.mark.parametrize(
    "path", [*READMES, "docs/tutorial.md", "docs/numbers.md", "docs/formats.md"]
)
def test_sql_blocks_run(path, example_db):
    with connect(example_db, read_only=True) as con:
        for block in markdown.blocks(read(path), "sql"):
            result = run_query(con, block.text)
            assert result is not None, block.line
            assert result.fetchall(), f"{path}:{block.line}: no rows"
