{#- A task in one line: the score and how sure it is, the grade, the cases, the weakest
    dimension, the alerts. Reads the columns of fct_task_summaries' `joined`. -#}
{% macro task_conclusion(language) -%}
    {%- set words = {
        'zh': {
            'score': '总分 {score}（{sure}，{n} 个用例，等级 {grade}）',
            'none': '没有总分：没有可以计分的维度',
            'interval': '95% 区间 {low}–{high}',
            'no_interval': '无区间',
            'mostly_unscored': '，多半权重没有分数',
            'capped': '，因严重告警封顶',
            'cases': '；{total} 个评估过的用例中有 {n} 个通过',
            'no_cases': '；没有用例得到评估',
            'unevaluated': '，另有 {n} 个未评估',
            'weakest': '；最弱的维度是“{name}”（{score}）',
            'critical': '；{n} 条严重告警',
            'major': '；{n} 条重要告警',
            'end': '。',
        },
        'en': {
            'score': 'Overall {score} ({sure}, cases: {n}, grade {grade})',
            'none': 'No overall score: no dimension could be scored',
            'interval': '95% interval {low}–{high}',
            'no_interval': 'no interval',
            'mostly_unscored': ', most of the weight is unscored',
            'capped': ', capped by a critical alert',
            'cases': '; {n} of {total} evaluated cases passed',
            'no_cases': '; no case was evaluated',
            'unevaluated': ', {n} more were not evaluated',
            'weakest': '; the weakest dimension is “{name}” ({score})',
            'critical': '; critical alerts: {n}',
            'major': '; major alerts: {n}',
            'end': '.',
        },
    }[language] -%}
    case
        when overall_score is null then '{{ words.none }}'
        else {{ filled("'" ~ words.score ~ "'", {
            'score': percent_text('overall_score'),
            'sure': "case when ci_low is null then '" ~ words.no_interval ~ "' else "
                ~ filled("'" ~ words.interval ~ "'", {
                    'low': percent_text('ci_low'), 'high': percent_text('ci_high'),
                }) ~ ' end',
            'n': 'cast(n_scored_cases as string)',
            'grade': 'grade',
        }) }}
    end
    || case
        when overall_score is not null and is_mostly_unscored then '{{ words.mostly_unscored }}'
        when is_capped then '{{ words.capped }}'
        else ''
    end
    || case
        when n_pass + n_fail + n_error = 0 then '{{ words.no_cases }}'
        else {{ filled("'" ~ words.cases ~ "'", {
            'n': 'cast(n_pass as string)',
            'total': 'cast(n_pass + n_fail + n_error as string)',
        }) }}
    end
    || case
        when n_unevaluated = 0 or n_pass + n_fail + n_error = 0 then ''
        else {{ filled("'" ~ words.unevaluated ~ "'", {'n': 'cast(n_unevaluated as string)'}) }}
    end
    || case
        when weakest_name is null then ''
        else {{ filled("'" ~ words.weakest ~ "'", {
            'score': percent_text('weakest_score'), 'name': 'weakest_name',
        }) }}
    end
    || case
        when n_critical > 0
            then {{ filled("'" ~ words.critical ~ "'", {'n': 'cast(n_critical as string)'}) }}
        else ''
    end
    || case
        when n_major > 0
            then {{ filled("'" ~ words.major ~ "'", {'n': 'cast(n_major as string)'}) }}
        else ''
    end
    || '{{ words.end }}'
{%- endmacro %}
