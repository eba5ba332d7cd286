-- One row per answer of a memory run that Chinese metrics can score.
with

answers as (
    select * from {{ ref('promptlab', 'stg_memory__answers') }}
    where
        {{ in_this_build('memory_runs') }}
        and not is_failed
        and (is_chinese or reference_f1 is not null)
),
abstentions as (select * from {{ ref('promptlab', 'promptlab_memory_abstentions') }}),
settings as (
    select * from {{ ref('promptlab', 'stg_builds__settings') }}
    where setting = 'memory_abstention'
),

phrases as (

    select phrase from abstentions

    union

    select setting_name as phrase from settings

),

abstaining as (

    select
        answers.run_id,
        answers.task_id,
        answers.test_index,
        answers.question_index,
        bool_or(
            contains(lower(answers.predicted_answer), phrases.phrase)
        ) as is_abstention,
        bool_or(
            contains(lower(cast(answers.reference_texts as string)), phrases.phrase)
        ) as wants_abstention

    from answers
    cross join phrases
    group by answers.run_id, answers.task_id, answers.test_index, answers.question_index

),

-- Null where no rule is sure: a person or a judge has to say.
final as (

    select

        ---------- ids
        answers.run_id,
        answers.task_id,
        answers.test_index,
        answers.question_index,

        ---------- numerics
        case
            when answers.category = '5'
                then case when abstaining.is_abstention then 1e0 else 0e0 end
            when {{ stripped("coalesce(answers.predicted_answer, '')") }} = '' then 0e0
            else answers.reference_f1
        end as cmrc_f1,
        case
            when {{ stripped("coalesce(answers.predicted_answer, '')") }} = '' then 0e0
            when answers.category = '5' and abstaining.is_abstention then 1e0
            -- without a negation it is hardly an abstention in other words
            when answers.category = '5'
                then case
                    when
                        not bit_length(answers.predicted_answer) = 8 * length(answers.predicted_answer)
                        and not regexp_matches(answers.predicted_answer, '[不没沒未无無难難否非]')
                        then 0e0
                end
            when answers.is_same then 1e0
            when abstaining.is_abstention and abstaining.wants_abstention then 1e0
            when abstaining.is_abstention and answers.reference_f1 > 0 then null
            when abstaining.is_abstention or not answers.is_same then 0e0
        end as chinese_match

    from answers
    inner join abstaining using (run_id, task_id, test_index, question_index)
    where
        answers.category = '5'
        or answers.has_reference
        and (answers.reference_f1 is not null or answers.predicted_answer is null)

)

select * from final
