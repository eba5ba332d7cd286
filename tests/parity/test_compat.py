"""The result of each macro of `compat/`, computed by hand, on both engines."""

from __future__ import annotations

import re

import pytest

from promptlab.paths import dbt_project
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

# name, expression, what it gives as text; None is null
SCALARS: list[tuple[str, str, str | None]] = [
    ("kind of an object", "json_kind('doc')", "object"),
    ("kind of a list", "json_kind('items')", "array"),
    ("kind of nothing", 'json_kind("cast(null as string)")', None),
    ("text of a member", "json_text('doc', 'a')", "x"),
    ("text of a null", "json_text('doc', 'n')", None),
    ("text of a missing member", "json_text('doc', 'zz')", None),
    ("text with escapes", "json_text('quoted', 'q')", 'a "b" \\ c'),
    ("text with code points", "json_text('quoted', 'u')", "中/"),
    ("field as JSON", "json_field('doc', 'a')", '"x"'),
    ("field that is null", "json_field('doc', 'n')", None),
    ("member by a column's key", "json_member('doc', \"'k.ey'\")", '[1,{"b":2.5}]'),
    ("member that is null", "json_member('doc', \"'n'\")", "null"),
    ("member of a list", "json_member('items', \"'n'\")", None),
    ("value at a path", "json_value_at('doc', 'path')", "2.5"),
    ("no value at a path", "json_value_at('items', 'path')", None),
    ("a text without its quotes", "json_as_text(\"'\\\"x\\\"'\")", "x"),
    ("a number as text", "json_as_text(\"'2.5'\")", "2.5"),
    ("a null as text", "json_as_text(\"'null'\")", None),
    ("all digits of a number", "json_field('doc', 'big')", "12345678901234567890123"),
    ("a JSON text", "is_json_text(\"'[1, 2]'\")", "true"),
    ("no JSON text", "is_json_text(\"'[1, 2,]'\")", "false"),
    ("no number of JSON", "is_json_text(\"'{\\\"a\\\": -inf}'\")", "false"),
    ("words in a JSON text", "is_json_text(\"'\\\"nan, inf\\\"'\")", "true"),
    ("keys in their order", "list_as_text(json_object_keys('doc'))", "a n k.ey big"),
    ("elements of a list", "list_size(json_elements('items'))", "4"),
    ("elements as texts", "list_as_text(json_text_elements('texts'))", "b a b"),
    ("those that pass", "list_as_text(elements_where(json_text_elements('texts'), \"k <> 'a'\"))", "b b"),
    ("the last one", "list_element(json_text_elements('texts'), -1)", "b"),
    ("none at a place", "list_element(json_text_elements('texts'), 4)", None),
    ("how many pass", "count_where(json_text_elements('texts'), \"k = 'b'\")", "2"),
    ("none of no list", "count_where('cast(null as varchar[])', \"k = 'b'\")", None),
    ("different ones", "list_size('array_distinct(' ~ json_text_elements('texts') ~ ')')", "2"),
    ("shared ones", "list_size('array_intersect(' ~ json_text_elements('texts') ~ ', ' ~ list_of([\"'a'\"]) ~ ')')", "1"),
    ("elements with their numbers", "count_where(numbered_elements(json_text_elements('texts')), \"k in ('b' || chr(31) || '1', 'a' || chr(31) || '0')\")", "2"),
    ("how many different ones", "n_different(json_text_elements('texts'))", "2"),
    ("how many another has", "n_found(list_of([\"'a'\", \"'c'\"]), json_text_elements('texts'))", "1"),
    ("bags share", "multiset_overlap(json_text_elements('texts'), json_text_elements('texts'))", "3"),
    ("one text for one object", "canonical_json(\"'{\\\"b\\\": 1.0, \\\"a\\\": [2]}'\")", '{"a":[2],"b":1}'),
    ("one text for one number", "canonical_json(\"'[1e2, 100.0, 100000000000000000000, 1e20, 1e21, 0.5]'\")", "[100,100,100000000000000000000,100000000000000000000,1e21,0.5]"),
    ("no blanks", "without_blanks(\"'{ \\\"a\\\": [1, 2] }'\")", '{"a":[1,2]}'),
    ("an object of members", "json_object_of({'n': '1', 't': 'mixed'})", '{"n":1,"t":"Straße ΣΑΣ"}'),
    ("a text as JSON", "json_of_text('mixed')", '"Straße ΣΑΣ"'),
    ("a JSON string as text", "json_string(\"'\\\"x\\\"'\")", "x"),
    ("behind the last slash", "'split_part(uri, \\'/\\', -1)'", "c.json"),
    ("beyond ASCII", "is_ascii('mixed')", "false"),
    ("lower case", "lowered('mixed')", "straße σασ"),
    ("a pattern in a text", "regex_found('uri', \"'[ab]/c'\", \"'[ab]/c'\")", "true"),
    ("a pattern that nobody can run", "regex_found('uri', \"'('\", \"'('\")", None),
    ("pieces that a pattern finds", "list_as_text(pattern_pieces('uri', '[a-c]/'))", "a/ b/"),
    ("pieces between blanks", "list_as_text(pieces_between_blanks(\"'a b.c  d.'\", '.'))", "a b c d"),
    ("without what a pattern finds", "without_pattern('uri', '[/.]')", "abcjson"),
    ("same beginning", "common_prefix_length('uri', \"'a/x'\")", "2"),
    ("rounded", "rounded('1e0 / 3')", "0.333333"),
    ("ln 5!", "rounded(ln_factorial('5'), 9)", "4.787491743"),
    ("ln 1000!", "rounded(ln_factorial('1000'), 6)", "5912.128178"),
    ("sum of a series", "sum_of_series('1e0 / k', 1, 5)", "2.083333333333333"),
    ("integers of any length", "integers_within(\"'100000000000000000000000000000000000000001'\", \"'100000000000000000000000000000000000000000'\", '1')", "true"),
    ("a literal pattern in a text", "matches_pattern('uri', \"'[ab]/'\")", "true"),
    ("how many another lacks", "count_where(json_text_elements('texts'), 'not array_contains(' ~ list_of([\"'a'\"]) ~ ', k)')", "2"),
    ("a list of our own", "list_as_text(list_of([\"'x'\", \"'y'\"]))", "x y"),
    ("whole numbers", "list_size(whole_numbers('2', '5'))", "3"),
    ("an empty list of our own", "list_size(list_of([]))", "0"),
    ("member of an object", "json_object_member('doc', \"'a'\")", '"x"'),
    ("a document from its text", "as_json(\"'[1]'\")", "[1]"),
    ("one apart is not equal", "integers_within(\"'100000000000000000000000000000000000000001'\", \"'100000000000000000000000000000000000000000'\", '0')", "false"),
]  # fmt: skip

