-- One row per memory run, conversation (`task_id`), round, rule for failed calls, category and metric.
with

rounds as (select * from {{ ref('promptlab', 'int_memory_round_scores') }}),
tests as (select * from {{ ref('promptlab', 'stg_memory__tests') }} where {{ in_this_build('memory_runs') }}),
runs as (select * from {{ ref('promptlab', 'stg_memory__runs') }} where {{ in_this_build('memory_runs') }}),
categories as (select * from {{ ref('promptlab', 'promptlab_memory_categories') }}),

ruled as (

    select
        'as_zero' as failed_calls,
        rounds.*,
        rounds.n_questions as n_counted
    from rounds

    union all

    select
        'left_out' as failed_calls,
        rounds.*,
        rounds.n_questions - rounds.n_failed as n_counted
    from rounds

),

final as (

    select

        ---------- ids
        ruled.run_id,
        ruled.task_id,
        ruled.test_index,
        ruled.failed_calls,
        ruled.category,
        ruled.metric,

        ---------- numerics
        tests.dialogs_inserted_count,
        round(
            tests.dialogs_inserted_count / nullif(
                cast(coalesce(runs.total_dialogs, runs.total_messages) as double), 0
            ),
            6
        ) as share_inserted,
        ruled.n_counted as n_questions,
        ruled.n_failed,
        round(ruled.score_sum / nullif(ruled.n_counted, 0), 6) as score

    from ruled
    inner join tests using (run_id, task_id, test_index)
    inner join runs using (run_id, task_id)
    where
        ruled.category = 'all'
        or ruled.category in (select categories.category_group from categories)

)

select * from final
