"""An example of each rule of `promptlab.spark_sql`, computed by hand, on both engines."""

from __future__ import annotations

import pytest

from promptlab.spark_sql import RULES
from promptlab.spark_sql.translation import rules_used
from tests.parity.conftest import KIND, Engines

# Columns that the expressions may name, as SQL literals that both engines read alike.
GIVEN = {
    "doc": r"""{"a": "x", "n": null, "k.ey": [1, {"b": 2.5}], "big": 12345678901234567890123}""",
    "items": r"""["p", "q", null, {"z": 1, "y": "中"}]""",
    "texts": r"""["b", "a", "b"]""",
    "path": '$."k.ey"[1]."b"',
    "quoted": r"""{"q": "a \"b\" \\ c", "u": "\u4e2d/"}""",
    "mixed": "Straße ΣΑΣ",
    "uri": "a/b/c.json",
}  # fmt: skip

# name, expression of DuckDB, what it gives as text; None is null
SCALARS: list[tuple[str, str, str | None]] = [
    ("kind of an object", "{{ json_kind('doc') }}", "object"),
    ("kind of a list", "{{ json_kind('items') }}", "array"),
    ("kind of nothing", "{{ json_kind('cast(null as string)') }}", None),
    ("text of a member", "json_extract_string(doc, '$.a')", "x"),
    ("text of a null", "json_extract_string(doc, '$.n')", None),
    ("text of a missing member", "json_extract_string(doc, '$.zz')", None),
    ("text with escapes", "json_extract_string(quoted, '$.q')", r'a "b" \ c'),
    ("text with code points", "json_extract_string(quoted, '$.u')", "中/"),
    ("field as JSON", "nullif(json_extract(doc, '$.a'), 'null')", '"x"'),
    ("field that is null", "nullif(json_extract(doc, '$.n'), 'null')", None),
    ("member by a column's key", r"""{{ json_member('doc', "'k.ey'") }}""", '[1,{"b":2.5}]'),
    ("member that is null", r"""{{ json_member('doc', "'n'") }}""", "null"),
    ("member of a list", r"""{{ json_member('items', "'n'") }}""", None),
    ("value at a path", "json_extract(doc, path)", "2.5"),
    ("no value at a path", "json_extract(items, path)", None),
    ("a text without its quotes", r"""{{ json_as_text("'\"x\"'") }}""", "x"),
    ("a number as text", r"""{{ json_as_text("'2.5'") }}""", "2.5"),
    ("a null as text", r"""{{ json_as_text("'null'") }}""", None),
    ("all digits of a number", "nullif(json_extract(doc, '$.big'), 'null')", "12345678901234567890123"),
    ("a JSON text", r"""{{ is_json_text("'[1, 2]'") }}""", "true"),
    ("no JSON text", r"""{{ is_json_text("'[1, 2,]'") }}""", "false"),
    ("no number of JSON", r"""{{ is_json_text("'{\"a\": -inf}'") }}""", "false"),
    ("words in a JSON text", r"""{{ is_json_text("'\"nan, inf\"'") }}""", "true"),
    ("keys in their order", "array_to_string(json_keys(doc), ' ')", "a n k.ey big"),
    ("elements of a list", "len(json_extract(items, '$[*]'))", "4"),
    ("elements as texts", "array_to_string(json_extract_string(texts, '$[*]'), ' ')", "b a b"),
    ("those that pass", "array_to_string(list_filter(json_extract_string(texts, '$[*]'), lambda k: k <> 'a'), ' ')", "b b"),
    ("the last one", "list_extract(json_extract_string(texts, '$[*]'), -1)", "b"),
    ("none at a place", "list_extract(json_extract_string(texts, '$[*]'), 4)", None),
    ("how many pass", "len(list_filter(json_extract_string(texts, '$[*]'), lambda k: k = 'b'))", "2"),
    ("none of no list", "len(list_filter(cast(null as varchar[]), lambda k: k = 'b'))", None),
    ("different ones", "len(array_distinct(json_extract_string(texts, '$[*]')))", "2"),
    ("shared ones", "len(array_intersect(json_extract_string(texts, '$[*]'), ['a']))", "1"),
    ("elements with their numbers", r"""len(list_filter({{ numbered_elements("json_extract_string(texts, '$[*]')") }}, lambda k: k in ('b' || chr(31) || '1', 'a' || chr(31) || '0')))""", "2"),
    ("how many different ones", r"""{{ n_different("json_extract_string(texts, '$[*]')") }}""", "2"),
    ("how many another has", r"""{{ n_found("['a', 'c']", "json_extract_string(texts, '$[*]')") }}""", "1"),
    ("bags share", r"""{{ multiset_overlap("json_extract_string(texts, '$[*]')", "json_extract_string(texts, '$[*]')") }}""", "3"),
    ("one text for one object", r"""{{ canonical_json("'{\"b\": 1.0, \"a\": [2]}'") }}""", '{"a":[2],"b":1}'),
    ("one text for one number", r"""{{ canonical_json("'[1e2, 100.0, 100000000000000000000, 1e20, 1e21, 0.5]'") }}""", "[100,100,100000000000000000000,100000000000000000000,1e21,0.5]"),
    ("no blanks", r"""{{ without_blanks("'{ \"a\": [1, 2] }'") }}""", '{"a":[1,2]}'),
    ("an object of members", "json_object('n', 1, 't', mixed)", '{"n":1,"t":"Straße ΣΑΣ"}'),
    ("a text as JSON", "to_json(mixed)", '"Straße ΣΑΣ"'),
    ("a JSON string as text", r"""'"x"' ->> '$'""", "x"),
    ("behind the last slash", "split_part(uri, '/', -1)", "c.json"),
    ("beyond ASCII", "bit_length(mixed) = 8 * length(mixed)", "false"),
    ("lower case", "lower(mixed)", "straße σασ"),
    ("a pattern in a text", r"""{{ regex_found('uri', "'[ab]/c'", "'[ab]/c'") }}""", "true"),
    ("a pattern that nobody can run", r"""{{ regex_found('uri', "'('", "'('") }}""", None),
    ("pieces that a pattern finds", "array_to_string(regexp_extract_all(uri, '[a-c]/'), ' ')", "a/ b/"),
    ("pieces between blanks", r"""array_to_string({{ pieces_between_blanks("'a b.c  d.'", '.') }}, ' ')""", "a b c d"),
    ("without what a pattern finds", "regexp_replace(uri, '[/.]', '', 'g')", "abcjson"),
    ("same beginning", r"""{{ common_prefix_length('uri', "'a/x'") }}""", "2"),
    ("rounded", "round(1e0 / 3, 6)", "0.333333"),
    ("ln 5!", "round(lgamma(5 + 1), 9)", "4.787491743"),
    ("ln 1000!", "round(lgamma(1000 + 1), 6)", "5912.128178"),
    ("sum of a series", "{{ sum_of_series('1e0 / k', 1, 5) }}", "2.083333333333333"),
    ("integers of any length", r"""{{ integers_within("'100000000000000000000000000000000000000001'", "'100000000000000000000000000000000000000000'", '1') }}""", "true"),
    ("a literal pattern in a text", "regexp_matches(uri, '[ab]/')", "true"),
    ("how many another lacks", "len(list_filter(json_extract_string(texts, '$[*]'), lambda k: not array_contains(['a'], k)))", "2"),
    ("a list of our own", "array_to_string(['x', 'y'], ' ')", "x y"),
    ("texts one after the other, without nulls", "concat('a', null, 'b')", "ab"),
    ("a part that a pattern finds", "regexp_extract(uri, '([a-c])/c', 1)", "b"),
    ("a whole number", "round(2.5e0)", "3.0"),
    ("whole numbers", "len(range(2, 5))", "3"),
    ("an empty list of our own", "len([])", "0"),
    ("member of an object", r"""{{ json_object_member('doc', "'a'") }}""", '"x"'),
    ("a document from its text", "cast('[1]' as json)", "[1]"),
    ("one apart is not equal", r"""{{ integers_within("'100000000000000000000000000000000000000001'", "'100000000000000000000000000000000000000000'", '0') }}""", "false"),
]  # fmt: skip

