"""Patterns of users, which are RE2's."""

from __future__ import annotations

from promptlab.spark_sql.rules import Rule, fill
from promptlab.spark_sql.text import java_pattern

# One item of RE2's syntax after the other: what is quoted, escapes, classes, the
# openings of groups, repetitions, any character.
PATTERN_ITEMS = r"""(?s)\\Q.*?(?:\\E|\z)|\\x\{[0-9a-fA-F]+\}|\\[pP]\{\^?\w+\}|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\[pP]\{\^?\w+\}|\\.|[^\]\\])*+\]|\(\?P?<\w+>|\(\?[imsU]*(?:-[imsU]+)?[:)]|(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??|."""

# `\b` between ASCII characters.
ASCII_BOUNDARY = (
    r"""(?-i:(?<=[0-9A-Za-z_])(?![0-9A-Za-z_])|(?<![0-9A-Za-z_])(?=[0-9A-Za-z_]))"""
)

# \p{Greek} as \p{IsGreek}, \p{^Lu} as \P{Lu}.
JAVA_PROPERTY = r"""case
    when $item rlike '^\\p\{\^|^\\P\{[^^]' then '\P'
    when $item rlike '^\\P\{\^|^\\p\{[^^]' then '\p'
    else $item
end
|| case
    when $item rlike '\{\^?\w{1,2}\}'
        then '{' || regexp_extract($item, '\{\^?(\w+\})', 1)
    when contains($item, '{')
        then '{Is' || regexp_extract($item, '\{\^?(\w+\})', 1)
    else ''
end"""

# [:^alpha:] as \P{Alpha}; the one name that has capitals within is XDigit.
JAVA_POSIX = r"""case when left($part, 3) = '[:^' then '\P{' else '\p{' end
|| replace(
    replace(initcap(regexp_extract($part, '[a-z]+', 0)), 'Xdigit', 'XDigit'),
    'Ascii', 'ASCII'
) || '}'"""

# In a class Java knows `[` and `&&`, and its POSIX classes are properties.
JAVA_CLASS = fill(
    r"""regexp_extract($item, '^\[\^?', 0) || array_join(transform(
    regexp_extract_all(
        regexp_replace(substr($item, 1, length($item) - 1), '^\[\^?', ''),
        '(?s)\[:\^?\w+:\]|\\[pP]\{\^?\w+\}|\\x\{[0-9a-fA-F]+\}|\\.|.',
        0
    ),
    part -> case
        when part in ('[', ']', '&') then chr(92) || part
        when left(part, 2) = '[:'
            then case part
                when '[:word:]' then '0-9A-Za-z_'
                when '[:^word:]' then '\W'
                else $java_posix
            end
        when part = '\v' then '\x0b'
        when left(part, 2) in ('\p', '\P') then $java_property
        else part
    end
), '') || ']'""",
    java_posix=fill(JAVA_POSIX, part="part"),
    java_property=fill(JAVA_PROPERTY, item="part"),
)

# The same pattern for Java: `.` and `$` as RE2 means them (d, and \z), (?i) for every
# letter (u), its names of scripts and POSIX classes, what Java alone sees as syntax.
JAVA_PATTERN = fill(
    r"""case
    when not $pattern rlike '[\[\\{$]|\(\?' then '(?du)' || $pattern
    else '(?du)' || array_join(transform(
        regexp_extract_all($pattern, '$pattern_items', 0),
        item -> case
            when item = '$' and not $pattern rlike '\(\?[isU]*m' then '\z'
            when item in ('{', '}', '[', ']') then chr(92) || item
            when left(item, 1) = '[' then $java_class
            when item rlike '^\(\?P?<' then '('
            when item rlike '^\(\?.*U' then replace(item, 'U', '')
            when item = '\b' then '$ascii_boundary'
            when item = '\B' then '(?!$ascii_boundary)'
            when item = '\v' then '\x0b'
            when left(item, 2) in ('\p', '\P') then $java_property
            else item
        end
    ), '')
end""",
    ascii_boundary=ASCII_BOUNDARY,
    pattern_items=PATTERN_ITEMS,
    java_class=fill(JAVA_CLASS, item="item"),
    java_property=fill(JAVA_PROPERTY, item="item"),
)

# A range from the end to the start, or a name that no POSIX class has.
IS_WRONG_CLASS = r"""$item rlike '\[:(?!\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\])\^?\w*:\]'
or exists(
    regexp_extract_all(substr($item, 2, length($item) - 2), '(?s)[^-]-[^\]]', 0),
    span -> ascii(span) > ascii(right(span, 1))
)"""

# RE2 repeats up to 1000 times.
IS_WRONG_COUNT = r"""$item rlike '^\{'
and (
    cast(regexp_extract($item, '^\{([0-9]{1,9})', 1) as int) > 1000
    or coalesce(try_cast(regexp_extract($item, ',([0-9]+)', 1) as bigint), 0) > 1000
    or try_cast(regexp_extract($item, ',([0-9]+)', 1) as bigint)
    < cast(regexp_extract($item, '^\{([0-9]{1,9})', 1) as int)
)"""

# Whether a pattern without a backslash is right. Its parts become letters: an atom a, a
# repetition *, and groups are replaced from the innermost one, once for each bracket.
IS_RE2_PATTERN = fill(
    r"""case
    when not $pattern rlike '[\[\](){}*+?|]' then true
    else aggregate(
        sequence(1, length(regexp_replace($pattern, '[^(]', '')) + 1),
        array_join(transform(
            regexp_extract_all($pattern, '$pattern_items', 0),
            item -> case
                when item in ('(', ')', '|') then item
                when item = '[' then 'x'
                when item rlike '^\(\?[a-zA-Z-]*\)$' then '|'
                when left(item, 1) = '(' and length(item) > 1 then '('
                when left(item, 1) = '[' then case
                    when $is_wrong_class then 'x' else 'a'
                end
                when item rlike '^([*+?]|[{].+)' then case
                    when $is_wrong_count then 'x' else '*'
                end
                else 'a'
            end
        ), ''),
        (skeleton, step) -> regexp_replace(skeleton, '\((?:a\*?|\|)*+\)', 'a'),
        skeleton -> skeleton rlike '^(?:a\*?|\|)*+$'
    )
end""",
    pattern_items=PATTERN_ITEMS,
    is_wrong_class=fill(IS_WRONG_CLASS, item="item"),
    is_wrong_count=fill(IS_WRONG_COUNT, item="item"),
)

# Patterns are RE2's. An invalid pattern would end the query in Java, and Java accepts
# some that RE2 rejects, so the unchecked patterns in the data (those without a
# backslash) are checked here.
REGEX_FOUND = fill(
    r"""transform(
    array(case when bit_length($text) = 8 * length($text) then $ascii_pattern else $pattern end),
    pattern -> case
        when contains(pattern, chr(92)) or $is_re2_pattern
            then $text rlike $java_pattern
    end
)[0]""",
    is_re2_pattern=fill(IS_RE2_PATTERN, pattern="pattern"),
    java_pattern=fill(JAVA_PATTERN, pattern="pattern"),
)

RULES = [
    Rule(
        """try(regexp_matches(
            $text,
            case
                when bit_length($text) = 8 * length($text) then $ascii_pattern
                else $pattern
            end
        ))""",
        REGEX_FOUND,
    ),
    Rule(
        "regexp_matches($text, $pattern)",
        lambda text, pattern: f"({text} rlike {java_pattern(pattern)})",
    ),
]
