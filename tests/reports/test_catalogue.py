"""The string catalogue: complete in both languages, and nothing idle in it."""

from __future__ import annotations

import csv
import re
import string
from pathlib import Path

import pytest

from promptlab import reports
from promptlab.errors import UsageError
from promptlab.paths import languages
from promptlab.reports.sentences import Speech
from promptlab.reports.texts import catalogue
from tests.reports.test_codes import CODES, FREE

ROOT = Path(reports.__file__).parent
SEEDS = Path(__file__).parents[2] / "dbt_project" / "seeds" / "scoring"
SOURCES = [
    *ROOT.rglob("*.j2"),
    *ROOT.rglob("*.py"),
    *(Path(__file__).parents[2] / "promptlab").rglob("*.py"),
    *(Path(__file__).parents[2] / "dbt_project/models/intermediate/matching").glob(
        "*.sql"
    ),
]
TEXT = "\n".join(path.read_text("utf-8") for path in SOURCES)

# Groups that are looked up by a code.
GROUPS = set(re.findall(r"""label\((?:[^()"']+, )?["'](\w+)["']\)""", TEXT)) | set(
    re.findall(r"""\w+\.label\(["'](\w+)["']""", TEXT)
)
GROUPS |= set(re.findall(r"""["'](\w+)\.["'] ~""", TEXT))
GROUPS |= set(re.findall(r"""field_list\([\w.]+, ["'](\w+)["']\)""", TEXT))
GROUPS |= set(re.findall(r"""\bf["'](\w+)\.\{""", TEXT))
GROUPS |= set(re.findall(r"""\.label\(["'](\w+)["']""", TEXT))
GROUPS |= set(re.findall(r"""\bjoined\(\s*["'](\w+)["']""", TEXT))
GROUPS |= set(re.findall(r"""_GROUP = ["'](\w+)\.["']""", TEXT))
PREFIXES = tuple(
    re.findall(r"""["']([a-z]+\.\w+_)["'] ~""", TEXT)
    + re.findall(r"""\bf["']([a-z_]+\.\w+_)\{""", TEXT)
)


def placeholders(entry: str | dict[str, str]) -> set[str]:
    texts = entry.values() if isinstance(entry, dict) else [entry]
    return {
        name
        for text in texts
        for _, name, _, _ in string.Formatter().parse(text)
        if name is not None
    }


def test_both_languages_have_the_same_keys():
    keys = {lang: set(catalogue(lang).entries) for lang in languages()}
    assert keys["zh"] == keys["en"]


def test_both_languages_name_the_same_values():
    zh, en = catalogue("zh").entries, catalogue("en").entries
    assert [k for k in zh if placeholders(zh[k]) != placeholders(en[k])] == []


@pytest.mark.parametrize("lang", languages())
def test_every_text_is_filled_in_with_its_values_and_nothing_is_left(lang):
    texts = Speech.for_language(lang)
    for key, entry in catalogue(lang).entries.items():
        values = {name: f"<{name}>" for name in placeholders(entry)}
        for n in (1, 2) if "n" in values else (None,):
            text = texts.text(key, values | ({} if n is None else {"n": n}))
            assert text.strip() or key == "word.gap", key
            assert not set("{}") & set(text), (key, text)


def is_looked_up(group: str, code: str) -> bool:
    """By a code of the marts (`test_codes`), a name of a file, or one of ours."""
    if group in CODES or group in FREE:
        return True
    return group in GROUPS and any(f"{q}{code}{q}" in TEXT for q in "\"'")


def test_every_text_is_used():
    idle = [
        key
        for key in catalogue("zh").entries
        if f'"{key}"' not in TEXT
        and f"'{key}'" not in TEXT
        and not key.startswith(PREFIXES)
        and not is_looked_up(*key.split(".", 1))
    ]
    assert idle == [], "\n".join(idle)


def test_every_text_that_is_named_exists():
    named = set(re.findall(r"""\bt\(["']([\w./]+)["'][,)]""", TEXT))
    assert named <= set(catalogue("zh").entries)


def test_a_language_that_counts_picks_the_form_by_n():
    en = catalogue("en")
    assert en.text("count.cases", n=1) == "1 case"
    assert en.text("count.cases", n=1200) == "1,200 cases"


def test_braces_in_a_value_are_only_text():
    text = catalogue("zh").text("case.error", code="{0.__class__} {lang}")
    assert "{0.__class__} {lang}" in text


def test_every_default_dimension_is_named_as_the_marts_name_it():
    with (SEEDS / "promptlab_default_dimensions.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        stored = {
            f"default_dimension.{row['dimension_id']}": row["name"]
            for row in csv.DictReader(file)
        }
    ours = catalogue("zh").entries
    assert stored == {k: v for k, v in ours.items() if k.startswith("default_dim")}


def test_an_unknown_code_is_shown_as_it_stands():
    assert catalogue("en").label("reason", "brand_new") == "brand_new"


def test_an_unknown_language_is_refused():
    with pytest.raises(UsageError, match="'fr' is not one of en, zh"):
        catalogue("fr")
