"""One copy of every model: what only one engine understands stays in its macros, what only
Spark understands in its folder.
"""

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


COMPAT = PROJECT / "macros" / "compat"
SPARK = PROJECT / "spark"
MACRO = re.compile(
    r"(?:^{#-((?:(?!#}).)*)-#}\n)?^{%-? macro (\w+)\((.*?)\) -?%}", re.S | re.M
)
# What dbt looks for by itself; their names are not ours to choose.
OF_DBT = {
    "create_csv_table",
    "create_view_as",
    "escape_single_quotes",
    "get_empty_schema_sql",
    "load_csv_rows",
    "partition_cols",
    "persist_constraints",
}
CALLED_BY_NAME = {
    "dbt_spark_get_incremental_sql",
    "dbt_spark_validate_get_incremental_strategy",
    "export_marts",
}


def macros(folder: Path) -> dict[str, tuple[str, str]]:
    """Name → arguments and comment of every macro in a folder."""
    return {
        name: (" ".join(arguments.split()), " ".join((comment or "").split()))
        for file in sorted(folder.rglob("*.sql"))
        for comment, name, arguments in MACRO.findall(file.read_text("utf-8"))
    }


def dispatched(folder: Path) -> set[str]:
    text = "\n".join(f.read_text("utf-8") for f in folder.rglob("*.sql"))
    return set(re.findall(r"adapter\.dispatch\('(\w+)'\)", text))


def of_engine(engine: str, folder: Path) -> set[str]:
    prefix = f"{engine}__"
    return {m.removeprefix(prefix) for m in macros(folder) if m.startswith(prefix)}


def test_every_macro_that_is_dispatched_stands_in_compat_and_has_both_spellings() -> (
    None
):
    names = dispatched(COMPAT)
    assert dispatched(PROJECT / "macros") == names
    assert names <= of_engine("default", COMPAT)
    assert names <= of_engine("spark", SPARK)


def test_whoever_works_on_duckdb_never_meets_spark() -> None:
    """Nor an engine's own macro outside of compat/."""
    for file in files():
        text = file.read_text("utf-8")
        assert not re.search(r"\b(?:spark|java|iceberg)", text, re.I), file
        if file.parent != COMPAT:
            assert not re.search(r"macro (?:default|duckdb)__|adapter=", text), file


def test_sparks_folder_holds_sparks_own_and_nothing_that_nobody_calls() -> None:
    text = "\n".join(f.read_text("utf-8") for f in SPARK.glob("*.sql"))
    expected = {
        f"spark__{name}" for name in dispatched(COMPAT) | OF_DBT
    } | CALLED_BY_NAME
    helpers = set(macros(SPARK)) - expected
    assert expected <= set(macros(SPARK))
    assert set(re.findall(r"\bspark__\w+(?=\()", text)) <= set(macros(SPARK))
    for name in helpers:
        assert name.startswith("spark__")
        assert len(re.findall(rf"\b{name}\(", text)) > 1, name


def test_no_macro_is_left_that_nobody_calls() -> None:
    calls = "\n".join(
        f.read_text("utf-8")
        for f in sorted(PROJECT.rglob("*"))
        if f.suffix in {".sql", ".yml"} and "target" not in f.parts
    )
    by_dbt = {"generate_schema_name", "get_incremental_replace_batch_sql"}
    by_dbt |= {"get_where_subquery", "process_schema_changes"}
    unused = [
        name
        for name in macros(PROJECT / "macros")
        if not name.startswith(("default__", "duckdb__"))
        and name not in by_dbt
        and len(re.findall(rf"(?<!__)\b{name}\(", calls)) < 2
    ]
    assert unused == []


def test_the_readme_of_spark_names_what_an_engine_must_provide(
    request: pytest.FixtureRequest,
) -> None:
    listed = macros(COMPAT)
    table = ["| macro | gives |", "| --- | --- |"]
    for name in sorted(dispatched(COMPAT)):
        arguments, comment = listed[name]
        assert comment, f"{name} has no comment"
        table.append(
            f"| `{name}({arguments})` | {comment.replace('|', chr(92) + '|')} |"
        )
    path = SPARK / "README.md"
    text = path.read_text("utf-8")
    expected = text.split("| macro |")[0] + "\n".join(table) + "\n"
    if request.config.getoption("--update-golden"):
        path.write_text(expected, "utf-8")
    else:
        assert text == expected, "`make golden` writes the table anew"
