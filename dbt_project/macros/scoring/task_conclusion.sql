{#- A task in one line: the score and how sure it is, the grade, the cases, the weakest
    dimension. Reads the columns of fct_task_summaries' `joined`. -#}
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
    || '{{ words.end }}'
{%- endmacro %}
