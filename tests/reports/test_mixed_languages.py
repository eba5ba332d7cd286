"""No page mixes languages: English examples in English, Chinese ones in Chinese."""

from __future__ import annotations

import re
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


@pytest.mark.parametrize(("lang", "other"), [("zh", "en"), ("en", "zh")])
def test_no_sentence_of_the_other_language_stands_on_a_page(
    chinese_db, english_db, tmp_path, lang, other
):
    db = {"zh": chinese_db, "en": english_db}[lang]
    foreign = fragments(other) - fragments(lang)
    assert len(foreign) > 200
    faults = [
        (page, sentence)
        for page, text in pages(db, tmp_path, lang)
        for sentence in foreign
        if sentence in text
    ]
    assert faults == []


def test_an_english_page_of_the_english_examples_holds_no_chinese_letter(
    english_db, tmp_path
):
    for page, text in pages(english_db, tmp_path, "en"):
        assert not HAN.findall(text), (page, HAN.findall(text)[:20])


def test_a_chinese_page_of_the_chinese_examples_holds_no_english_sentence(
    chinese_db, tmp_path
):
    sentence = re.compile(r"[A-Z][a-z]+(?: [a-z]+){4,}")
    for page, text in pages(chinese_db, tmp_path, "zh"):
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
