"""The documentation is true: its commands run, its numbers come out, its links lead on.

``pytest --update-golden tests/docs`` writes the generated pages, and the outputs below
the commands of the others, as they are now.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

import pytest

from promptlab.cli.options import EXITS
from promptlab.cli.reference import task_example
from promptlab.reports.texts import catalogue
from tests.conftest import ROOT
from tests.docs import command_line, markdown

DOCS = ROOT / "docs"
READMES = ("README.md", "README.zh.md")
PAGES = markdown.pages(ROOT)
COMMANDS = command_line.all_commands()
SEEDS = ROOT / "dbt_project" / "seeds" / "scoring"


def read(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def seed(name: str) -> list[dict[str, str]]:
    with (SEEDS / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


# ---------- commands, settings, exit codes


def test_the_page_of_commands_has_every_setting(page):
    page("docs/cli.md", markdown.with_parts(read("docs/cli.md"), command_line.parts()))


def test_the_page_of_commands_has_every_exit_code():
    rows = re.findall(r"^\| (\d+) \|", read("docs/cli.md"), re.MULTILINE)
    assert [int(code) for code in rows] == [*sorted(EXITS), 130]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_that_a_page_names_exists(path):
    names = {name.split()[0] for name in COMMANDS}
    calls = re.findall(r"`promptlab ([a-z]\w*)", path.read_text("utf-8"))
    assert path.name == "CHANGELOG.md" or set(calls) <= names


@pytest.mark.parametrize("readme", READMES)
@pytest.mark.parametrize("name", sorted({name.split()[0] for name in COMMANDS}))
def test_every_command_is_in_the_table_of_the_readme(readme, name):
    table = [line for line in read(readme).splitlines() if line.startswith("| `")]
    assert any(re.search(rf"`promptlab {name}\b", line) for line in table)


# ---------- what has a name in the code has its line in the docs


def test_the_page_of_numbers_lists_every_reason(page):
    path = "docs/numbers.md"
    texts = catalogue("en").entries
    reasons = [
        f"| `{row['reason']}` | {texts['score_reason.' + row['reason']]} |"
        for row in seed("promptlab_score_reasons.csv")
    ]
    parts = {"reasons": cells("| | |", reasons)}
    page(path, markdown.with_parts(read(path), parts))


def cells(head: str, lines: Sequence[str]) -> str:
    rule = head.replace(" ", " --- ", head.count("|") - 1)
    return "\n".join(["", head, rule, *lines, "", ""])


@pytest.mark.parametrize("path", ["docs/numbers.md", "docs/zh/numbers.md"])
def test_every_scorer_is_explained(path):
    text = read(path)
    assert not [
        r["scorer"]
        for r in seed("promptlab_scorers.csv")
        if f"`{r['scorer']}`" not in text
    ]


@pytest.mark.parametrize("path", ["docs/numbers.md", "docs/zh/numbers.md"])
def test_the_grades_are_those_of_the_seed(path):
    text = read(path)
    for row in seed("promptlab_grades.csv"):
        least = row["min_score"]
        assert float(least) == 0 or f"{row['grade']} ≥ {least}" in text


def test_every_kind_of_file_is_described():
    from promptlab.ingest.formats import KINDS

    text = read("docs/formats.md")
    headings = re.findall(r"^## .*`(\w+)`", text, re.MULTILINE)
    tools = re.findall(
        r"^\| \[.*?\]\(tools/\w+\.md\) \| `(\w+)` \|", text, re.MULTILINE
    )
    assert sorted([*headings, *tools]) == sorted(KINDS)


def test_the_page_of_formats_shows_the_run_that_init_writes(page):
    path = "docs/formats.md"
    (shown,) = markdown.blocks(read(path), "json")
    page(path, markdown.replaced(read(path), {shown: task_example()}))


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


def test_the_page_of_schemas_lists_every_schema():
    there = {f"schemas/{path.name}" for path in (DOCS / "schemas").iterdir()}
    assert {
        each for each in markdown.links(read("docs/schemas.md")) if "/" in each
    } == there


def test_the_readmes_link_each_other():
    assert "README.zh.md" in markdown.links(read("README.md"))
    assert "README.md" in markdown.links(read("README.zh.md"))


@pytest.mark.parametrize("path", PAGES)
def test_a_row_of_a_table_is_one_line(path):
    text = re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.M | re.S)
    torn = [line for line in text.splitlines() if re.match(r"\|.*[^|]$", line.rstrip())]
    assert torn == []
