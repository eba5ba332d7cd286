"""Rules for text functions, DuckDB to Spark.

Patterns written in the models are translated here; those of users, at run time, in
`patterns.py`.
"""

from __future__ import annotations

import re

from promptlab.spark_sql.lists import different_in_order, ordered
from promptlab.spark_sql.rules import Rule, Sql, Untranslatable, literal, quoted

# Java writes a final Σ as ς, and İ as two characters.
LOWERED = "lower(translate($text, 'Σİ', 'σi'))"

# Add each power of two, the largest first, as long as the prefixes are equal.
COMMON_PREFIX_LENGTH = """aggregate(
    sequence(31, 0, -1),
    cast(case when $one is not null and $other is not null then 0 end as bigint),
    (n, power) -> case
        when n + shiftleft(1L, power) <= least(length($one), length($other))
            and left($one, cast(n + shiftleft(1L, power) as int))
            = left($other, cast(n + shiftleft(1L, power) as int))
            then n + shiftleft(1L, power)
        else n
    end
)"""


def joined(text: Sql, separator: str, rest: Sql, condition: str = "true") -> str:
    """Return the texts of rows in an order; null where there is none."""
    texts = ordered(text, rest, condition)
    count = f"count({text}) filter (where {condition})"
    return f"case when {count} > 0 then array_join({texts}, {separator}) end"


def joined_once(text: Sql, separator: str, rest: Sql) -> str:
    """Return each text once, in the order of the texts."""
    texts = different_in_order(text, rest)
    return f"case when count({text}) > 0 then array_join({texts}, {separator}) end"


def java_pattern(pattern: str) -> str:
    r"""Return a literal pattern for Java: names of scripts, and `$` before no line break.

    Raises:
        Untranslatable: it is an expression.
    """
    text = literal(pattern)
    if text is None:
        raise Untranslatable(f"the pattern is an expression: {pattern}")
    text = re.sub(r"\\p\{(Han|Hiragana|Katakana)\}", r"\\p{Is\1}", text)
    return quoted(re.sub(r"(?<!\\)\$\Z", r"\\z", text))


def replaced(text: str, pattern: str, replacement: str) -> str:
    """Return a text with all that a pattern finds replaced; Java's groups are `$1`."""
    groups = re.sub(r"\\(\d)", r"$\1", replacement)
    return f"regexp_replace({text}, {java_pattern(pattern)}, {groups})"


def split(text: str, separator: str) -> str:
    """Return the pieces of a text. Spark takes a pattern.

    Raises:
        Untranslatable: the separator is an expression.
    """
    between = literal(separator)
    if between is None:
        raise Untranslatable(f"a text is split at an expression: {separator}")
    return f"split({text}, {quoted(re.escape(between))})"


RULES = [
    Rule("lower($text)", LOWERED),
    Rule(
        """len(list_filter(
            range(1, least(length($one), length($other)) + 1),
            lambda n: left($one, n) = left($other, n)
        ))""",
        COMMON_PREFIX_LENGTH,
    ),
    Rule("string_agg(distinct $text, $separator order by $rest)", joined_once),
    Rule(
        "string_agg($text, $separator order by $rest) filter (where $condition)", joined
    ),
    Rule("string_agg($text, $separator order by $rest)", joined),
    Rule(
        "regexp_extract_all($text, $pattern)",
        lambda text, pattern: f"regexp_extract_all({text}, {java_pattern(pattern)}, 0)",
    ),
    Rule(
        "regexp_extract($text, $pattern, $group)",
        lambda text, pattern, group: (
            f"regexp_extract({text}, {java_pattern(pattern)}, {group})"
        ),
    ),
    Rule("regexp_replace($text, $pattern, $replacement, 'g')", replaced),
    Rule("concat($rest)", "concat_ws('', $rest)"),  # DuckDB's leaves nulls out
    Rule("string_split($text, $separator)", split),
]
