{{ config(materialized='incremental', unique_key='run_id', meta={'batch': 'memory_runs'}) }}

with

answers as (
    select * from {{ ref('promptlab', 'stg_memory__answers') }}
    where {{ in_this_build('memory_runs') }}
),
token_scores as (select * from {{ ref('promptlab', 'int_memory_token_scores') }}),
locomo_scores as (select * from {{ ref('promptlab', 'int_memory_locomo_scores') }}),
right_metrics as (
    select * from {{ ref('promptlab', 'int_memory_right_metrics') }}
    where {{ in_this_build('memory_runs') }}
),
abstentions as (select * from {{ ref('promptlab', 'promptlab_memory_abstentions') }}),
settings as (
    select * from {{ ref('promptlab', 'stg_builds__settings') }}
    where setting = 'memory_abstention'
),

last_rounds as (

    select
        run_id,
        task_id,
        max(test_index) as last_test_index

    from answers
    group by run_id, task_id

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
        bool_or(contains({{ lowered('answers.predicted_answer') }}, phrases.phrase))
            as is_abstention,
        bool_or(
            contains({{ lowered('cast(answers.reference_texts as string)') }}, phrases.phrase)
        ) as wants_abstention

    from answers
    inner join right_metrics using (run_id)
    cross join phrases
    where right_metrics.is_chinese
    group by answers.run_id, answers.task_id, answers.test_index, answers.question_index

),

-- Null where no rule is sure: a person or a judge has to say.
chinese_scores as (

    select
        answers.run_id,
        answers.task_id,
        answers.test_index,
        answers.question_index,
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
                    when not {{ matches_pattern('answers.predicted_answer', "'[不没沒未无無难難否非]'") }}
                        and {{ matches_pattern('answers.predicted_answer', "'\p{Han}'") }}
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
        not answers.is_failed
        and (answers.category = '5' or answers.has_reference and answers.reference_f1 is not null
             or answers.predicted_answer is null)

),

scored as (

    select
        answers.*,
        {% for metric in ['token_f1', 'exact_match', 'contains_reference', 'mem0_f1'] %}
            case when {{ fromjson(memory_metrics())[metric] }} then token_scores.{{ metric }} end
                as {{ metric }},
        {% endfor %}
        chinese_scores.cmrc_f1,
        chinese_scores.chinese_match,
        case
            when answers.is_failed then null
            -- the two phrases that LoCoMo's published score looks for
            when
                answers.category = '5'
                and (
                    contains(lower(answers.predicted_answer), 'no information available')
                    or contains(lower(answers.predicted_answer), 'not mentioned')
                )
                then 1e0
            when answers.category = '5' then 0e0
            -- An answer without stems scores 0, as in the published metric.
            when answers.has_reference then coalesce(locomo_scores.locomo_f1, 0.0)
        end as locomo_f1,
        right_metrics.right_metric,
        right_metrics.right_threshold,
        right_metrics.is_chinese as is_chinese_run,
        answers.test_index = last_rounds.last_test_index as is_last_round

    from answers
    inner join right_metrics using (run_id)
    inner join last_rounds using (run_id, task_id)
    left join token_scores using (run_id, task_id, test_index, question_index)
    left join locomo_scores using (run_id, task_id, test_index, question_index)
    left join chinese_scores using (run_id, task_id, test_index, question_index)

),

judged as (

    select
        *,
        {{ by_memory_metric('right_metric', '{metric}') }} as right_score

    from scored

),

final as (

    select

        ---------- ids
        load_id,
        run_id,
        task_id,
        case_id,
        test_index,
        question_index,
        question_key,

        ---------- strings
        category,
        question_text,
        predicted_answer,
        error,
        case
            when is_failed then 'error'
            when right_score is null then 'unevaluated'
            when right_score >= right_threshold then 'pass'
            else 'fail'
        end as status,

        ---------- numerics
        {% for metric in fromjson(memory_metrics()) %}
            {{ metric }},
        {% endfor %}
        right_score,

        ---------- booleans
        is_failed,
        has_reference,
        is_last_round,
        is_chinese_run,

        ---------- json
        reference_answer,
        evidence,
        extras

    from judged

)

select * from final
