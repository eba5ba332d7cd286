{#- One failed or unjudged check in a sentence. -#}
{% macro check_sentence(language) -%}
    {%- set words = {
        'zh': {
            'root': '（整体）', 'colon': '：', 'expected': '期望 ', 'actual': '，实际 ',
            'missing_step': '没有该步骤的输出', 'missing_field': '缺少字段',
            'unexpected_field': '出现多余字段', 'invalid_pattern': '正则表达式无法执行，未评估',
        },
        'en': {
            'root': '(whole)', 'colon': ': ', 'expected': 'expected ', 'actual': ', got ',
            'missing_step': 'no output of this step', 'missing_field': 'field is missing',
            'unexpected_field': 'unexpected field', 'invalid_pattern': 'invalid pattern, not evaluated',
        },
    }[language] -%}
    case when pointer = '' then '{{ words.root }}' else pointer end || '{{ words.colon }}'
    || case reason
        when 'missing_step' then '{{ words.missing_step }}'
        when 'missing_field' then '{{ words.missing_field }}'
        when 'unexpected_field' then '{{ words.unexpected_field }}'
        when 'invalid_pattern' then '{{ words.invalid_pattern }}'
        else '{{ words.expected }}' || left(expected, 80)
            || '{{ words.actual }}' || left(coalesce(actual, 'null'), 80)
            || ' (' || reason || ')'
    end
{%- endmacro %}
