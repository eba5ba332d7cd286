"""Reading Markdown: fenced blocks, with the comment above them, and links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*?) -->\n\n?)?"
    r"^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|<img [^>]*src=\"([^\"]+)\"")
_END = "<!-- end -->"
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    text: str
    note: str
    """The HTML comment right above it, such as ``file: cases.jsonl``."""
    start: int
    """Position of its text in the page."""
    line: int


def blocks(page: str, *languages: str) -> list[Block]:
    """Return the fenced blocks of these languages, in the order of the page."""
    return [
        Block(
            found["language"],
            found["text"],
            found["note"] or "",
            found.start("text"),
            page.count("\n", 0, found.start("text")),
        )
        for found in _BLOCK.finditer(page)
        if not languages or found["language"] in languages
    ]


def replaced(page: str, texts: dict[Block, str]) -> str:
    """Return the page with other texts in some of its blocks."""
    for block, text in sorted(texts.items(), key=lambda each: -each[0].start):
        page = page[: block.start] + text + page[block.start + len(block.text) :]
    return page


def with_parts(page: str, parts: dict[str, str]) -> str:
    """Return the page with its generated parts regenerated.

    A part is between ``<!-- generated: NAME -->`` and ``<!-- end -->``; one that the
    page lacks is added at its end under a heading of its name.
    """
    for name, text in parts.items():
        start = f"<!-- generated: {name} -->\n"
        if start not in page:
            page += f"\n## {name}\n\n{start}{_END}\n"
        begin = page.index(start) + len(start)
        page = page[:begin] + text + page[page.index(_END, begin) :]
    return page


def part_names(page: str) -> list[str]:
    """Return the names of a page's generated parts."""
    return re.findall(r"<!-- generated: (.*?) -->", page)


def links(page: str) -> list[str]:
    """Return the targets of links and pictures that lead to other files."""
    targets = [a or b for a, b in _LINK.findall(_CODE.sub("", page))]
    return [each for each in targets if "://" not in each]


def anchors(page: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", _fenceless(page), re.MULTILINE)
    return {anchor(heading) for heading in headings}


def anchor(heading: str) -> str:
    """Return the anchor of one heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def _fenceless(page: str) -> str:
    return re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)


def pages(root: Path) -> list[Path]:
    """Return every Markdown page for users and contributors."""
    globs = ("*.md", "docs/**/*.md", "examples/*.md", "examples_zh/*.md")
    return sorted(page for glob in globs for page in root.glob(glob))
