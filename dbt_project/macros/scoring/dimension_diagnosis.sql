{#- What a dimension's score says, for people: the score and how sure it is, what is wrong
    and where, what is missing. Reads the columns of fct_dimension_scores' `judged`, and
    the reasons in words. -#}
{% macro dimension_diagnosis(language) -%}
    case
        when judged.score is null then {{ diagnosis_of_nothing(language) }}
        else
            {{ diagnosis_of_score(language) }}
            || {{ diagnosis_of_target(language) }}
            || {{ diagnosis_of_faults(language) }}
            || {{ diagnosis_of_gaps(language) }}
    end
{%- endmacro %}

{% macro diagnosis_of_nothing(language) -%}
    {{ filled({
        'zh': "'没有分数：{why}（{total} 轮中有 {n} 轮得到评分）。'",
        'en': "'No score: {why} ({n} of {total} rounds were scored).'",
    }[language], {
        'why': reason_in_words('unscored_reasons', language),
        'n': 'cast(judged.n_rounds as string)', 'total': 'cast(judged.n_task_rounds as string)',
    }) }}
{%- endmacro %}

{% macro diagnosis_of_score(language) -%}
    {%- set sentence = {
        'zh': "'得分 {score}（{sure}；{total} 个用例中 {n} 个有分数）。'",
        'en': "'Score {score} ({sure}; {n} of {total} cases scored).'",
    }[language] -%}
    {%- set interval = {
        'zh': "'95% 区间 {low}–{high}'", 'en': "'95% interval {low}–{high}'",
    }[language] -%}
    {{ filled(sentence, {
        'score': 'case when judged.min_score is null then ' ~ percent_text('judged.score')
            ~ ' else ' ~ percent_beside('judged.score', 'judged.min_score') ~ ' end',
        'sure': 'case when judged.ci_low is null then '
            ~ reason_in_words('ci_reasons', language)
            ~ ' else ' ~ filled(interval, {
                'low': percent_text('judged.ci_low'), 'high': percent_text('judged.ci_high'),
            }) ~ ' end',
        'n': 'cast(judged.n_cases as string)', 'total': 'cast(judged.n_task_cases as string)',
    }) }}
{%- endmacro %}

{% macro diagnosis_of_target(language) -%}
    {%- set sentences = {
        'zh': {'met': '达到目标 {limit}。', 'missed': '低于目标 {limit}。'},
        'en': {'met': ' It meets its target of {limit}.', 'missed': ' It is below its target of {limit}.'},
    }[language] -%}
    case
        when judged.min_score is null then ''
        else {{ filled(
            "case when judged.score >= judged.min_score then '" ~ sentences.met ~ "' else '"
            ~ sentences.missed ~ "' end",
            {'limit': percent_text('judged.min_score')}
        ) }}
    end
{%- endmacro %}

{#- Shares: which cases fall short. Measures: the numbers behind the score. -#}
{% macro diagnosis_of_faults(language) -%}
    {%- set sentences = {
        'zh': {
            'measure': '平均 {mean}，中位数 {median}，95 分位 {p95}；{total} 轮中有 {n} 轮超出目标。',
            'full': '有分数的用例都是满分。',
            'short': '{n} 个用例不是满分，最低的是 {cases}。',
        },
        'en': {
            'measure': ' Mean {mean}, median {median}, 95th percentile {p95}; {n} of {total} rounds are off target.',
            'full': ' Every scored case has full marks.',
            'short': ' Cases below full marks: {n}, the lowest: {cases}.',
        },
    }[language] -%}
    case
        when not judged.is_share then {{ filled("'" ~ sentences.measure ~ "'", {
            'mean': measure_text('judged.mean', 'judged.unit', language),
            'median': measure_text('judged.median', 'judged.unit', language),
            'p95': measure_text('judged.p95', 'judged.unit', language),
            'n': 'cast(judged.n_off_target as string)', 'total': 'cast(judged.n_rounds as string)',
        }) }}
        when judged.n_below_full is null then '{{ sentences.full }}'
        else {{ filled("'" ~ sentences.short ~ "'", {
            'n': 'cast(judged.n_below_full as string)',
            'cases': {'zh': 'judged.worst_cases', 'en': 'judged.worst_cases_en'}[language],
        }) }}
    end
{%- endmacro %}

{#- Rounds that ended in an error, and rounds without a score. -#}
{% macro diagnosis_of_gaps(language) -%}
    {%- set sentences = {
        'zh': {
            'errors': '{n} 轮出错，按 0 分计。',
            'gaps': '另有 {n} 轮没有分数：{why}。',
        },
        'en': {
            'errors': ' Rounds that ended in an error and score 0: {n}.',
            'gaps': ' Rounds without a score: {n}, since {why}.',
        },
    }[language] -%}
    case
        when judged.n_error_rounds = 0 then ''
        else {{ filled("'" ~ sentences.errors ~ "'", {
            'n': 'cast(judged.n_error_rounds as string)'
        }) }}
    end
    || case
        when judged.n_task_rounds = judged.n_rounds then ''
        else {{ filled("'" ~ sentences.gaps ~ "'", {
            'n': 'cast(judged.n_task_rounds - judged.n_rounds as string)',
            'why': reason_in_words('unscored_reasons', language),
        }) }}
    end
{%- endmacro %}

{#- The text of a joined row of score_reasons. -#}
{% macro reason_in_words(relation, language) -%}
    {{ relation }}.{{ {'zh': 'reason_text', 'en': 'reason_text_en'}[language] }}
{%- endmacro %}

{#- A case and its score, as lists name them. -#}
{% macro case_with_score(language) -%}
    case_id || {{ {'zh': "'（'", 'en': "' ('"}[language] }}
    || {{ percent_text('score') }} || {{ {'zh': "'）'", 'en': "')'"}[language] }}
{%- endmacro %}
