"""The built site: Sphinx finds no dead link, and nothing comes from elsewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs import markdown

pytestmark = pytest.mark.slow

LOADING = {"script": "src", "img": "src", "iframe": "src", "link": "href"}
"""Tags that load what they name, and where they name it."""


@dataclass
class Page(HTMLParser):
    """The resources and the language of a page."""

    text: str
    loads: list[str] = field(default_factory=list)
    language: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if LOADING.get(tag) in found:
            self.loads.append(found[LOADING[tag]])
        if tag == "html":
            self.language = found["lang"]


@cache
def page(file: Path) -> Page:
    return Page(file.read_text("utf-8"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    (recipe,) = re.findall(r"^\t\$\(BIN\)/sphinx-build (.*)$", makefile, re.MULTILINE)
    options = recipe.replace("$(VENV)/doctrees", str(folder / "doctrees")).split()
    options[-1] = str(folder / "site")
    call = [sys.executable, "-m", "sphinx", *options]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "site"


def files(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_every_page_of_the_documentation_is_there(site):
    sources = (path.relative_to(ROOT) for path in markdown.pages(ROOT))
    missing = [s for s in sources if not (site / s.with_suffix(".html")).is_file()]
    assert not missing


def test_the_list_for_agents_names_every_page_of_the_index(site):
    text = (site / "llms.txt").read_text("utf-8")
    links = re.findall(r"^- \[.+?\]\((.+?)\): .+$", text, re.MULTILINE)
    assert "docs/agents.html" in links and "docs/tools/promptfoo.html" in links
    assert not [link for link in links if not (site / link).is_file()]
    pages = {f"docs/{page.stem}.html" for page in (ROOT / "docs").glob("*.md")}
    assert pages - set(links) == {"docs/README.html"}


def test_nothing_is_loaded_from_elsewhere(site):
    remote = re.compile(r"^(?:https?:)?//")
    assert not [
        (file.name, each)
        for file in files(site)
        for each in page(file).loads
        if remote.match(each)
    ]
    styles = [*site.rglob("*.css"), *site.rglob("*.svg"), *files(site)]
    loading = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//")
    assert not [file.name for file in styles if loading.search(file.read_text("utf-8"))]


def test_a_page_says_its_language_and_leads_to_the_other(site):
    chinese = {
        "README.zh.html",
        "examples_zh/README.html",
        *(str(p.relative_to(site)) for p in site.glob("docs/zh/**/*.html")),
    }
    for file in files(site):
        name = str(file.relative_to(site))
        assert page(file).language == ("zh-CN" if name in chinese else "en"), name
        other = "en" if name in chinese else "zh-CN"
        assert f'hreflang="{other}"' in page(file).text, name


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("README.html", "README.zh.html"),
        ("README.zh.html", "README.html"),
        ("docs/verdict.html", "zh/verdict.html"),
        ("docs/zh/tools/table.html", "../../tools/table.html"),
        ("docs/matching.html", "../README.zh.html"),
        ("search.html", "README.zh.html"),
    ],
)
def test_the_switch_leads_to_the_same_page_else_to_the_start(site, name, other):
    (found,) = re.findall(r'<a href="([^"]+)"[^>]* hreflang', page(site / name).text)
    assert found == other


WORDS = ["wilson", "kappa", "s3", "airflow", "gbk", "superset", "notebook", "iceberg"]


def test_the_search_finds_words_of_both_languages(site):
    index = (site / "searchindex.js").read_text("utf-8")
    found = json.loads(index[index.index("(") + 1 : index.rindex(")")])
    words = {**found["terms"], **found["titleterms"]}
    assert set(WORDS) <= words.keys()
    verdict = found["docnames"].index("docs/zh/verdict")
    for pair in ["退化", "裁判", "判模", "模型", "待观", "观察"]:
        on = found["terms"][pair]
        assert verdict in (on if isinstance(on, list) else [on]), pair
    assert "splitQuery" in (site / "_static" / "language_data.js").read_text("utf-8")


def test_the_site_opens_at_its_index(site):
    assert page(site / "index.html").text == page(site / "README.html").text


def test_keys_reach_what_scrolls_and_every_landmark_has_a_name(site):
    for file in files(site):
        text = page(file).text
        assert "<pre>" not in text, file.name
        assert '<div class="table-wrapper' not in text, file.name
        assert '<aside class="sidebar-drawer">' not in text, file.name
        assert '<th class="head"><p></p></th>' not in text, file.name


def test_names_in_angle_brackets_are_text(site):
    text = page(site / "docs/operations.html").text
    assert "marts/&lt;table&gt;" in text
    assert "<table>" not in text
