{{ config(materialized='table') }}

-- the rounds of a case in a run of a series' history; place 0 is the run itself
with

series as (select * from {{ ref('promptlab', 'int_odds_series') }}),
histories as (select * from {{ ref('promptlab', 'int_run_histories') }}),
variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
rechecks as (select * from {{ ref('promptlab', 'int_rechecks') }}),
case_rounds as (select * from {{ ref('promptlab', 'int_case_rounds') }} where n_rounds > 0),
yardsticks as (select * from {{ ref('promptlab', 'int_case_yardsticks') }}),
accepts as (select * from {{ ref('promptlab', 'stg_tasks__accepts') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

counted_tasks as (

    select
        series.series_id,
        histories.place,
        variants.task_id

    from series
    inner join histories using (title, run_id, history)
    inner join variants
        on
            histories.title = variants.title
            and histories.counted_run_id = variants.run_id
            and series.variant = variants.variant

),

-- the rounds of a re-check are rounds of the run that it repeats
counted_files as (

    select * from counted_tasks

    union all

    select
        counted_tasks.series_id,
        counted_tasks.place,
        rechecks.recheck_task_id as task_id

    from counted_tasks
    inner join rechecks using (task_id)

),

counted as (

    select
        counted_files.series_id,
        counted_files.place,
        counted_files.task_id,
        case_rounds.case_id,
        case_rounds.n_passed,
        case_rounds.n_rounds,
        yardsticks.yardstick,
        first_value(yardsticks.yardstick) over (
            partition by counted_files.series_id, case_rounds.case_id
            order by counted_files.place, counted_files.task_id
        ) as own_yardstick

    from counted_files
    inner join case_rounds using (task_id)
    inner join yardsticks using (task_id, case_id)

),

-- a person accepted these cases as they were in a run: their history starts there
accepted_cases as (

    select
        task_id,
        {{ unnested(json_text_elements('cases')) }} as case_id

    from accepts

),

starts as (

    select
        counted_tasks.series_id,
        accepted_cases.case_id,
        min(counted_tasks.place) as first_place

    from counted_tasks
    inner join accepted_cases using (task_id)
    group by counted_tasks.series_id, accepted_cases.case_id

),

of_variants as (

    select
        counted.series_id,
        counted.case_id,
        counted.place,
        cast(sum(counted.n_passed) as double) as x,
        cast(sum(counted.n_rounds) as double) as n

    from counted
    left join starts using (series_id, case_id)
    where
        counted.yardstick = counted.own_yardstick
        and counted.place <= coalesce(starts.first_place, counted.place)
    group by counted.series_id, counted.case_id, counted.place

),

-- only of runs that asked every variant, so that a new variant accuses no case
together as (

    select
        together.series_id,
        of_variants.case_id,
        of_variants.place,
        sum(of_variants.x) as x,
        sum(of_variants.n) as n

    from series as together
    inner join series
        on
            together.title = series.title
            and together.run_id = series.run_id
            and together.history = series.history
            and series.task_id is not null
    inner join of_variants on series.series_id = of_variants.series_id
    where together.task_id is null
    group by together.series_id, together.n_variants, of_variants.case_id, of_variants.place
    having count(*) = together.n_variants

),

cells as (

    select * from of_variants

    union all

    select * from together

),

-- a case that failed for some runs before it first passed was not solved yet
solved as (

    select
        *,
        max(case when x > 0 and place > 0 then place end) over (
            partition by series_id, case_id
        ) as first_pass

    from cells

),

final as (

    select

        ---------- ids
        solved.series_id,
        solved.case_id,

        ---------- numerics
        solved.place,
        solved.x,
        solved.n,

        ---------- booleans
        coalesce(
            solved.place > solved.first_pass
            and series.n_earlier - solved.first_pass >= policy.lead_runs,
            false
        ) as is_unsolved

    from solved
    inner join series using (series_id)
    cross join policy

)

select * from final
