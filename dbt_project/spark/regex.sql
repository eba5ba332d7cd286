{#- Patterns of users, which are RE2's. -#}

{#- Patterns are RE2's. A Java pattern that is at fault would end the query, and one that
    RE2 refuses may mean something there, so what stands unchecked in the data (patterns
    without a backslash) is checked here. -#}
{% macro spark__regex_found(text, pattern, ascii_pattern) -%}
    transform(
        array(case when {{ is_ascii(text) }} then {{ ascii_pattern }} else {{ pattern }} end),
        pattern -> case
            when contains(pattern, chr(92)) or {{ spark__is_re2_pattern('pattern') }}
                then {{ text }} rlike {{ spark__java_pattern('pattern') }}
        end
    )[0]
{%- endmacro %}

{#- Whether a pattern without a backslash is right. Its parts become letters: an atom a, a
    repetition *, and groups are replaced from the innermost one, once for each bracket. -#}
{% macro spark__is_re2_pattern(pattern) -%}
    case
        when not {{ pattern }} rlike '[\[\](){}*+?|]' then true
        else aggregate(
            sequence(1, length(regexp_replace({{ pattern }}, '[^(]', '')) + 1),
            array_join(transform(
                regexp_extract_all({{ pattern }}, '{{ spark__pattern_items() }}', 0),
                item -> case
                    when item in ('(', ')', '|') then item
                    when item = '[' then 'x'
                    when item rlike '^\(\?[a-zA-Z-]*\)$' then '|'
                    when left(item, 1) = '(' and length(item) > 1 then '('
                    when left(item, 1) = '[' then case
                        when {{ spark__is_wrong_class('item') }} then 'x' else 'a'
                    end
                    when item rlike '^([*+?]|[{].+)' then case
                        when {{ spark__is_wrong_count('item') }} then 'x' else '*'
                    end
                    else 'a'
                end
            ), ''),
            (skeleton, step) -> regexp_replace(skeleton, '\((?:a\*?|\|)*+\)', 'a'),
            skeleton -> skeleton rlike '^(?:a\*?|\|)*+$'
        )
    end
{%- endmacro %}

{#- One item of RE2's syntax after the other: what is quoted, escapes, classes, the openings
    of groups, repetitions, any character. -#}
{% macro spark__pattern_items() -%}
    (?s)\\Q.*?(?:\\E|\z)|\\x\{[0-9a-fA-F]+\}|\\[pP]\{\^?\w+\}|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\[pP]\{\^?\w+\}|\\.|[^\]\\])*+\]|\(\?P?<\w+>|\(\?[imsU]*(?:-[imsU]+)?[:)]|(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??|.
{%- endmacro %}

{#- A range from the end to the start, or a name that no POSIX class has. -#}
{% macro spark__is_wrong_class(item) -%}
    {{ item }} rlike '\[:(?!\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\])\^?\w*:\]'
    or exists(
        regexp_extract_all(substr({{ item }}, 2, length({{ item }}) - 2), '(?s)[^-]-[^\]]', 0),
        span -> ascii(span) > ascii(right(span, 1))
    )
{%- endmacro %}

{#- RE2 repeats up to 1000 times. -#}
{% macro spark__is_wrong_count(item) -%}
    {{ item }} rlike '^\{'
    and (
        cast(regexp_extract({{ item }}, '^\{([0-9]{1,9})', 1) as int) > 1000
        or coalesce(try_cast(regexp_extract({{ item }}, ',([0-9]+)', 1) as bigint), 0) > 1000
        or try_cast(regexp_extract({{ item }}, ',([0-9]+)', 1) as bigint)
        < cast(regexp_extract({{ item }}, '^\{([0-9]{1,9})', 1) as int)
    )
{%- endmacro %}

{#- The same pattern for Java: `.` and `$` as RE2 means them (d, and \z), (?i) for every
    letter (u), its names of scripts and POSIX classes, what Java alone sees as syntax. -#}
{% macro spark__java_pattern(pattern) -%}
    case
        when not {{ pattern }} rlike '[\[\\{$]|\(\?' then '(?du)' || {{ pattern }}
        else '(?du)' || array_join(transform(
            regexp_extract_all({{ pattern }}, '{{ spark__pattern_items() }}', 0),
            item -> case
                when item = '$' and not {{ pattern }} rlike '\(\?[isU]*m' then '\z'
                when item in ('{', '}', '[', ']') then chr(92) || item
                when left(item, 1) = '[' then {{ spark__java_class('item') }}
                when item rlike '^\(\?P?<' then '('
                when item rlike '^\(\?.*U' then replace(item, 'U', '')
                when item = '\b' then '{{ spark__ascii_boundary() }}'
                when item = '\B' then '(?!{{ spark__ascii_boundary() }})'
                when item = '\v' then '\x0b'
                when left(item, 2) in ('\p', '\P') then {{ spark__java_property('item') }}
                else item
            end
        ), '')
    end
{%- endmacro %}

{% macro spark__ascii_boundary() -%}
    (?-i:(?<=[0-9A-Za-z_])(?![0-9A-Za-z_])|(?<![0-9A-Za-z_])(?=[0-9A-Za-z_]))
{%- endmacro %}

{#- In a class Java knows `[` and `&&`, and its POSIX classes are properties. -#}
{% macro spark__java_class(item) -%}
    regexp_extract({{ item }}, '^\[\^?', 0) || array_join(transform(
        regexp_extract_all(
            regexp_replace(substr({{ item }}, 1, length({{ item }}) - 1), '^\[\^?', ''),
            '(?s)\[:\^?\w+:\]|\\[pP]\{\^?\w+\}|\\x\{[0-9a-fA-F]+\}|\\.|.',
            0
        ),
        part -> case
            when part in ('[', ']', '&') then chr(92) || part
            when left(part, 2) = '[:'
                then case part
                    when '[:word:]' then '0-9A-Za-z_'
                    when '[:^word:]' then '\W'
                    else {{ spark__java_posix('part') }}
                end
            when part = '\v' then '\x0b'
            when left(part, 2) in ('\p', '\P') then {{ spark__java_property('part') }}
            else part
        end
    ), '') || ']'
{%- endmacro %}

{#- [:^alpha:] as \P{Alpha}; the one name that has capitals within is XDigit. -#}
{% macro spark__java_posix(part) -%}
    case when left({{ part }}, 3) = '[:^' then '\P{' else '\p{' end
    || replace(
        replace(initcap(regexp_extract({{ part }}, '[a-z]+', 0)), 'Xdigit', 'XDigit'),
        'Ascii', 'ASCII'
    ) || '}'
{%- endmacro %}

{#- \p{Greek} as \p{IsGreek}, \p{^Lu} as \P{Lu}. -#}
{% macro spark__java_property(item) -%}
    case
        when {{ item }} rlike '^\\p\{\^|^\\P\{[^^]' then '\P'
        when {{ item }} rlike '^\\P\{\^|^\\p\{[^^]' then '\p'
        else {{ item }}
    end
    || case
        when {{ item }} rlike '\{\^?\w{1,2}\}'
            then '{' || regexp_extract({{ item }}, '\{\^?(\w+\})', 1)
        when contains({{ item }}, '{')
            then '{Is' || regexp_extract({{ item }}, '\{\^?(\w+\})', 1)
        else ''
    end
{%- endmacro %}
