"""The Chinese pages say what the English ones say: docs/zh/X is the Chinese docs/X."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs import console, markdown

DOCS = ROOT / "docs"
PAGES = sorted(str(p.relative_to(DOCS / "zh")) for p in DOCS.glob("zh/**/*.md"))

LEFT_OUT = {
    "numbers.md": {"Reasons for a missing score"},
    "judges.md": {"How it is checked"},
    "formats.md": {
        "The order of files",
        "Rules for JSON",
        "Evaluation results: `results`",
        "Scores from outside: `scores`",
        "Labels of people: `labels`",
        "Memory benchmark: `memory`",
        "What other tools write",
    },
}
"""Page → its English sections that nobody writes by hand, or that are for reference."""

CONFIG = ("json", "jsonl", "yaml", "toml")


def read(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def sections(name: str, left_out: set[str]) -> dict[str, str]:
    """Return heading of the second level → its text, without what is left out."""
    text = read(name)
    code = [match.span() for match in re.finditer(r"^```.*?^```$", text, re.M | re.S)]
    starts = [
        match
        for match in re.finditer(r"^## (.*)$", text, re.MULTILINE)
        if not any(start <= match.start() < end for start, end in code)
    ]
    ends = [*[match.start() for match in starts], len(text)][1:]
    found = {"": text[: starts[0].start() if starts else len(text)]}
    for match, end in zip(starts, ends, strict=True):
        found[match[1]] = text[match.end() : end]
    assert left_out <= found.keys(), left_out - found.keys()
    return {heading: part for heading, part in found.items() if heading not in left_out}


def commands(text: str) -> list[str]:
    """Return each command of ours with its options but the language."""
    lines = [
        command.text
        for block in markdown.blocks(text, "console")
        for command in console.commands(block)
    ]
    shell = markdown.blocks(text, "sh")
    lines += [line for block in shell for line in block.text.splitlines()]
    found = [re.search(r"\bpromptlab ([a-z][\w-]*)([^|#\"]*)", line) for line in lines]
    options = re.compile(r"(?<!\S)(?!--lang)--?[a-z][\w-]*")
    return [
        " ".join([match[1], *options.findall(match[2])]) for match in found if match
    ]


def keys(page: str) -> set[str]:
    """Return the names that are set in examples of files and of the config."""
    found: set[str] = set()
    for block in markdown.blocks(page, *CONFIG):
        if block.language in ("json", "jsonl"):
            found |= set(re.findall(r'"([^"\n]+)":', block.text))
        else:
            set_at = r"^(\w+) =" if block.language == "toml" else r"(\w+):(?=\s)"
            text = re.sub(r"(^|\s)#.*$", "", block.text, flags=re.MULTILINE)
            found |= set(re.findall(set_at, text, re.MULTILINE))
    return found


both = pytest.mark.parametrize("name", PAGES)


@both
def test_a_chinese_page_and_its_english_page_link_each_other(name: str) -> None:
    here, there = Path("zh", name), Path(name)
    head = read(str(here)).split("\n## ")[0]
    assert os.path.relpath(there, here.parent) in markdown.links(head)
    english = read(name).split("\n## ")[0]
    assert os.path.relpath(here, there.parent) in markdown.links(english)


@both
def test_a_chinese_page_has_the_sections_of_its_english_page(name: str) -> None:
    english = sections(name, LEFT_OUT.get(name, set()))
    chinese = sections(f"zh/{name}", set())
    assert len(chinese) == len(english), (list(chinese), list(english))


@both
def test_a_chinese_page_shows_the_same_commands_and_keys(name: str) -> None:
    english = sections(name, LEFT_OUT.get(name, set())).values()
    chinese = sections(f"zh/{name}", set()).values()
    for ours, theirs in zip(chinese, english, strict=True):
        assert commands(ours) == commands(theirs)
        assert keys(ours) == keys(theirs)


@both
def test_a_page_links_chinese_pages_where_there_are_some(name: str) -> None:
    file = DOCS / "zh" / name
    for link in markdown.links(file.read_text("utf-8")):
        target = (file.parent / link.partition("#")[0]).resolve()
        if target.is_relative_to(DOCS) and "#" not in link:
            other = str(target.relative_to(DOCS))
            assert other not in PAGES or other == name, link


@both
def test_the_chinese_start_page_leads_to_every_chinese_page(name: str) -> None:
    links = markdown.links((ROOT / "README.zh.md").read_text("utf-8"))
    assert f"docs/zh/{name}" in links


@both
def test_chinese_sentences_have_chinese_marks(name: str) -> None:
    text = re.sub(r"^```.*?^```$", "", read(f"zh/{name}"), flags=re.M | re.S)
    plain = re.sub(r"`[^`]*`", "x", re.sub(r"<!--.*?-->|\]\([^)]*\)", "", text))
    assert re.findall(r"[\u4e00-\u9fff][,;:!?()]|[,;!?()][\u4e00-\u9fff]", plain) == []
