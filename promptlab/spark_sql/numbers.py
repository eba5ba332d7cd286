"""Numbers."""

from __future__ import annotations

from sqlglot import exp

from promptlab.spark_sql.lists import whole_numbers
from promptlab.spark_sql.rules import Rule, Sql, Untranslatable, fill

# Spark's round() rounds the shortest decimal text of the number, not its value.
ROUNDED = "(round(($number) * 1e$digits) / 1e$digits)"

# Whole numbers up to 20 by their factorials, others by Stirling's series: it is exact
# to 1e-14 from 8.5 upwards, so it is evaluated at the number plus 8.
LN_GAMMA = """transform(
    array(($number) + 8e0),
    w -> case
        when w <= 29 and w = floor(w) then ln(factorial(cast(w as int) - 9))
        else (w - 0.5e0) * ln(w) - w + 0.9189385332046727e0
        + (1 / 12e0 - (1 / 360e0 - (1 / 1260e0 - (1 / 1680e0 - (1 / 1188e0 - (
            691 / 360360e0 - 1 / 156e0 / (w * w)
        ) / (w * w)) / (w * w)) / (w * w)) / (w * w)) / (w * w)) / w
        - ln(
            (w - 1) * (w - 2) * (w - 3) * (w - 4) * (w - 5) * (w - 6) * (w - 7) * (w - 8)
        )
    end
)[0]"""

SUM_IN_ORDER = """case
    when count($column) filter (where $condition) > 0 then aggregate(
        array_sort(collect_list($column) filter (where $condition)),
        0e0, (total, k) -> total + k
    )
end"""

# Up to 18 digits as bigints; longer ones in groups of 14 digits, whose differences are
# added up from the left: exact as long as it matters.
INTEGERS_WITHIN = """case
    when length($actual) < 19 and length($expected) < 19
        then abs(try_cast($actual as bigint) - try_cast($expected as bigint))
            <= floor($tolerance)
    else transform(
        array(struct(
            ceil(greatest(length($actual), length($expected)) / 14e0) as n_groups,
            case when left($actual, 1) = '-' then -1 else 1 end as actual_sign,
            case when left($expected, 1) = '-' then -1 else 1 end as expected_sign
        )),
        n -> abs(aggregate(
            sequence(0, cast(n.n_groups as int) - 1),
            0e0,
            (difference, group_no) -> difference * 1e14 + cast(
                n.actual_sign * cast(substr(
                    lpad(replace($actual, '-', ''), cast(n.n_groups as int) * 14, '0'),
                    group_no * 14 + 1, 14
                ) as bigint)
                - n.expected_sign * cast(substr(
                    lpad(replace($expected, '-', ''), cast(n.n_groups as int) * 14, '0'),
                    group_no * 14 + 1, 14
                ) as bigint) as double
            )
        )) <= floor($tolerance)
    )[0]
end"""


def rounded(number: str, digits: Sql) -> str:
    """Return a number with a fixed count of decimals.

    Raises:
        Untranslatable: the count is an expression.
    """
    if not isinstance(digits.node, exp.Literal):
        raise Untranslatable(f"round(…, {digits})")
    return fill(ROUNDED, number=number, digits=digits)


def sum_of_series(first: str, end: str, step: str, function: Sql) -> str:
    """Return the sum of a function of numbers, the last one excluded; 0 over none."""
    k, term = function.split(" -> ", 1)
    numbers = whole_numbers(first, end, step)
    return f"aggregate({numbers}, 0e0, (total, {k}) -> total + {term})"


RULES = [
    Rule("round($number, $digits)", rounded),
    Rule("round($number)", "round($number)"),
    Rule("lgamma($number)", LN_GAMMA),
    Rule("sum($column order by $column) filter (where $condition)", SUM_IN_ORDER),
    Rule("sum($column order by $column)", fill(SUM_IN_ORDER, condition="true")),
    Rule(
        "coalesce(list_sum(list_transform(range($first, $end, $step), $function)), 0)",
        sum_of_series,
    ),
    Rule(
        """case
            when $tolerance = 0
                then try_cast($actual as bignum) = try_cast($expected as bignum)
            when try_cast($actual as bignum) > try_cast($expected as bignum)
                then try_cast($actual as bignum) - try_cast($expected as bignum)
                    <= cast(floor($tolerance) as bignum)
            else try_cast($expected as bignum) - try_cast($actual as bignum)
                <= cast(floor($tolerance) as bignum)
        end""",
        INTEGERS_WITHIN,
    ),
]
