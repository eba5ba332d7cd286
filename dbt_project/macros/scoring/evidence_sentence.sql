{#- One round as evidence, in one line. One `when` per scorer; reads the columns of
    fct_evidence's `cut`. -#}
{% macro evidence_sentence(language) -%}
    {%- set words = {
        'zh': {
            'error': '该轮出错：{code}',
            'accurate': '与参考答案一致',
            'inaccurate': '与参考答案不符（{metric}）：期望“{expected}”，实际“{actual}”',
            'partly_accurate': '与参考答案部分吻合（{metric}）：期望“{expected}”，实际“{actual}”',
            'matched': '{n} 项期望全部匹配',
            'unmatched': '{total} 项期望中 {n} 项匹配；{scope} {pointer}：期望 {expected}，实际 {actual}（{reason}）',
            'rules_hold': '规则全部成立',
            'rules_broken': '违反规则：{expected}',
            'consistent': '与用例其他各轮一致',
            'inconsistent': '与其他 {total} 轮中的 {n} 轮一致（{metric}）；多数回答是“{expected}”',
            'stability': '该用例各轮得分的稳定度为 {metric}',
            'well_formed': '输出符合格式',
            'no_output': '没有可解析的输出',
            'ill_formed': '缺少必需字段或类型不符，要求 {expected}',
            'forbidden': '出现了禁用词“{keyword}”',
            'keyword_missing': '缺少关键词“{expected}”（{metric}）',
            'keywords_found': '关键词符合要求',
            'no_error': '该轮正常',
            'measured': '{metric}（上限 {limit}）',
            'judged': '评分 {metric}',
            'explained': '评分 {metric}：{summary}',
        },
        'en': {
            'error': 'The round ended in an error: {code}',
            'accurate': 'Matches the golden answer',
            'inaccurate': 'Differs from the golden answer ({metric}): expected “{expected}”, got “{actual}”',
            'partly_accurate': 'Partly matches the golden answer ({metric}): expected “{expected}”, got “{actual}”',
            'matched': 'All expectations match ({n})',
            'unmatched': '{n} of {total} expectations match; {scope} {pointer}: expected {expected}, got {actual} ({reason})',
            'rules_hold': 'All rules hold',
            'rules_broken': 'Broken rules: {expected}',
            'consistent': 'Agrees with the other rounds of the case',
            'inconsistent': 'Agrees with {n} of {total} other rounds ({metric}); the commonest answer is “{expected}”',
            'stability': 'The round scores of this case are {metric} stable',
            'well_formed': 'The output is well formed',
            'no_output': 'There is no parsed output',
            'ill_formed': 'A required key is missing or of another type, wanted {expected}',
            'forbidden': 'Contains the forbidden “{keyword}”',
            'keyword_missing': 'Lacks the keyword “{expected}” ({metric})',
            'keywords_found': 'The keywords are as wanted',
            'no_error': 'The round ended well',
            'measured': '{metric} (limit {limit})',
            'judged': 'Scored {metric}',
            'explained': 'Scored {metric}: {summary}',
        },
    }[language] -%}
    {%- set metric_text = percent_text('metric') -%}
    {%- set expected_text = shortened('expected', 80) -%}
    {%- set actual_text = shortened('actual', 80) -%}
    case
        when error_code is not null
            then {{ filled("'" ~ words.error ~ "'", {'code': shortened('error_code', 120)}) }}
        when scorer = 'accuracy' and match_rule <> 'semantic' then case
            when metric = 1 then '{{ words.accurate }}'
            else {{ filled(
                "case when metric > 0 then '" ~ words.partly_accurate ~ "' else '"
                ~ words.inaccurate ~ "' end", {
                'metric': metric_text, 'expected': expected_text, 'actual': actual_text,
            }) }}
        end
        when scorer = 'expectations' then case
            when metric = 1
                then {{ filled("'" ~ words.matched ~ "'", {'n': 'cast(n_matched as string)'}) }}
            else {{ filled("'" ~ words.unmatched ~ "'", {
                'n': 'cast(n_matched as string)', 'total': 'cast(n_evaluated as string)',
                'reason': 'reason', 'scope': 'failed_scope', 'pointer': 'pointer',
                'expected': expected_text, 'actual': actual_text,
            }) }}
        end
        when scorer = 'rules' then case
            when metric = 1 then '{{ words.rules_hold }}'
            else {{ filled("'" ~ words.rules_broken ~ "'", {'expected': shortened('expected', 160)}) }}
        end
        when scorer = 'consistency' then case
            when metric = 1 then '{{ words.consistent }}'
            else {{ filled("'" ~ words.inconsistent ~ "'", {
                'n': json_text('detail', 'rounds_agreeing'),
                'total': json_text('detail', 'rounds_compared'),
                'metric': metric_text, 'expected': expected_text,
            }) }}
        end
        when scorer = 'stability'
            then {{ filled("'" ~ words.stability ~ "'", {'metric': metric_text}) }}
        when scorer = 'format' then case
            when metric = 1 then '{{ words.well_formed }}'
            when expected is null or actual is null then '{{ words.no_output }}'
            else {{ filled("'" ~ words.ill_formed ~ "'", {'expected': expected_text}) }}
        end
        when scorer = 'keywords' then case
            when highlight is not null
                then {{ filled("'" ~ words.forbidden ~ "'", {'keyword': 'highlight'}) }}
            when metric < 1 then {{ filled("'" ~ words.keyword_missing ~ "'", {
                'metric': metric_text, 'expected': expected_text,
            }) }}
            else '{{ words.keywords_found }}'
        end
        when scorer = 'error_rate' then '{{ words.no_error }}'
        when not is_share and upper_limit is null then {{ measure_text('metric', 'unit', language) }}
        when not is_share then {{ filled("'" ~ words.measured ~ "'", {
            'metric': measure_text('metric', 'unit', language),
            'limit': measure_text('upper_limit', 'unit', language),
        }) }}
        when {{ json_text('detail', 'summary') }} is null
            then {{ filled("'" ~ words.judged ~ "'", {'metric': metric_text}) }}
        else {{ filled("'" ~ words.explained ~ "'", {
            'metric': metric_text, 'summary': shortened(json_text('detail', 'summary'), 160),
        }) }}
    end
{%- endmacro %}