# over n, k, v of ROWS
ROWS = [(1, "a", 0.5), (2, "b", 1.5), (3, "b", 4.0), (4, "c", 10.0)]
AGGREGATES: list[tuple[str, str, str | None]] = [
    ("joined in an order", "string_agg(k, ', ' order by n)", "a, b, b, c"),
    ("joined, each once", "string_agg(distinct k, '|' order by k)", "a|b|c"),
    ("a map", "{{ json_map_of('k', 'n', 'n', 'n <> 3') }}", '{"a":1,"b":2,"c":4}'),
    ("a list", "{{ json_list_of('k', 'n', 'n > 1', 2) }}", '["b","b"]'),
    ("a list, each once", "{{ json_list_of('distinct k', 'k') }}", '["a","b","c"]'),
    ("an empty list", "{{ json_list_of('k', 'n', 'n > 9') }}", "[]"),
    ("a sum in order", "sum(v order by v)", "16.0"),
    ("a sum of nothing", "sum(case when n > 9 then v end order by case when n > 9 then v end)", None),
    ("exact sum", "{{ exact_sum('v') }}", "16.0"),
    ("a sum in order of some", "sum(v order by v) filter (where n > 2)", "14.0"),
]  # fmt: skip

# a query of one column `item`, over the columns of GIVEN; its rows, in their order
LISTS: list[tuple[str, str, str]] = [
    ("elements as rows", "select unnest(json_extract_string(texts, '$[*]')) as item from given", "a|b|b"),
    ("elements with their places",
     "select cast(place as string) || '=' || cast(element as string) as item from"
     " (select unnest(json_extract(texts, '$[*]')) as element,"
     " unnest(range(cast(json_array_length(texts) as bigint))) as place from given) as placed",
     '0="b"|1="a"|2="b"'),
]  # fmt: skip

