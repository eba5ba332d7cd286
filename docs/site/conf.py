"""The documentation as a site: ``make docs`` writes it to out/site.

The sources are the Markdown files of the checkout where they lie, so that every link
between them works here, on a code host and in an editor alike.
"""

from __future__ import annotations

import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

from promptlab import __version__

ROOT = Path(__file__).resolve().parents[2]

NAV: dict[str, list[str]] = {
    "Start": ["docs/try", "docs/tutorial", "docs/faq", "docs/glossary", "docs/README"],
    "Coming from promptfoo, Inspect, …": sorted(
        f"docs/tools/{page.stem}" for page in (ROOT / "docs" / "tools").glob("*.md")
    ),
    "Files": ["docs/formats", "docs/matching", "docs/privacy"],
    "Numbers": [
        "docs/verdict",
        "docs/runs",
        "docs/numbers",
        "docs/judges",
        "docs/judge-tutorial",
        "docs/power",
        "docs/scorers",
    ],
    "Operation": ["docs/ci", "docs/chat", "docs/operations", "docs/scale", "docs/dbt"],
    "Reference": [
        "docs/cookbook",
        "docs/cli",
        "docs/python",
        "docs/agents",
        "docs/schemas",
    ],
    "Development": ["CONTRIBUTING", "docs/decisions/README", "CHANGELOG"],
    "中文": [
        "中文说明 <README.zh>",
        "docs/zh/tutorial",
        "docs/zh/faq",
        "docs/zh/formats",
        "docs/zh/tools/table",
        "docs/zh/verdict",
        "docs/zh/numbers",
        "docs/zh/judges",
        "docs/zh/ci",
        "docs/zh/chat",
        "docs/zh/agents",
    ],
}
"""Heading of the sidebar → its pages, in the order in which they are read."""

BELOW: dict[str, str] = {
    "docs/README": "examples/*.md",
    "README.zh": "examples_zh/*.md",
    "docs/decisions/README": "docs/decisions/[0-9]*.md",
}
"""Page → the pages that the sidebar folds below it."""

TRANSLATIONS = {
    "README": "README.zh",
    "examples/README": "examples_zh/README",
    **{
        f"docs/{page}": f"docs/zh/{page}"
        for file in (ROOT / "docs" / "zh").rglob("*.md")
        for page in [str(file.relative_to(ROOT / "docs" / "zh").with_suffix(""))]
    },
}
"""English page → its Chinese one. Other pages lead to the Chinese start page."""

# ---------- what Sphinx reads

project = "promptlab"
author = "The promptlab contributors"
release = __version__
root_doc = "README"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
include_patterns = ["*.md", "docs/**.md", "examples/*.md", "examples_zh/*.md"]
exclude_patterns = [".*", "out", "dist", "tests", "dbt_project"]
myst_heading_anchors = 4
"""Anchors of headings as code hosts make them."""
suppress_warnings = ["misc.highlighting_failure"]
"""SQL with Jinja in it is neither."""

