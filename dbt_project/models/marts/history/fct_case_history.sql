{{ config(materialized='view') }}

-- One row per task and case: its status, and its status when it was last judged with the same contents
-- and graded alike.
with

results as (select * from {{ ref('promptlab', 'int_case_results') }}),
contents as (select * from {{ ref('promptlab', 'int_case_contents') }}),
tasks as (select * from {{ ref('promptlab', 'dim_tasks') }} where recheck_of is null),
yardsticks as (select * from {{ ref('promptlab', 'int_task_contents') }}),

-- the same case asked and judged in the same way, from task to task
joined as (

    select
        results.task_id,
        results.case_id,
        tasks.title,
        tasks.variant,
        tasks.run_number,
        tasks.prompt_hash,
        tasks.prompt_version,
        tasks.model,
        md5(concat_ws(
            ' ', contents.contents_hash, contents.assertions_hash, yardsticks.yardstick_hash
        )) as contents_hash,
        results.status,
        results.status <> 'unevaluated' as is_judged,
        results.answered_status as status_of_answers,
        results.aggregated_score as score,
        tasks.created_at

    from results
    inner join tasks using (task_id)
    inner join contents using (task_id, case_id)
    left join yardsticks using (task_id)

),

-- a case whose other rounds pass keeps the status that it had before rounds in error
settled as (

    select
        *,
        coalesce(
            max_by(status_of_answers, case when status = status_of_answers then run_number end)
                over so_far,
            status_of_answers
        ) as answered_status

    from joined
    window so_far as (
        partition by title, variant, case_id, contents_hash, is_judged
        order by run_number, task_id rows between unbounded preceding and current row
    )

),

followed as (

    select
        *,
        lag(task_id) over in_order as previous_task_id,
        lag(status) over in_order as previous_status,
        lag(answered_status) over in_order as previous_answered_status

    from settled
    window in_order as (
        partition by title, variant, case_id, contents_hash, is_judged
        order by run_number, task_id
    )

),

final as (

    select

        ---------- ids
        task_id,
        case_id,
        case when is_judged then previous_task_id end as previous_task_id,
        contents_hash,
        prompt_hash,

        ---------- strings
        title,
        variant,
        prompt_version,
        model,
        status,
        answered_status,
        case when is_judged then previous_status end as previous_status,
        case when is_judged then previous_answered_status end as previous_answered_status,
        case
            when not is_judged then 'unevaluated'
            when previous_answered_status is null then 'first'
            when previous_answered_status = 'pass' and answered_status = 'pass' then 'still_passing'
            when previous_answered_status = 'pass' then 'newly_failing'
            when answered_status = 'pass' then 'newly_fixed'
            else 'still_failing'
        end as status_change,

        ---------- numerics
        run_number,
        score,

        ---------- timestamps
        created_at

    from followed

)

select * from final
