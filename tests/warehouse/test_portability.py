"""One copy of every model: what only one engine understands stays in its macros."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

PROJECT = ROOT / "dbt_project"

# Spellings that another engine lacks, or reads otherwise without a word.
AVOIDED = {
    r"\bregexp_(?:matches|full_match|replace|extract_all)\(": "a macro of compat/",
    r"\bjson_(?:extract|extract_string|exists|type|keys|valid|object)\(":
        "a macro of compat/json.sql",
    r"->>?\s*'": "a macro of compat/json.sql",
    r"\bas json\)": "as_json",
    r"\bas varchar\b": "as string",
    r"\bas (?:hugeint|bignum)\)": "as decimal(38, 0)",
    r"\bas timestamptz\)": "a macro",
    r"\bquantile_cont\(": "percentile_cont(q) within group (order by x)",
    r"\bapprox_quantile\(": "percentile_cont",
    r"\b(?:list|array)_(?:extract|filter|transform|sum|sort|slice|aggregate|to_string)\(":
        "a macro of compat/lists.sql",
    r"\b(?:string_agg|list|group_concat)\(": "a macro of compat/aggregates.sql",
    r"\bunnest\(": "a macro of compat/lists.sql",
    r"\blambda\b": "a macro",
    r"\bstring_split\(|\bstrlen\(|\bprintf\(|\bstarts_with\(": "a macro of compat/text.sql",
    r"\blgamma\(|\bgamma\(": "ln_factorial",
    r"\bdate_diff\(|\bdatediff\(|\bepoch\w*\(|\bstrftime\(": "subtract dates",
    r"\bstruct_pack\(|\bgenerate_series\(|\brange\(": "a macro",
    r"\bqualify\b": "row_number in a CTE of its own",
    r"\basof\b|\bby name\b|\bexclude\b": "name the columns",
    r"::": "cast(x as type)",
    r"(?<![<>!=])~(?!=)": "regex_found",
    r"[a-z_)]\[\s*-?\d": "a macro: lists start at 0 or at 1",
}  # fmt: skip


def sql_of(text: str) -> str:
    """SQL that every engine gets: no comments, no Jinja, no engine's own macros."""
    text = re.sub(
        r"{%-?\s*macro (?:default|duckdb|spark)__.*?endmacro\s*-?%}",
        "",
        text,
        flags=re.S,
    )
    text = re.sub(r"{#.*?#}|{%.*?%}|{{.*?}}", " ", text, flags=re.S)
    text = re.sub(r"--[^\n]*", "", text)
    return re.sub(r"'[^']*'", "''", text)


def files() -> list[Path]:
    return sorted([*PROJECT.glob("models/**/*.sql"), *PROJECT.glob("macros/**/*.sql")])


@pytest.mark.parametrize("file", files(), ids=lambda f: str(f.relative_to(PROJECT)))
def test_only_spellings_that_every_engine_reads_alike(file: Path) -> None:
    sql = sql_of(file.read_text("utf-8")).lower()
    found = {
        match[0]: instead
        for pattern, instead in AVOIDED.items()
        for match in re.finditer(pattern, sql)
    }
    assert not found, f"use instead: {found}"


@pytest.mark.parametrize(
    ("sql", "is_portable"),
    [
        ("select string_agg(a, ',') from t", False),
        ("select a::int from t", False),
        ("select * exclude (a) from t", False),
        ("{% macro default__x() %}lgamma(1){% endmacro %}", True),
        ("{% macro x() %}lgamma(1){% endmacro %}", False),
        ("select 'a::b' as text -- string_agg(", True),
        ("select {{ as_json('x') }}, percentile_cont(0.5) within group (order by a)", True),
    ],
)  # fmt: skip
def test_the_list_finds_what_it_names(sql: str, is_portable: bool) -> None:
    text = sql_of(sql).lower()
    assert is_portable is not any(re.search(pattern, text) for pattern in AVOIDED)


def test_every_macro_of_one_engine_has_its_counterparts() -> None:
    """What is dispatched has a default; Spark's own belongs to a dispatched one, or is
    one that dbt dispatches.
    """
    text = "\n".join(f.read_text("utf-8") for f in PROJECT.glob("macros/**/*.sql"))
    dispatched = set(re.findall(r"adapter\.dispatch\('(\w+)'\)", text))
    defaults = set(re.findall(r"macro (?:default|duckdb)__(\w+)", text))
    assert dispatched <= defaults
