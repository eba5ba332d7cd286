"""Languages: one file each, and no page mixes them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import html5lib
import pytest

from promptlab.database import connect
from promptlab.paths import TEXTS
from promptlab.reports import write_all
from promptlab.reports.edition import Edition
from promptlab.reports.mail import task_message
from promptlab.reports.write import write_comparison
from tests.conftest import ROOT

# ---------- a language is one file: one that is added is one of the languages everywhere


BRACES = re.compile(r"(\{[^{}]*\})")


def shouted(text: str) -> str:
    """A test language: every English text in capitals, with unchanged values."""
    lines = []
    for line in text.splitlines():
        key, equals, value = line.partition(" = ")
        if equals and value.startswith('"'):
            value = "".join(
                part if part.startswith("{") else part.upper()
                for part in BRACES.split(value)
            )
        lines.append(key + equals + value)
    return "\n".join(lines).replace('tag = "EN"', 'tag = "en-x-loud"')


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages with a language more."""
    folder = tmp_path_factory.mktemp("loud")
    without_caches = shutil.ignore_patterns("__pycache__", "target", "logs")
    for package in ("promptlab", "reports", "ingest", "dbt_project"):
        shutil.copytree(
            ROOT / package, folder / package, symlinks=True, ignore=without_caches
        )
    english = (TEXTS / "en.toml").read_text("utf-8")
    (folder / "reports" / "texts" / "xl.toml").write_text(shouted(english), "utf-8")
    return folder


def promptlab(checkout: Path, *args: str, **environ: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "promptlab", *args],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout)} | environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_report_speaks_a_language_whose_file_was_added(
    checkout: Path, example_db: Path
) -> None:
    shutil.copy(example_db, checkout / "w.duckdb")
    promptlab(
        checkout, "report", "cs-regression-v3.2", "--db", "w.duckdb", "--out", "out",
        "--format", "html,json,email,md", "--lang", "xl",
    )  # fmt: skip
    page = checkout / "out" / "cs-regression-v3.2" / "report.html"
    text = page.read_text("utf-8")
    assert '<html lang="en-x-loud"' in text
    assert "EVALUATION REPORT" in text
    assert "DO NOT SHIP" in text
    [document] = (checkout / "out").rglob("result.json")
    result = json.loads(document.read_text("utf-8"))
    worst = result["summary"]["alerts"][0]["message"]
    assert "SHARED CASES LOST THEIR MUST-HAVES: refund" in worst


def test_a_locale_chooses_it_and_others_fall_back_to_english(checkout: Path) -> None:
    asked = "from promptlab.settings import Settings; print(Settings().lang)"
    for locale, lang in {"xl_XX.UTF-8": "xl", "fr_FR.UTF-8": "en"}.items():
        done = subprocess.run(
            [sys.executable, "-c", asked],
            cwd=checkout,
            env=os.environ | {"PYTHONPATH": str(checkout), "LC_ALL": locale},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == lang


# ---------- no page mixes languages: English examples in English, Chinese ones in Chinese


AT = datetime(2026, 2, 1, tzinfo=UTC)
TASKS = [
    "cs-regression-v3.1",
    "cs-regression-v3.2",
    "review-sentiment-baseline",
    "review-sentiment-improved",
]
HAN = re.compile("[\\u4e00-\\u9fff]")
WORD = re.compile(r"[A-Za-z]+")


def texts(table: dict[str, Any]) -> Iterator[str]:
    for value in table.values():
        if isinstance(value, dict):
            yield from texts(value)
        elif isinstance(value, str):
            yield value


def fragments(lang: str) -> set[str]:
    """The words between values, which must not be on a page of another language."""
    store = tomllib.loads((TEXTS / f"{lang}.toml").read_text("utf-8"))
    found = set()
    for text in texts(store):
        for part in re.split(r"\{[^{}]*\}|`[^`]*`", text):
            words = len(HAN.findall(part) if lang == "zh" else WORD.findall(part))
            if words >= 3:
                found.add(part.strip())
    return found


def pages(db: Path, out: Path, lang: str) -> Iterator[tuple[str, str]]:
    """Every page and the mail as the text that people read."""
    with connect(db, read_only=True) as con:
        edition = Edition(AT, lang)
        files = write_all(con, TASKS, out, edition, formats=["html", "md"])
        for pair in (TASKS[:2], TASKS[2:]):
            files.append(write_comparison(con, *pair, out, edition))
        for task in TASKS:
            mail = task_message(con, task, edition)
            yield f"mail {task}", visible(mail.get_body(("html",)).get_content())
            yield f"text {task}", mail.get_body(("plain",)).get_content()
    for file in files:
        text = file.read_text("utf-8")
        if file.suffix == ".html":
            yield str(file.relative_to(out)), visible(text)
        elif file.suffix == ".md":
            yield str(file.relative_to(out)), text


def visible(html: str) -> str:
    tree = html5lib.parse(html, namespaceHTMLElements=False)
    for element in tree.iter():
        if element.tag in ("style", "script"):
            element.text = ""
    labels = (
        e.get(name) or "" for e in tree.iter() for name in ("aria-label", "title")
    )
    return " ".join(("".join(tree.itertext()) + " " + " ".join(labels)).split())


@pytest.fixture(scope="module")
def every_page(
    chinese_db: Path, english_db: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[tuple[str, str]]]:
    """Language → all pages of the examples in it."""
    return {
        lang: list(pages(db, tmp_path_factory.mktemp(lang), lang))
        for lang, db in (("zh", chinese_db), ("en", english_db))
    }


@pytest.mark.parametrize(("lang", "other"), [("zh", "en"), ("en", "zh")])
def test_no_sentence_of_the_other_language_stands_on_a_page(every_page, lang, other):
    foreign = fragments(other) - fragments(lang)
    assert len(foreign) > 200
    faults = [
        (page, sentence)
        for page, text in every_page[lang]
        for sentence in foreign
        if sentence in text
    ]
    assert faults == []


def test_an_english_page_of_the_english_examples_holds_no_chinese_letter(every_page):
    for page, text in every_page["en"]:
        assert not HAN.findall(text), (page, HAN.findall(text)[:20])


def test_a_chinese_page_of_the_chinese_examples_holds_no_english_sentence(every_page):
    sentence = re.compile(r"[A-Z][a-z]+(?: [a-z]+){4,}")
    for page, text in every_page["zh"]:
        assert not sentence.findall(text), (page, sentence.findall(text)[:20])


def test_both_sets_of_examples_tell_the_same_story(chinese_db, english_db):
    told = []
    for db in (chinese_db, english_db):
        with connect(db, read_only=True) as con:
            told.append(
                con.execute(
                    "select task_id, n_pass, n_fail, n_error, n_unevaluated"
                    " from marts.fct_task_summaries"
                    # LoCoMo's F1 knows English words only
                    " inner join marts.dim_tasks using (task_id)"
                    " where source_kind <> 'memory' order by task_id"
                ).fetchall()
            )
    assert told[0] == told[1]
    assert ("review-sentiment-improved", 10, 2, 0, 1) in told[0]
