{#- What one round shows as evidence. One `when` per scorer; reads the columns of
    fct_evidence's `cut`. A code here is a text of evidence_sentence in reports/texts. -#}
{% macro evidence_code() -%}
    case
        when error_code is not null then 'error'
        when scorer = 'accuracy' and match_rule <> 'semantic' then case
            when metric = 1 then 'accurate'
            when metric > 0 then 'partly_accurate'
            else 'inaccurate'
        end
        when scorer = 'expectations' then case when metric = 1 then 'matched' else 'unmatched' end
        when scorer = 'rules' then case when metric = 1 then 'rules_hold' else 'rules_broken' end
        when scorer = 'consistency' then case
            when metric = 1 then 'consistent' else 'inconsistent'
        end
        when scorer = 'stability' then 'stability'
        when scorer = 'format' then case
            when metric = 1 then 'well_formed'
            when expected is null or actual is null then 'no_output'
            else 'ill_formed'
        end
        when scorer = 'keywords' then case
            when highlight is not null then 'forbidden'
            when metric < 1 then 'keyword_missing'
            else 'keywords_found'
        end
        when scorer = 'error_rate' then 'no_error'
        when not is_share and upper_limit is null then 'measured'
        when not is_share then 'measured_within'
        when {{ json_text('detail', 'summary') }} is null then 'judged'
        else 'explained'
    end
{%- endmacro %}
