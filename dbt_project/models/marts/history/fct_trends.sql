{{ config(materialized='table') }}

-- One row per task (a variant in a run), measure and subject; the previous value is that of the last earlier
-- task of its title and variant that has the number.
with

tasks as (

    select
        *,
        row_number() over (
            partition by title, variant order by run_number, task_id
        ) as task_number

    from {{ ref('promptlab', 'dim_tasks') }}
    where recheck_of is null

),

of_tasks as (select * from {{ ref('promptlab', 'int_trends_of_tasks') }}),
of_tags as (select * from {{ ref('promptlab', 'int_trends_of_tags') }}),
dimension_scores as (select * from {{ ref('promptlab', 'fct_dimension_scores') }}),
measures as (select * from {{ ref('promptlab', 'promptlab_trend_measures') }}),

numbers as (

    select
        task_id,
        measure,
        cast(null as string) as subject,
        value,
        ci_low,
        ci_high,
        n

    from of_tasks

    union all

    select
        task_id,
        'dimension_score' as measure,
        dimension_id as subject,
        score as value,
        ci_low,
        ci_high,
        n_cases as n

    from dimension_scores

    union all

    select
        task_id,
        measure,
        tag as subject,
        value,
        ci_low,
        ci_high,
        n

    from of_tags

),

rounded as (

    select
        task_id,
        measure,
        subject,
        n,
        round(value, 6) as value,
        round(ci_low, 6) as ci_low,
        round(ci_high, 6) as ci_high

    from numbers
    where value is not null

),

final as (

    select

        ---------- ids
        tasks.task_id,
        tasks.testset_id,

        ---------- strings
        tasks.title,
        tasks.variant,
        tasks.prompt_version,
        tasks.model,
        rounded.measure,
        rounded.subject,
        measures.unit,

        ---------- numerics
        cast(tasks.task_number as bigint) as task_number,
        rounded.value,
        rounded.ci_low,
        rounded.ci_high,
        rounded.n,
        lag(rounded.value) over in_order as previous_value,
        round(rounded.value - lag(rounded.value) over in_order, 6) as change,

        ---------- timestamps
        tasks.created_at

    from rounded
    inner join tasks using (task_id)
    inner join measures using (measure)
    window in_order as (
        partition by tasks.title, tasks.variant, rounded.measure, rounded.subject
        order by tasks.task_number
    )

)

select * from final
