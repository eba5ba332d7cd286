with

rounds as (select * from {{ ref('int_memory_round_scores') }}),
tests as (select * from {{ ref('stg_memory__tests') }} where {{ in_this_build(column='run_id') }}),

-- Rounds ask the same questions again: no figure without the rounds it is made of.
viewed as (

    select
        'last_round' as view_name,
        cast(null as bigint) as view_test_index,
        rounds.*
    from rounds
    where rounds.is_last_round

    union all

    select
        'by_round' as view_name,
        rounds.test_index as view_test_index,
        rounds.*
    from rounds

    union all

    select
        'pooled' as view_name,
        cast(null as bigint) as view_test_index,
        rounds.*
    from rounds

),

by_task as (

    select
        run_id,
        view_name,
        view_test_index,
        category,
        metric,
        task_id,
        sum(n_questions) as n_asked,
        sum(n_failed) as n_failed,
        {{ exact_sum('score_sum') }} as score_sum

    from viewed
    group by run_id, view_name, view_test_index, category, metric, task_id

),

-- A failed call counts as 0 among all questions, or it is left out.
ruled as (

    select
        'as_zero' as failed_calls,
        by_task.*,
        by_task.n_asked as n_questions
    from by_task

    union all

    select
        'left_out' as failed_calls,
        by_task.*,
        by_task.n_asked - by_task.n_failed as n_questions
    from by_task

),

averaged as (

    select
        run_id,
        view_name,
        view_test_index,
        failed_calls,
        category,
        metric,
        cast(sum(n_questions) as bigint) as n_questions,
        cast(sum(n_failed) as bigint) as n_failed,
        count(*) filter (where n_questions > 0) as n_tasks,
        {{ rounded(exact_sum('score_sum') ~ ' / nullif(sum(n_questions), 0)') }} as micro,
        {{ rounded('avg(score_sum / nullif(n_questions, 0))') }} as macro

    from ruled
    group by run_id, view_name, view_test_index, failed_calls, category, metric

),

both_averages as (

    select
        'micro' as average,
        averaged.*,
        averaged.micro as score
    from averaged

    union all

    select
        'macro' as average,
        averaged.*,
        averaged.macro as score
    from averaged

),

dialogs as (

    select
        run_id,
        test_index,
        {{ rounded('avg(dialogs_inserted_count)', 2) }} as mean_dialogs_inserted

    from tests
    group by run_id, test_index

),

final as (

    select

        ---------- ids
        both_averages.run_id,
        both_averages.view_name as view,
        both_averages.view_test_index as test_index,
        both_averages.failed_calls,
        both_averages.category,
        both_averages.average,
        both_averages.metric,

        ---------- numerics
        both_averages.n_questions,
        both_averages.n_failed,
        both_averages.n_tasks,
        dialogs.mean_dialogs_inserted,
        both_averages.score,

        ---------- booleans
        both_averages.view_name = 'last_round'
        and both_averages.failed_calls = 'as_zero'
        and both_averages.average = 'micro' as is_headline

    from both_averages
    left join dialogs
        on
            both_averages.run_id = dialogs.run_id
            and both_averages.view_test_index = dialogs.test_index

)

select * from final
