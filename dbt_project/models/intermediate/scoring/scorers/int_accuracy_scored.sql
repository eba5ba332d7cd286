{{ config(materialized=view_of_step()) }}

-- One row per round and dimension with the scorer `accuracy`, but for JSON and meaning: how well the answer
-- matches the best golden answer.
with

dimensions as (
    select * from {{ ref('promptlab', 'int_dimensions_resolved') }}
    where scorer = 'accuracy' and problem is null and match_rule not in ('json', 'semantic')
),
rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),
golden_answers as (select * from {{ ref('promptlab', 'int_golden_answers') }}),

-- what can be done with a golden answer under a rule, once and not for every round
wanted as (

    select
        dimensions.task_id,
        dimensions.dimension_id,
        golden_answers.case_id,
        golden_answers.golden_answer,
        {{ stripped('golden_answers.golden_answer') }} as wanted_text,
        case
            when dimensions.match_rule = 'numeric' then {{ number_of_text('wanted_text') }}
        end as wanted_number,
        -- the spellings that ingest gave a pattern; both are null for an invalid one
        case
            when dimensions.match_rule = 'regex'
                then {{ json_member('golden_answers.patterns', 'wanted_text') }}
        end as spellings,
        case
            when dimensions.match_rule <> 'regex' then null
            when spellings is null then wanted_text
            else json_extract_string(spellings, '$.unicode')
        end as wanted_pattern,
        case
            when dimensions.match_rule <> 'regex' then null
            when spellings is null then wanted_text
            else json_extract_string(spellings, '$.ascii')
        end as wanted_ascii_pattern,
        case dimensions.match_rule
            when 'token_f1' then {{ tokens('golden_answers.golden_answer') }}
            when 'char_f1' then {{ character_tokens('golden_answers.golden_answer') }}
        end as wanted_tokens,
        case
            when dimensions.match_rule in ('contains', 'regex') and wanted_text = ''
                then 'blank_baseline'
            when
                dimensions.match_rule = 'regex'
                and {{ regex_found("''", 'wanted_pattern', 'wanted_ascii_pattern') }} is null
                then 'invalid_pattern'
            when dimensions.match_rule = 'numeric' and wanted_number is null
                then 'baseline_not_numeric'
        end as problem

    from dimensions
    inner join golden_answers using (task_id)

),

answers as (

    select
        dimensions.task_id,
        dimensions.dimension_id,
        dimensions.match_rule,
        dimensions.tolerance,
        rounds.case_id,
        rounds.round_id,
        rounds.is_error,
        {{ stripped('rounds.answer') }} as answer,
        case dimensions.match_rule
            when 'token_f1' then {{ tokens('rounds.answer') }}
            when 'char_f1' then {{ character_tokens('rounds.answer') }}
        end as answer_tokens

    from dimensions
    inner join rounds using (task_id)

),

compared as (

    select
        answers.task_id,
        answers.case_id,
        answers.round_id,
        answers.dimension_id,
        case
            when wanted.golden_answer is null then 'no_baseline'
            when wanted.problem is not null then wanted.problem
            when answers.is_error then 'error_round'
            when answers.answer is null then 'no_answer'
        end as reason,
        case answers.match_rule
            when 'exact' then answers.answer = wanted.wanted_text
            when 'contains' then contains(answers.answer, wanted.wanted_text)
            when 'regex' then {{ regex_found(
                'answers.answer', 'wanted.wanted_pattern', 'wanted.wanted_ascii_pattern'
            ) }}
            when 'numeric' then {{ within_tolerance(
                number_of_text('answers.answer'), 'wanted.wanted_number', 'answers.tolerance'
            ) }}
        end as is_match,
        case
            when reason = 'error_round' then 0.0
            when reason is not null then null
            when answers.match_rule in ('token_f1', 'char_f1')
                then {{ token_f1('answers.answer_tokens', 'wanted.wanted_tokens') }}
            when is_match then 1.0
            else 0.0
        end as metric

    from answers
    left join wanted using (task_id, case_id, dimension_id)

),

scored as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        max(metric) as metric,
        case
            when max(metric) is null then min(reason)
            when bool_or(reason = 'error_round') then 'error_round'
        end as reason,
        cast(null as string) as expected,
        cast(null as string) as actual,
        cast(null as json) as detail

    from compared
    group by task_id, case_id, round_id, dimension_id

)

select * from scored
