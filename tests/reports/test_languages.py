"""Languages: one file each, and no page mixes them."""

from __future__ import annotations

import functools
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
import yaml

from promptlab.database import connect
from promptlab.paths import TEXTS
from promptlab.reports import write_all
from promptlab.reports.digest import (
    chat_message,
    chat_services,
    digest_html,
    digest_text,
    read_digest,
)
from promptlab.reports.formats import gate_markdown
from promptlab.reports.mail import task_message
from promptlab.reports.report_options import ReportOptions
from promptlab.reports.write import write_comparison, write_index
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
    """Every page, mail and message to a chat."""
    with connect(db, read_only=True) as con:
        options = ReportOptions(AT, lang)
        write_all(con, TASKS, out, options, formats=["html", "md"])
        for pair in (TASKS[:2], TASKS[2:]):
            write_comparison(con, *pair, out, options)
        write_index(con, out, options)
        for task in TASKS:
            mail = task_message(con, task, options)
            yield f"mail {task}", mail.get_body(("html",)).get_content()
            yield f"text {task}", mail.get_body(("plain",)).get_content()
        gates = [options.gates_of(con, [task])[task] for task in TASKS]
        yield "comment", gate_markdown(gates, lang=lang)
        digest = read_digest(con, datetime(2020, 1, 1, tzinfo=UTC), options)
        yield "digest", digest_html(digest, options)
        yield "digest as text", digest_text(digest, options)
        for service in chat_services():
            body = chat_message(service, digest, options).body
            yield service, "\n".join(said(body))
    for file in sorted(out.rglob("*")):
        if file.suffix in (".html", ".md"):
            yield str(file.relative_to(out)), file.read_text("utf-8")


def said(payload: Any) -> Iterator[str]:
    """The texts of a message to a chat."""
    if isinstance(payload, list):
        for part in payload:
            yield from said(part)
    elif isinstance(payload, dict):
        for name in ("title", "text", "content"):
            yield from (payload[name],) if isinstance(payload.get(name), str) else ()
        yield from said([v for v in payload.values() if not isinstance(v, str)])


@functools.cache
def visible(html: str, *, ours: bool = False) -> str:
    """The text and the labels of a page; only *ours*: without texts of the files."""
    if not html.lstrip().lower().startswith("<!doctype"):
        return html
    tree = html5lib.parse(html, namespaceHTMLElements=False)
    theirs = ("bdi", "code") if ours else ()
    found: list[str] = []

    def read(element: Any) -> None:
        is_element = isinstance(element.tag, str)  # a comment has a function
        if is_element and element.tag not in ("style", "script", *theirs):
            found.append(element.text or "")
            found.extend(element.get(name) or "" for name in ("aria-label", "title"))
            for child in element:
                read(child)
        found.append(element.tail or "")

    read(tree)
    return " ".join(" ".join(found).split())


def read(found: list[tuple[str, str]], *, ours: bool = False) -> list[tuple[str, str]]:
    return [(name, visible(text, ours=ours)) for name, text in found]


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
        for page, text in read(every_page[lang])
        for sentence in foreign
        if sentence in text
    ]
    assert faults == []


def test_an_english_page_of_the_english_examples_holds_no_chinese_letter(every_page):
    for page, text in read(every_page["en"]):
        assert not HAN.findall(text), (page, HAN.findall(text)[:20])


NAMES = frozenset(
    """
    promptlab JSON json HTML html ID Token JUnit LoCoMo Mem0 McNemar kappa alpha AC1
    Cohen Gwet Krippendorff Rogan Gladen Lang Reiczigel PPI jq Enter Esc A B C D F n
    F1 p ms s true false null wilson br failed
    """.split()  # noqa: SIM905
)
"""English words of our own Chinese texts: names and terms that are never translated."""


def of_the_files(folder: Path) -> set[str]:
    """Words of the example files: their values, and the keys of free objects."""
    found: set[str] = set()

    def read(value: Any, *, is_free: bool = False) -> None:
        if isinstance(value, dict):
            for key, part in value.items():
                if is_free:
                    found.update(WORD.findall(key))
                read(part, is_free=is_free or key in FREE_OBJECTS)
        elif isinstance(value, list):
            for part in value:
                read(part, is_free=is_free)
        elif isinstance(value, str):
            found.update(WORD.findall(value))

    for file in folder.rglob("*.*"):
        found.update(WORD.findall(str(file.relative_to(folder))))
        if file.suffix == ".yaml":
            read(yaml.load(file.read_bytes(), yaml.CSafeLoader), is_free=True)
        elif file.suffix in (".json", ".jsonl"):
            text = re.sub(r"(?m)^\s*//.*", "", file.read_text("utf-8"))
            at, decoder = 0, json.JSONDecoder()
            while text[at:].strip():
                at += len(text[at:]) - len(text[at:].lstrip())
                record, at = decoder.raw_decode(text, at)
                read(record)
    return found | {"variant"}  # a key that is kept as an extra


FREE_OBJECTS = {
    "inputs", "context", "expected_outputs", "intermediate_expectations",
    "parsed_output", "parameters", "metadata", "extras", "step_inputs", "target",
    "step_outputs", "aggregation_output", "final_output", "output", "env",
}  # fmt: skip


def test_a_chinese_page_has_no_english_word_but_names(every_page) -> None:
    theirs = of_the_files(ROOT / "examples_zh")
    faults = {
        (word, page.split("/")[-1])
        for page, text in read(every_page["zh"])
        for word in WORD.findall(COMMAND.sub("", text))
        if len(word) > 1 and word not in NAMES | theirs
    }
    assert faults == set()


COMMAND = re.compile(r"`[^`]*`|[\w-]+(?:[./~@_-][\w-]+)+|\b[0-9a-f]{7,}\b")
"""A command of the comment, a path, an id or a hash."""


HALF_WIDTH = re.compile(
    rf"{HAN.pattern}\s?[,;:()]|[,;:(]\s?{HAN.pattern}|\d%?(?:[–~]| … )[+−\d]"
)


def test_a_chinese_page_has_full_width_signs_and_one_way_to_write_an_interval(
    every_page,
) -> None:
    faults = {
        (text[max(0, found.start() - 25) : found.end() + 15], page.split("/")[-1])
        for page, text in read(every_page["zh"], ours=True)
        for found in HALF_WIDTH.finditer(text)
    }
    assert faults == set()


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
