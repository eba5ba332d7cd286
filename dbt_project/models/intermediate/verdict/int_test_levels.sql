with

waves as (
    select * from {{ ref('promptlab', 'int_test_waves') }}
    -- what is smaller changes a level by less than 1e-6
    where treatment = 'errors_left_out' and ln_size > -18
),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

-- Where alarms begin: the 16th part of the window, the 16th part of that, the place in it.
first_places as (

    select
        *,
        window_start as first_place,
        cast(window_length / 16 as bigint) as step,
        {{ unnested(whole_numbers('0', '16')) }} as part

    from waves

),

first_quiet as (

    {{ last_quiet_place('first_places') }}

),

second_places as (

    select
        waves.*,
        first_quiet.place as first_place,
        greatest(1, cast(waves.window_length / 256 as bigint)) as step,
        {{ unnested(whole_numbers('0', '16')) }} as part

    from waves
    inner join first_quiet using (task_id, statistic)

),

second_quiet as (

    {{ last_quiet_place('second_places') }}

),

third_places as (

    select
        waves.*,
        second_quiet.place as first_place,
        {{ unnested(whole_numbers(
            '0', 'greatest(1, cast(waves.window_length / 256 as bigint))'
        )) }} as part

    from waves
    inner join second_quiet using (task_id, statistic)

),

by_place as (

    select
        waves.task_id,
        waves.statistic,
        waves.n_tests,
        waves.part as place,
        {{ mid_p_of_sum('(waves.first_place + waves.part)') }} as p,
        sum(waves.size * cos(
            waves.angle
            - 2e0 * pi() * waves.j * (waves.first_place + waves.part) / waves.window_length
        )) as p_equal

    from third_places as waves
    group by waves.task_id, waves.statistic, waves.n_tests, waves.part

),

ranked as (

    select
        by_place.*,
        row_number() over (
            partition by by_place.task_id, by_place.statistic order by by_place.place desc
        ) as place_from_the_end

    from by_place
    cross join policy
    where {{ is_quiet('by_place.p', 'by_place') }}

),

-- all sums above the last one that is not an alarm
levels as (

    select
        task_id,
        case
            when max(n_tests) = 1 then max(greatest(0e0, p - p_equal / 2))
            else least(1e0, sum(greatest(0e0, p - p_equal / 2)))
        end as level

    from ranked
    where place_from_the_end = 1
    group by task_id

)

select * from levels