EXPRESSIONS = [*SCALARS, *AGGREGATES, *LISTS]


def test_every_rule_is_worked_out_here(engines: Engines, first_load: object) -> None:
    compiled = engines.dbt("duckdb", "compile", "--inline", query())
    assert compiled.success, compiled.exception
    used = {
        rule.duckdb
        for rule in rules_used(compiled.result.results[0].node.compiled_code)
    }
    assert {rule.duckdb for rule in RULES} - used == set()


def query() -> str:
    """One row, a column for each expression."""
    given = ", ".join(f"'{value}' as {name}" for name, value in GIVEN.items())
    rows = " union all ".join(
        f"select cast({n} as bigint) as n, '{k}' as k, cast({v} as double) as v"
        for n, k, v in ROWS
    )
    columns = [
        f"cast({expression} as string) as c{place}"
        for place, (_, expression, _) in enumerate(SCALARS)
    ]
    columns += [
        f"(select cast({expression} as string) from measured) as a{place}"
        for place, (_, expression, _) in enumerate(AGGREGATES)
    ]
    columns += [
        "(select cast(string_agg(item, '|' order by item) as string)"
        f" from ({rows_of}) as listed) as l{place}"
        for place, (_, rows_of, _) in enumerate(LISTS)
    ]
    return (
        f"with given as (select {given}), measured as ({rows})"
        f" select {', '.join(columns)} from given"
    )


@pytest.fixture(
    scope="module", params=["spark"] if KIND == "quick" else ["duckdb", "spark"]
)
def answers(
    request: pytest.FixtureRequest, engines: Engines, first_load: object
) -> dict[str, str | None]:
    """Name → value on one engine, by one query through dbt."""
    shown = engines.dbt(request.param, "show", "--inline", query())
    assert shown.success, shown.exception
    [row] = shown.result.results[0].agate_table.rows
    names = [name for name, _, _ in EXPRESSIONS]
    return {
        name: None if value is None else str(value)
        for name, value in zip(names, row.values(), strict=True)
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [(name, expected) for name, _, expected in EXPRESSIONS],
    ids=[name for name, _, _ in EXPRESSIONS],
)
def test_an_expression_gives_the_same_on_both_engines(
    answers: dict[str, str | None], name: str, expected: str | None
) -> None:
    assert answers[name] == expected
