"""Lists; they live inside models only, marts hold JSON text."""

from __future__ import annotations

from sqlglot import exp

from promptlab.spark_sql.rules import Rule, Sql, Untranslatable, fill


def list_of(rest: Sql) -> str:
    """Return a list; an empty one is of texts."""
    return f"array({rest})" if rest else "cast(array() as array<string>)"


def function_of(function: Sql) -> str:
    """Return a lambda; places are counted from 0 here, from 1 in DuckDB."""
    node = function.node
    assert isinstance(node, exp.Lambda)
    if len(node.expressions) == 1:
        return function
    _, place = node.expressions
    arguments, body = function.split(" -> ", 1)
    return f"{arguments} -> transform(array({place} + 1), {place} -> {body})[0]"


def filtered(list: Sql, function: Sql) -> str:
    """Return the elements for which a function is true."""
    return f"filter({list}, {function_of(function)})"


def transformed(list: Sql, function: Sql) -> str:
    """Return the results of a function for each element."""
    return f"transform({list}, {function_of(function)})"


def whole_numbers(first: str, end: str, step: str = "1") -> str:
    """Return numbers without the last one; a sequence that is empty runs backwards."""
    return fill(
        """case
            when $first < $end
                then sequence(cast($first as bigint), cast($end as bigint) - 1, $step)
            else cast(array() as array<bigint>)
        end""",
        first=first,
        end=end,
        step=f"cast({step} as bigint)",
    )


def ordered(value: Sql, rest: Sql, condition: str = "true") -> str:
    """Return an aggregate: the values of the rows that meet a condition, in an order.

    Raises:
        Untranslatable: the order is a falling one, or nulls come first.
    """
    keys = []
    for number, (key, node) in enumerate(zip(rest.texts, rest.nodes, strict=True), 1):
        if node.args.get("desc") or node.args.get("nulls_first"):
            raise Untranslatable(f"a list in this order: {key}")
        keys.append(f"({key}) is null as no_key_{number}, {key} as key_{number}")
    columns = ", ".join([*keys, f"{value} as value"])
    return (
        f"array_sort(collect_list(struct({columns})) filter (where {condition})).value"
    )


def different(value: str, condition: str = "true") -> str:
    """Return an aggregate: each value once, in the order of the values."""
    return f"array_sort(collect_set({value}) filter (where {condition}))"


def different_in_order(value: Sql, rest: Sql, condition: str = "true") -> str:
    """Return each value once, if the requested order is that of the values.

    Raises:
        Untranslatable: it is another one.
    """
    if [node.this for node in rest.nodes] != value.nodes:
        raise Untranslatable(
            f"different values in another order than their own: {value}"
        )
    return different(value, condition)


# The list sorted once, then the places where its runs of equal elements start.
HISTOGRAM = """flatten(transform(
    array(array_sort($list)),
    sorted -> flatten(transform(
        array(filter(
            case
                when array_size(sorted) > 0 then sequence(0, array_size(sorted) - 1)
                else cast(array() as array<int>)
            end,
            place -> place = 0 or get(sorted, place) <> get(sorted, place - 1)
        )),
        starts -> transform(starts, (start, run_no) -> struct(
            get(sorted, start) as key,
            coalesce(get(starts, run_no + 1), array_size(sorted)) - start as value
        ))
    ))
))"""

RULES = [
    Rule("[$rest]", list_of),
    Rule("len($list)", "array_size($list)"),
    Rule("list_extract($list, $place)", "try_element_at($list, $place)"),
    Rule("array_to_string($list, $separator)", "array_join($list, $separator)"),
    Rule("list_filter($list, $function)", filtered),
    Rule("list_transform($list, $function)", transformed),
    Rule("list_position($list, $element)", "array_position($list, $element)"),
    Rule("list_contains($list, $element)", "array_contains($list, $element)"),
    Rule("list_slice($list, 1, $n)", "slice($list, 1, $n)"),
    Rule("map_entries(list_aggregate($list, 'histogram'))", HISTOGRAM),
    Rule("unnest($list)", "explode($list)"),
    Rule("range($end)", lambda end: whole_numbers("0", end)),
    Rule("range($first, $end)", whole_numbers),
    Rule("range($first, $end, $step)", whole_numbers),
    # a list is never null here
    Rule(
        "coalesce(list(distinct $value order by $rest) filter (where $condition), [])",
        different_in_order,
    ),
    Rule(
        "coalesce(list($value order by $rest) filter (where $condition), [])", ordered
    ),
]
