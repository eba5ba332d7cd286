"""Every model is DuckDB SQL that the rules can put in Spark's words; what only Spark
understands stands in its folder.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from promptlab.build import plan
from promptlab.spark_sql import RULES, Untranslatable, to_spark
from promptlab.spark_sql.translation import rules_used
from tests.conftest import ROOT

PROJECT = ROOT / "dbt_project"


def files() -> list[Path]:
    return sorted([*PROJECT.glob("models/**/*.sql"), *PROJECT.glob("macros/**/*.sql")])


def test_every_model_and_every_test_can_be_put_in_the_words_of_spark() -> None:
    refused = {}
    for node in plan.load().nodes:
        if node.kind != "seed":
            try:
                to_spark(node.query)
            except Untranslatable as error:
                refused[node.name] = str(error)
    assert refused == {}


def test_no_rule_is_left_that_no_model_needs() -> None:
    used = {
        rule.duckdb
        for node in plan.load().nodes
        if node.kind != "seed"
        for rule in rules_used(node.query)
    }
    assert {rule.duckdb for rule in RULES} - used == set()


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("select epoch_ms(at) from t", "no rule for epoch_ms"),
        ("select round(a, b) from t", r"round\(…, b\)"),
        ("select regexp_matches(a, b) from t", "the pattern is an expression: b"),
        ("select json_extract_string(a, '$.b.c') from t", "no path to one member"),
        ("select string_agg(a, ',' order by b desc) from t", "a list in this order: b"),
        ("select string_agg(distinct a, ',' order by b) from t", "in another order"),
        (
            "select unnest(a), unnest(b) as b, unnest(c) as c from t",
            "the second is range",
        ),
        ("select from", "Expected"),
    ],
)
def test_what_has_no_rule_is_named(sql: str, reason: str) -> None:
    with pytest.raises(Untranslatable, match=reason):
        to_spark(sql)


@pytest.mark.parametrize(
    ("duckdb", "spark"),
    [
        ("select a::varchar as a from t", "SELECT CAST(a AS STRING) AS a FROM t"),
        (r"select 'a\b', 'it''s', '\d+'", r"""SELECT 'a\b', "it's", '\d+'"""),
        ("select max(a) from t group by all", "SELECT max(a) FROM t GROUP BY ALL"),
        ("select a from t order by a", "SELECT a FROM t ORDER BY a NULLS LAST"),
        ("select [1, 2]", "SELECT array(1, 2)"),
        ("select unnest(a) as b from t", "SELECT explode(a) AS b FROM t"),
        (
            "select unnest(a) as b, unnest(range(len(a))) as n from t",
            "SELECT posexplode(a) AS (n, b) FROM t",
        ),
        (
            "select list_filter(a, lambda k: k > 1) from t",
            "SELECT filter(a, k -> k > 1) FROM t",
        ),
        (
            "select len(json_keys(a)) from t",
            "SELECT array_size(json_object_keys(a)) FROM t",
        ),
        (
            "select count(*) filter (where a > 1) over (partition by b) from t",
            "SELECT count(CASE WHEN a > 1 THEN 1 END) OVER (PARTITION BY b) FROM t",
        ),
        (
            "select max(c) filter (where a) over () from t",
            "SELECT max(CASE WHEN a THEN c END) OVER () FROM t",
        ),
        ('select "a" from s."t" -- b', "SELECT `a` FROM s.`t`"),
    ],
)
def test_a_query_in_the_words_of_spark(duckdb: str, spark: str) -> None:
    assert to_spark(duckdb) == spark


def test_a_row_number_that_is_looked_at_becomes_a_query_of_its_own() -> None:
    sql = to_spark("select a from t qualify row_number() over (order by a) = 1")
    assert "QUALIFY" not in sql
    assert "FROM (SELECT" in sql


ENGINES = PROJECT / "macros" / "engines"
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


def test_every_macro_that_is_dispatched_stands_in_engines_and_has_both_spellings() -> (
    None
):
    names = dispatched(ENGINES)
    assert dispatched(PROJECT / "macros") == names
    assert names <= of_engine("default", ENGINES)
    assert names <= of_engine("spark", SPARK)


def test_whoever_works_on_duckdb_never_meets_spark() -> None:
    """Nor an engine's own macro outside of engines/."""
    for file in files():
        text = file.read_text("utf-8")
        assert not re.search(r"\b(?:spark|java|iceberg)", text, re.I), file
        if file.parent != ENGINES:
            assert not re.search(r"macro (?:default|duckdb)__|adapter=", text), file


def test_sparks_folder_holds_sparks_own_and_nothing_that_nobody_calls() -> None:
    text = "\n".join(f.read_text("utf-8") for f in SPARK.glob("*.sql"))
    expected = {
        f"spark__{name}" for name in dispatched(ENGINES) | OF_DBT
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
    counts = Counter(re.findall(r"\b(\w+)\(", calls))
    unused = [
        name
        for name in macros(PROJECT / "macros")
        if not name.startswith(("default__", "duckdb__"))
        and name not in by_dbt
        and counts[name] < 2
    ]
    assert unused == []
