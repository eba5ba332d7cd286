-- One row per answer that CMRC 2018's measures can score: its F1, and whether the answer is right (null: no rule
-- is sure, a judge has to say). Answers to Chinese questions or in mostly Chinese files; read for Chinese runs only.
with

answers as (
    select * from {{ ref('promptlab', 'stg_memory__answers') }}
    where {{ in_this_build('memory_runs') }}
),
abstentions as (select * from {{ ref('promptlab', 'promptlab_memory_abstentions') }}),
settings as (
    select * from {{ ref('promptlab', 'stg_builds__settings') }}
    where setting = 'memory_abstention'
),

-- ingest computes `reference_f1` in mostly Chinese files alone, and of answers that have a text
scorable as (

    select
        *,
        coalesce(category = '5', false) as is_unanswerable,
        {{ stripped("coalesce(predicted_answer, '')") }} = '' as is_empty,
        bit_length(predicted_answer) = 8 * length(predicted_answer) as is_ascii,
        regexp_matches(predicted_answer, '[不没沒未无無难難否非]') as has_negation

    from answers
    where
        not is_failed
        and (is_chinese_question or reference_f1 is not null)
        and (
            category = '5'
            or has_reference
            and (reference_f1 is not null or predicted_answer is null)
        )

),

phrases as (

    select phrase from abstentions

    union

    select setting_name as phrase  -- [memory] abstentions in promptlab.toml
    from settings

),

abstaining as (

    select
        scorable.run_id,
        scorable.task_id,
        scorable.test_index,
        scorable.question_index,
        bool_or(
            contains(lower(scorable.predicted_answer), phrases.phrase)
        ) as is_abstention,
        bool_or(
            contains(lower(cast(scorable.reference_texts as string)), phrases.phrase)
        ) as wants_abstention

    from scorable
    cross join phrases
    group by scorable.run_id, scorable.task_id, scorable.test_index, scorable.question_index

),

decided as (

    select

        ---------- ids
        scorable.run_id,
        scorable.task_id,
        scorable.test_index,
        scorable.question_index,

        ---------- numerics
        case
            when scorable.is_unanswerable
                then case when abstaining.is_abstention then 1e0 else 0e0 end
            when scorable.is_empty then 0e0
            else scorable.reference_f1
        end as cmrc_f1,
        case
            when scorable.is_empty then 0e0
            when scorable.is_unanswerable and abstaining.is_abstention then 1e0
            -- Chinese without a negation is no abstention; else a judge has to say
            when scorable.is_unanswerable and not scorable.is_ascii and not scorable.has_negation
                then 0e0
            when scorable.is_unanswerable then null
            when scorable.is_same then 1e0
            when abstaining.is_abstention and abstaining.wants_abstention then 1e0
            -- part of the reference, and an abstention: either may be meant
            when abstaining.is_abstention and scorable.reference_f1 > 0 then null
            when abstaining.is_abstention or not scorable.is_same then 0e0
        end as chinese_match

    from scorable
    inner join abstaining using (run_id, task_id, test_index, question_index)

)

select * from decided
