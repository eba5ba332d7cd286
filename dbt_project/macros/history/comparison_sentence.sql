{#- A difference of scores in percentage points with its sign; more digits where it would
    otherwise read as none. -#}
{% macro points_text(difference) -%}
    case when {{ difference }} > 0 then '+' else '' end
    || case
        when {{ difference }} <> 0 and abs({{ difference }}) < 0.0005
            then {{ fixed_decimals('100 * ' ~ difference, 4) }}
        else {{ fixed_decimals('100 * ' ~ difference, 1) }}
    end
{%- endmacro %}

{#- A comparison in one sentence: the verdict's template with the columns of
    int_comparisons_judged, its verdict and its reason filled in. What is paired are the
    `cases` of tasks, or the `questions` of memory runs (int_memory_comparisons_judged).
    Scores are 0 to 1, so a comparison that could only detect more than that detects
    nothing. -#}
{% macro comparison_sentence(language, of='cases') -%}
    {%- set words = {
        'zh': {
            'cases': {
                'name': '用例',
                'overall': "'总分'",
                'dimension': "'“' || judged.name || '”'",
                'tag': "'标签“' || judged.name || '”'",
            },
            'questions': {
                'name': '问题',
                'overall': "'全部问题（' || judged.metric_name || '）'",
                'category': "'类别“' || judged.category_name || '”（' || judged.metric_name || '）'",
            },
            'pairs': ' 对{name}',
            'interval': '95% 区间 {low} 至 {high}',
            'no_interval': '无区间',
            'p': 'p = {p}',
            'small_p': 'p < 0.001',
            'adjusted': '校正后 ',
            'unseen': '；小于 {detectable} 个百分点的差异，这样的对比多半看不出来',
            'blind': '；{name}这么少，任何差异都看不出来',
        },
        'en': {
            'cases': {
                'name': 'cases',
                'overall': "'The overall score'",
                'dimension': "'“' || judged.name || '”'",
                'tag': "'Tag “' || judged.name || '”'",
            },
            'questions': {
                'name': 'questions',
                'overall': "judged.metric_name_en || ' over all questions'",
                'category': "judged.metric_name_en || ' of “' || judged.category_name_en || '”'",
            },
            'pairs': ' paired {name}',
            'interval': '95% interval {low} to {high}',
            'no_interval': 'no interval',
            'p': 'p = {p}',
            'small_p': 'p < 0.001',
            'adjusted': 'adjusted ',
            'unseen': '; a comparison like this mostly misses differences below {detectable} points',
            'blind': '; with so few {name} no difference could be seen',
        },
    }[language] -%}
    {%- set name = words[of].name -%}
    {%- set subjects = [] -%}
    {%- for level, subject in words[of].items() if level != 'name' -%}
        {%- do subjects.append("when '" ~ level ~ "' then " ~ subject) -%}
    {%- endfor -%}
    {{ filled({'zh': 'verdicts.sentence', 'en': 'verdicts.sentence_en'}[language], {
        'pairs': "cast(judged.n_pairs as string) || '" ~ words.pairs.replace('{name}', name) ~ "'",
        'baseline': percent_text('judged.baseline_score'),
        'candidate': percent_text('judged.candidate_score'),
        'delta': points_text('judged.delta'),
        'margin': fixed_decimals('100 * judged.margin', 1),
        'interval': "case when judged.ci_low is null then '" ~ words.no_interval ~ "' else "
            ~ filled("'" ~ words.interval ~ "'", {
                'low': points_text('judged.ci_low'), 'high': points_text('judged.ci_high'),
            }) ~ ' end',
        'p': "case when judged.level = 'overall' then '' else '" ~ words.adjusted ~ "' end "
            ~ "|| case when judged.deciding_p < 0.001 then '" ~ words.small_p ~ "' else "
            ~ filled("'" ~ words.p ~ "'", {'p': fixed_decimals('judged.deciding_p', 3)})
            ~ ' end',
        'unseen': "case when judged.smallest_detectable is null then ''"
            ~ " when judged.smallest_detectable > 1 then '" ~ words.blind.replace('{name}', name)
            ~ "' else "
            ~ filled("'" ~ words.unseen ~ "'", {
                'detectable': fixed_decimals('100 * judged.smallest_detectable', 1),
            }) ~ ' end',
        'reason': {'zh': 'reasons.reason_text', 'en': 'reasons.reason_text_en'}[language],
        'subject': 'case judged.level ' ~ subjects | join(' ') ~ ' end',
    }) }}
{%- endmacro %}
