with

waves as (select * from {{ ref('int_test_waves') }} where treatment = 'errors_left_out'),
policy as (select * from {{ ref('verdict_policy') }}),

-- first every 64th part of the window, then every place in the part where an alarm begins
places as (

    select
        waves.*,
        {{ unnested(whole_numbers('0', '64')) }} as part,
        cast(waves.window_length / 64 as bigint) as step

    from waves

),

by_part as (

    select
        waves.task_id,
        waves.statistic,
        waves.part,
        {{ chance_of_sum_from('(waves.window_start + waves.part * waves.step)') }}
        - {{ chance_of_sum('(waves.window_start + waves.part * waves.step)') }} / 2 as p_mid

    from places as waves
    group by waves.task_id, waves.statistic, waves.part

),

last_quiet as (

    select
        by_part.task_id,
        by_part.statistic,
        max(by_part.part) as part

    from by_part
    cross join policy
    where by_part.p_mid > policy.false_alarm / 2
    group by by_part.task_id, by_part.statistic

),

within as (

    select
        waves.*,
        last_quiet.part,
        cast(waves.window_length / 64 as bigint) as step,
        {{ unnested(whole_numbers('1', 'cast(waves.window_length / 64 as bigint) + 1')) }} as nth

    from waves
    inner join last_quiet using (task_id, statistic)

),

by_place as (

    select
        waves.task_id,
        waves.statistic,
        waves.nth,
        {{ chance_of_sum_from('(waves.window_start + waves.part * waves.step + waves.nth)') }}
            as p_at_least,
        {{ chance_of_sum('(waves.window_start + waves.part * waves.step + waves.nth)') }}
            as p_equal

    from within as waves
    group by waves.task_id, waves.statistic, waves.nth

),

alarms as (

    select
        by_place.task_id,
        by_place.statistic,
        max(by_place.p_at_least) as level

    from by_place
    cross join policy
    where by_place.p_at_least - by_place.p_equal / 2 <= policy.false_alarm / 2
    group by by_place.task_id, by_place.statistic

),

levels as (

    select
        task_id,
        least(1e0, sum(level)) as level

    from alarms
    group by task_id

)

select * from levels
