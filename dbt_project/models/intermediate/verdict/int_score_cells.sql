-- the mean score of a case in a run of a variant's history, of titles without verdicts
with

series as (
    select * from {{ ref('promptlab', 'int_odds_series') }}
    where task_id is not null and history = 'base'
),
histories as (select * from {{ ref('promptlab', 'int_run_histories') }}),
variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
scored_rounds as (select * from {{ ref('promptlab', 'int_scored_rounds') }}),
yardsticks as (select * from {{ ref('promptlab', 'int_case_yardsticks') }}),
accepts as (select * from {{ ref('promptlab', 'stg_tasks__accepts') }}),

means as (

    select
        task_id,
        case_id,
        min(dimensions_hash) as dimensions_hash,
        {{ exact_mean('score') }} as score

    from scored_rounds
    group by task_id, case_id

),

counted as (

    select
        series.series_id,
        histories.place,
        means.task_id,
        means.case_id,
        means.score,
        concat_ws(' ', yardsticks.yardstick, means.dimensions_hash) as yardstick,
        first_value(concat_ws(' ', yardsticks.yardstick, means.dimensions_hash)) over (
            partition by series.series_id, means.case_id order by histories.place
        ) as own_yardstick

    from series
    inner join histories using (title, run_id, history)
    inner join variants
        on
            histories.title = variants.title
            and histories.counted_run_id = variants.run_id
            and series.variant = variants.variant
    inner join means on variants.task_id = means.task_id
    inner join yardsticks
        on means.task_id = yardsticks.task_id and means.case_id = yardsticks.case_id

),

accepted_cases as (

    select
        task_id,
        {{ unnested(json_text_elements('cases')) }} as case_id

    from accepts

),

starts as (

    select
        counted.series_id,
        counted.case_id,
        min(counted.place) as first_place

    from counted
    inner join accepted_cases using (task_id, case_id)
    group by counted.series_id, counted.case_id

),

cells as (

    select

        ---------- ids
        counted.series_id,
        counted.case_id,

        ---------- numerics
        counted.place,
        counted.score

    from counted
    left join starts using (series_id, case_id)
    where
        counted.yardstick = counted.own_yardstick
        and counted.place <= coalesce(starts.first_place, counted.place)

)

select * from cells