html_theme = "furo"
html_title = "promptlab"
html_show_sphinx = False
html_copy_source = False
html_use_index = False
html_static_path = ["static"]
html_css_files = ["site.css"]
templates_path = ["templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/language.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}


def setup(app: Sphinx) -> None:
    """Connect what follows to the steps of a build."""
    from pygments.lexers.data import JsonLexer

    app.add_lexer("jsonl", JsonLexer)
    app.add_search_language(_SearchBoth)
    app.connect("source-read", _add_contents)
    app.connect("html-page-context", _set_language)
    app.connect("build-finished", _write_index)
    app.connect("build-finished", _write_list_for_agents)
    app.connect("build-finished", _make_accessible)


class _SearchBoth(SearchEnglish):
    """English words; Chinese, which has no blanks, by pairs of neighbours.

    The browser cuts what is searched in the same way, and finds pages with all pairs.
    """

    _word_re = re.compile(r"[\u4e00-\u9fff]+|[^\W\u4e00-\u9fff]+")
    js_splitter_code = r"""
var splitQuery = (query) =>
  (query.match(/[\u4e00-\u9fff]+|(?:(?![\u4e00-\u9fff])[\p{L}\p{N}_])+/gu) || [])
    .flatMap((run) => /^[\u4e00-\u9fff]{3}/.test(run)
      ? [...run.slice(1)].map((next, i) => run[i] + next)
      : [run]);
"""

    def split(self, input: str) -> list[str]:
        words: list[str] = []
        for run in super().split(input):
            is_long = re.match(r"[\u4e00-\u9fff]{3}", run)
            words += map("".join, pairwise(run)) if is_long else [run]
        return words


def _add_contents(_app: Sphinx, page: str, source: list[str]) -> None:
    """Give the sidebar its pages; on a code host the READMEs list them themselves."""
    if page == root_doc:
        for caption, pages in NAV.items():
            source[0] += _toctree(pages, caption)
    if page in BELOW:
        files = sorted(ROOT.glob(BELOW[page]))
        if files:
            names = [str(f.relative_to(ROOT).with_suffix("")) for f in files]
            source[0] += _toctree(names)


def _toctree(pages: list[str], caption: str = "") -> str:
    entries = [p.replace("<", "</") if "<" in p else f"/{p}" for p in pages]
    options = [":hidden:", f":caption: {caption}"] if caption else [":hidden:"]
    return "\n\n" + "\n".join(["```{toctree}", *options, "", *entries, "```", ""])


def _set_language(
    _app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Say which language a page is in and where the other one is."""
    originals = {chinese: english for english, chinese in TRANSLATIONS.items()}
    other = originals.get(page) or TRANSLATIONS.get(page) or TRANSLATIONS[root_doc]
    is_chinese = page in originals
    context["language"] = "zh-CN" if is_chinese else "en"
    context["other_language"] = {
        "tag": "en" if is_chinese else "zh-CN",
        "name": "English" if is_chinese else "中文",
        "page": other,
        "is_start": page not in TRANSLATIONS and not is_chinese,
    }


_FOR_EVERYBODY = (
    (
        'role="heading"><span class="caption',
        'role="heading" aria-level="2"><span class="caption',
    ),
    (
        '<aside class="sidebar-drawer">',
        '<aside class="sidebar-drawer" aria-label="Pages">',
    ),
    ('<aside class="toc-drawer', '<aside aria-label="On this page" class="toc-drawer'),
    ('<th class="head"><p></p></th>', '<td class="head"></td>'),
    ("<pre>", '<pre tabindex="0">'),
    ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
)
"""Fix the theme's accessibility for keyboards and screen readers."""


def _make_accessible(app: Sphinx, error: Exception | None) -> None:
    """Name the landmarks, rank the captions, let keys scroll what is wide."""
    if error is not None:
        return
    for file in app.outdir.rglob("*.html"):
        text = file.read_text("utf-8")
        for theirs, ours in _FOR_EVERYBODY:
            text = text.replace(theirs, ours)
        file.write_text(text, "utf-8")


def _write_index(app: Sphinx, error: Exception | None) -> None:
    """Folders open at index.html, on a server and from a disk."""
    if error is None:
        shutil.copyfile(app.outdir / f"{root_doc}.html", app.outdir / "index.html")


def _write_list_for_agents(app: Sphinx, error: Exception | None) -> None:
    """Write llms.txt: the pages, and what for, by docs/README."""
    if error is not None:
        return
    table = (ROOT / "docs" / "README.md").read_text("utf-8")
    lines = [
        "# promptlab",
        "",
        "> The warehouse for prompt evaluation.",
        "",
        "## Pages",
        "",
    ]
    for links, use in re.findall(r"^\| (\[.+?) \| (.+?) \|$", table, re.MULTILINE):
        for name, page in re.findall(r"\[(.+?)\]\((.+?)\.md\)", links):
            lines.append(f"- [{name}](docs/{page}.html): {use}")
    (app.outdir / "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")