# over n, k, v of ROWS
ROWS = [(1, "a", 0.5), (2, "b", 1.5), (3, "b", 4.0), (4, "c", 10.0)]
AGGREGATES: list[tuple[str, str, str | None]] = [
    ("joined in an order", "joined('k', \"', '\", 'n')", "a, b, b, c"),
    ("joined, each once", "joined('k', \"'|'\", 'k', distinct=true)", "a|b|c"),
    ("a map", "json_map_of('k', 'n', 'n', \"n <> 3\")", '{"a":1,"b":2,"c":4}'),
    ("a list", "json_list_of('k', 'n', 'n > 1', 2)", '["b","b"]'),
    ("an empty list", "json_list_of('k', 'n', 'n > 9')", "[]"),
    ("a sum in order", "sum_in_order('v')", "16.0"),
    ("a sum of nothing", "sum_in_order('case when n > 9 then v end')", None),
    ("exact sum", "exact_sum('v')", "16.0"),
]

# a query of one column `item`, over the columns of GIVEN; its rows, in their order
LISTS: list[tuple[str, str, str]] = [
    ("elements as rows", "select {{ unnested(json_text_elements('texts')) }} as item from given", "a|b|b"),
    ("elements with their places",
     "select concat(cast(place as string), '=', cast(element as string)) as item from"
     " (select {{ unnested_with_places(json_elements('texts'), 'texts', 'element', 'place') }} from given) as placed",
     '0="b"|1="a"|2="b"'),
]  # fmt: skip

EXPRESSIONS = [*SCALARS, *AGGREGATES, *LISTS]

# what stands for statements, files and settings: the whole of a build is its test
NO_EXPRESSIONS = {
    "check_constraints",  # test_constraints.py
    "create_build_state",
    "limit_threads",
    "parquet_file",
    "parquet_folders",
    "replace_rows",
    "replace_view",
    "run_together",
    "text_lines",
    "view_of_step",
}


def test_every_macro_of_compat_is_worked_out_here() -> None:
    named = set(re.findall(r"\b\w+(?=\()", " ".join(e for _, e, _ in EXPRESSIONS)))
    dispatched = {
        name
        for file in (dbt_project() / "macros/compat").glob("*.sql")
        for name in re.findall(r"adapter\.dispatch\('(\w+)'\)", file.read_text("utf-8"))
    }
    assert dispatched - named == NO_EXPRESSIONS


def query() -> str:
    """One row, a column for each expression."""
    given = ", ".join(f"'{value}' as {name}" for name, value in GIVEN.items())
    rows = " union all ".join(
        f"select cast({n} as bigint) as n, '{k}' as k, cast({v} as double) as v"
        for n, k, v in ROWS
    )
    columns = [
        f"cast({{{{ {expression} }}}} as string) as c{place}"
        for place, (_, expression, _) in enumerate(SCALARS)
    ]
    columns += [
        f"(select cast({{{{ {expression} }}}} as string) from measured) as a{place}"
        for place, (_, expression, _) in enumerate(AGGREGATES)
    ]
    columns += [
        "(select cast({{ joined('item', \"'|'\", 'item') }} as string)"
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
def test_a_macro_gives_the_same_on_both_engines(
    answers: dict[str, str | None], name: str, expected: str | None
) -> None:
    assert answers[name] == expected
