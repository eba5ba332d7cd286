{#- Whether a text is JSON. -#}

{#- By the grammar: scalars become a letter, then the innermost lists and objects of letters
    do, as often as there are brackets. -#}
{% macro spark__is_json_text(text) -%}
    case
        when {{ text }} is null then null
        when not {{ text }} rlike '^\s*[-{\["0-9tfn]' or {{ text }} rlike '[\x00-\x08\x0b\x0c\x0e-\x1f]'
            then false
        else transform(
            array(regexp_replace(
                regexp_replace(
                    regexp_replace(
                        {{ text }},
                        '"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"',
                        chr(1)
                    ),
                    '-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null',
                    chr(2)
                ),
                '[ \t\r\n]', ''
            )),
            scalars -> aggregate(
                sequence(1, length(regexp_replace(scalars, '[^\[{]', '')) + 1),
                scalars,
                (rest, step) -> case
                    when length(rest) = 1 then rest
                    else regexp_replace(
                        rest,
                        '\[(?:[\x01\x02](?:,[\x01\x02])*+)?\]|\{(?:\x01:[\x01\x02](?:,\x01:[\x01\x02])*+)?\}',
                        chr(2)
                    )
                end
            ) in (chr(1), chr(2))
        )[0]
    end
{%- endmacro %}
