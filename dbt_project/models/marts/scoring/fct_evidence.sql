-- One row per task, dimension and rank: one of the worst rounds, and what was wrong with it.
with

picked as (select * from {{ ref('promptlab', 'int_evidence_rounds') }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
rounds as (select * from {{ ref('promptlab', 'fct_rounds') }} where {{ in_this_build() }}),
checks as (select * from {{ ref('promptlab', 'int_evidence_checks') }}),
expectations as (select * from {{ ref('promptlab', 'int_evidence_expected') }}),

gathered as (

    select
        picked.task_id,
        picked.dimension_id,
        picked.case_id,
        picked.round_id,
        picked.evidence_rank,
        picked.metric,
        picked.score,
        dimensions.scorer,
        dimensions.unit,
        dimensions.is_share,
        dimensions.match_rule,
        dimensions.upper_limit,
        rounds.answer,
        rounds.error_code,
        checks.n_evaluated,
        checks.n_matched,
        checks.failed_scope,
        checks.pointer,
        picked.detail,
        coalesce(picked.reason, checks.check_reason) as reason,
        case
            when dimensions.scorer = 'expectations' then checks.expected
            else expectations.expected
        end as expected,
        case
            when dimensions.scorer = 'expectations' then checks.actual
            when not dimensions.is_share then null
            when dimensions.scorer in ('format', 'error_rate') then picked.actual
            else left(rounds.answer, 500)
        end as actual,
        json_extract_string(picked.detail, '$.highlight') as highlight,
        case
            when dimensions.scorer = 'accuracy' and dimensions.match_rule = 'exact'
                then nullif({{ common_prefix_length(
                    'rounds.answer', 'expectations.expected'
                ) }}, 0)
        end as n_common

    from picked
    inner join dimensions using (task_id, dimension_id)
    inner join rounds using (task_id, case_id, round_id)
    left join checks using (task_id, dimension_id, case_id, round_id)
    left join expectations using (task_id, dimension_id, case_id, round_id)

),

-- the place to look at: a keyword that must not be there, the first character that differs;
-- the snippet is 200 characters, of which 40 are before it
located as (

    select
        *,
        case
            when highlight is not null then nullif(instr(answer, highlight), 0) - 1
            when metric < 1 and n_common < length(answer) then n_common
        end as place,
        case
            when highlight is not null then length(highlight)
            else length(answer) - n_common
        end as place_length,
        greatest(0, coalesce(place, 0) - 40) as snippet_start,
        substr(answer, cast(snippet_start as int) + 1, 200) as snippet,
        place - snippet_start as offset_start,
        least(place - snippet_start + place_length, length(snippet)) as offset_end

    from gathered

),

final as (

    select

        ---------- ids
        task_id,
        dimension_id,
        case_id,
        round_id,

        ---------- strings
        -- a code is a text of evidence_sentence in reports/texts
        case
            when error_code is not null then 'error'
            when scorer = 'accuracy' and match_rule <> 'semantic' and metric = 1 then 'accurate'
            when scorer = 'accuracy' and match_rule <> 'semantic' and metric > 0
                then 'partly_accurate'
            when scorer = 'accuracy' and match_rule <> 'semantic' then 'inaccurate'
            when scorer = 'expectations' and metric = 1 then 'matched'
            when scorer = 'expectations' then 'unmatched'
            when scorer = 'rules' and metric = 1 then 'rules_hold'
            when scorer = 'rules' then 'rules_broken'
            when scorer = 'consistency' and metric = 1 then 'consistent'
            when scorer = 'consistency' then 'inconsistent'
            when scorer = 'stability' then 'stability'
            when scorer = 'format' and metric = 1 then 'well_formed'
            when scorer = 'format' and (expected is null or actual is null) then 'no_output'
            when scorer = 'format' then 'ill_formed'
            when scorer = 'keywords' and highlight is not null then 'forbidden'
            when scorer = 'keywords' and metric < 1 then 'keyword_missing'
            when scorer = 'keywords' then 'keywords_found'
            when scorer = 'error_rate' then 'no_error'
            when not is_share and upper_limit is null then 'measured'
            when not is_share then 'measured_within'
            when json_extract_string(detail, '$.summary') is null then 'judged'
            else 'explained'
        end as code,

        ---------- numerics
        cast(evidence_rank as bigint) as evidence_rank,

        ---------- json
        json_object(
            'snippet', snippet,
            'expected', expected,
            'actual', actual,
            'reason', reason,
            'pointer', pointer,
            'offsets', cast(
                case
                    when place is null then '[]'
                    else '[[' || offset_start || ',' || offset_end || ']]'
                end as json
            ),
            'metric', metric,
            'score', score
        ) as payload,
        json_object(
            'unit', unit,
            'limit', upper_limit,
            'n', coalesce(
                n_matched, try_cast(json_extract_string(detail, '$.rounds_agreeing') as bigint)
            ),
            'n_total', coalesce(
                n_evaluated, try_cast(json_extract_string(detail, '$.rounds_compared') as bigint)
            ),
            'scope', failed_scope,
            'error_code', left(error_code, 200),
            'keyword', highlight,
            'summary', left(json_extract_string(detail, '$.summary'), 200)
        ) as facts

    from located

)

select * from final
