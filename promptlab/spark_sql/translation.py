"""Read DuckDB's SQL, apply the rules, write Spark's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.duckdb import DuckDBParser

from promptlab.spark_sql.rules import Rule, Sql, Untranslatable, quoted

COMMON = frozenset(
    [
        "abs",
        "array_agg",
        "array_contains",
        "array_distinct",
        "array_intersect",
        "atan",
        "avg",
        "bit_length",
        "bool_and",
        "bool_or",
        "chr",
        "coalesce",
        "concat_ws",
        "contains",
        "count",
        "covar_samp",
        "date_trunc",
        "dense_rank",
        "exp",
        "first_value",
        "flatten",
        "floor",
        "greatest",
        "instr",
        "json_array_length",
        "lag",
        "last_value",
        "lead",
        "least",
        "left",
        "length",
        "ln",
        "max",
        "max_by",
        "md5",
        "median",
        "min",
        "min_by",
        "ntile",
        "nullif",
        "percentile_cont",
        "pi",
        "power",
        "rank",
        "replace",
        "right",
        "row_number",
        "sign",
        "split_part",
        "sqrt",
        "stddev_pop",
        "stddev_samp",
        "substr",
        "sum",
        "translate",
        "trim",
        "var_pop",
        "var_samp",
        "posexplode",
    ]
)
"""Functions that mean the same for both engines, as the models use them."""

_PARSED = ("CAST", "TRY_CAST", "EXTRACT")


class _DuckDB(DuckDB):
    """DuckDB with every function by its own name.

    sqlglot knows what many functions mean and would write each in its own way; what no
    rule names is to stay as it is.
    """

    class Tokenizer(DuckDB.Tokenizer):
        # what dbt-spark puts around a name
        IDENTIFIERS: ClassVar[list[Any]] = ['"', "`"]

    class Parser(DuckDBParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: DuckDBParser.FUNCTION_PARSERS[name] for name in _PARSED
        }


class _Spark(Spark):
    """Spark with `escapedStringLiterals`, and the rules."""

    class Generator(SparkGenerator):
        TYPE_MAPPING: ClassVar[dict[Any, str]] = {
            **SparkGenerator.TYPE_MAPPING,
            exp.DType.JSON: "STRING",
            exp.DType.TIMESTAMPNTZ: "TIMESTAMP",
            exp.DType.UBIGINT: "DECIMAL(20, 0)",
            exp.DType.INT128: "DECIMAL(38, 0)",
        }

        def sql(
            self, expression: Any, key: str | None = None, comment: bool = True
        ) -> str:
            if key is None and isinstance(expression, exp.Expr):
                match = _rule_of(expression)
                if match:
                    rule, bindings = match
                    return rule.write(
                        {name: self._part(nodes) for name, nodes in bindings.items()}
                    )
            return super().sql(expression, key, comment)

        def _part(self, nodes: list[exp.Expr]) -> Sql:
            values = [
                node.this if isinstance(node, exp.Ordered) else node for node in nodes
            ]
            texts = [self.sql(node) for node in values]
            part = Sql(", ".join(texts))
            part.nodes, part.texts = nodes, texts
            return part

        def anonymous_sql(self, expression: exp.Anonymous) -> str:
            if expression.this.lower() not in COMMON:
                raise Untranslatable(f"no rule for {expression.this}(…)")
            return super().anonymous_sql(expression)

        def literal_sql(self, expression: exp.Literal) -> str:
            text = str(expression.this)
            return quoted(text) if expression.is_string else text


def to_spark(sql: str) -> str:
    """Return a query of DuckDB as one for Spark.

    Raises:
        Untranslatable: it cannot be read, or has something for which there is no rule.
    """
    try:
        [tree] = _DuckDB().parse(sql)
        assert tree is not None
        for select in tree.find_all(exp.Select):
            _number_elements(select)
        for window in tree.find_all(exp.Window):
            _without_filter(window)
        return _Spark().generate(
            tree,
            copy=False,
            comments=False,
            normalize_functions=False,
            unsupported_level=ErrorLevel.RAISE,
        )
    except SqlglotError as error:
        raise Untranslatable(str(error)) from error


def _without_filter(window: exp.Window) -> None:
    """Write `f(x) filter (where c) over …` as `f(case when c then x end) over …`."""
    filtered = window.this
    if isinstance(filtered, exp.Filter):
        call, condition = filtered.this, filtered.expression.this
        [value] = call.expressions
        if isinstance(value, exp.Star):
            value = exp.Literal.number(1)
        call.set("expressions", [exp.case().when(condition, value)])
        window.set("this", call)


def rules_used(sql: str) -> Iterator[Rule]:
    """Return the rules that apply to parts of a query."""
    [tree] = _DuckDB().parse(sql)
    assert tree is not None
    for node in tree.walk():
        match = _rule_of(node)
        if match:
            yield match[0]


def _number_elements(select: exp.Select) -> None:
    """Merge two columns into one: the elements of a list, and their places.

    DuckDB unnests both, `unnest(list), unnest(range(n))`; Spark has one function for it.
    """
    lists = [
        column
        for column in select.expressions
        if isinstance(column, exp.Alias) and _key(column.this)[1] == "unnest"
    ]
    if len(lists) < 2:
        return
    elements, places = lists
    [numbers] = places.this.expressions
    if _key(numbers)[1] != "range" or len(numbers.expressions) > 1:
        raise Untranslatable("of two lists that are unnested, the second is range(n)")
    names = [exp.to_identifier(column.alias) for column in (places, elements)]
    call = exp.Anonymous(this="posexplode", expressions=elements.this.expressions)
    elements.replace(exp.Aliases(this=call, expressions=names))
    places.pop()


# ---------- which rule applies


@cache
def _by_key() -> dict[tuple[type, str], list[tuple[Rule, exp.Expr]]]:
    """Return the rules by the first node of their expressions, the longest first."""
    from promptlab.spark_sql import RULES

    rules: dict[tuple[type, str], list[tuple[Rule, exp.Expr]]] = {}
    for rule in RULES:
        [query] = _DuckDB().parse(f"select {rule.duckdb}")
        assert isinstance(query, exp.Select)
        pattern = query.expressions[0]
        rules.setdefault(_key(pattern), []).append((rule, pattern))
    for of_key in rules.values():
        of_key.sort(key=lambda rule: -len(rule[0].duckdb))
    return rules


def _rule_of(node: exp.Expr) -> tuple[Rule, dict[str, list[exp.Expr]]] | None:
    for rule, pattern in _by_key().get(_key(node), ()):
        bindings: dict[str, list[exp.Expr]] = {}
        if _matches(pattern, node, bindings):
            return rule, bindings
    return None


def _key(node: exp.Expr) -> tuple[type, str]:
    name = node.this.lower() if isinstance(node, exp.Anonymous) else ""
    return type(node), name


def _matches(pattern: Any, node: Any, bindings: dict[str, list[exp.Expr]]) -> bool:
    if isinstance(pattern, exp.Placeholder | exp.Parameter):
        return bindings.setdefault(pattern.name, [node]) == [node]
    if isinstance(pattern, list):
        return isinstance(node, list) and _all_match(pattern, node, bindings)
    if isinstance(pattern, exp.Expr):
        if type(pattern) is not type(node):
            return False
        names = {k for k, v in (pattern.args | node.args).items() if k != "nulls_first"}
        return all(
            _matches(pattern.args.get(name), node.args.get(name), bindings)
            for name in names
        )
    if isinstance(pattern, str) and isinstance(node, str):
        return pattern.lower() == node.lower()
    return (pattern or None) == (node or None)


def _all_match(
    patterns: list[Any], nodes: list[Any], bindings: dict[str, list[exp.Expr]]
) -> bool:
    if patterns:
        last = patterns[-1]
        placeholder = last.this if isinstance(last, exp.Ordered) else last
        if (
            isinstance(placeholder, exp.Placeholder | exp.Parameter)
            and placeholder.name == "rest"
        ):
            first = len(patterns) - 1
            bindings["rest"] = nodes[first:]
            return len(nodes) >= first and _all_match(
                patterns[:-1], nodes[:first], bindings
            )
    return len(patterns) == len(nodes) and all(
        _matches(pattern, node, bindings)
        for pattern, node in zip(patterns, nodes, strict=True)
    )
