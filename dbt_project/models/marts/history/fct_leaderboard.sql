{{ config(materialized='table') }}

-- One row per title, testset, variant and prompt version: its newest task, ranked in its title and testset.
with

tasks as (select * from {{ ref('promptlab', 'dim_tasks') }} where recheck_of is null),
summaries as (select * from {{ ref('promptlab', 'fct_task_summaries') }}),
pass_rates as (select * from {{ ref('promptlab', 'int_trends_of_tasks') }} where measure = 'pass_rate'),

entries as (

    select
        tasks.*,
        summaries.overall_score,
        summaries.ci_low,
        summaries.ci_high,
        summaries.grade,
        summaries.n_cases,
        pass_rates.value as pass_rate,
        pass_rates.ci_low as pass_rate_low,
        pass_rates.ci_high as pass_rate_high,
        row_number() over in_entry as recency,
        row_number() over (
            partition by tasks.title, tasks.testset_id, tasks.variant
            order by tasks.run_number desc, tasks.task_id desc
        ) as recency_in_variant,
        count(*) over in_whole_entry as n_tasks,
        min(summaries.overall_score) over in_whole_entry as lowest_score,
        max(summaries.overall_score) over in_whole_entry as highest_score

    from tasks
    inner join summaries using (task_id)
    inner join pass_rates using (task_id)
    window
        in_entry as (
            partition by tasks.title, tasks.testset_id, tasks.variant, tasks.prompt_version
            order by tasks.run_number desc, tasks.task_id desc
        ),
        in_whole_entry as (
            partition by tasks.title, tasks.testset_id, tasks.variant, tasks.prompt_version
        )

),

ranked as (

    select
        *,
        rank() over (
            partition by title, testset_id, is_partial order by overall_score desc nulls last
        ) as score_rank,
        first_value(ci_low) over (
            partition by title, testset_id, is_partial
            order by
                overall_score desc nulls last, created_at desc nulls last, task_id desc
        ) as leader_ci_low

    from entries
    where recency = 1

),

final as (

    select

        ---------- ids
        testset_id,
        task_id,

        ---------- strings
        title,
        variant,
        model,
        prompt_version,
        grade,

        ---------- numerics
        -- a score over some of the rows does not compare with one over all
        cast(case when not is_partial then score_rank end as bigint) as score_rank,
        overall_score,
        ci_low,
        ci_high,
        round(pass_rate, 6) as pass_rate,
        round(pass_rate_low, 6) as pass_rate_low,
        round(pass_rate_high, 6) as pass_rate_high,
        n_cases,
        n_tasks,
        lowest_score,
        highest_score,

        ---------- booleans
        case when not is_partial then ci_high >= leader_ci_low end as overlaps_leader,
        is_partial,
        recency_in_variant = 1 as is_newest_of_variant,

        ---------- timestamps
        created_at

    from ranked

)

select * from final
