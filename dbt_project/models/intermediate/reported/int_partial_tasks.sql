with

totals as (select * from {{ ref('promptlab', 'stg_reported__totals') }}),
tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }}),

-- a count by status claims its part of the rows; a file may claim any number
claims as (

    select
        task_id,
        total_scope,
        -- `least` of DuckDB leaves nulls out, so a missing claim must not get to it
        cast(sum(case
            when total_rule = 'count_rounds' and reported_value is not null
                then least(reported_value, 1e11)
        end) as bigint) as n_rounds,
        cast(max(case
            when total_rule = 'count_cases' and reported_value is not null
                then least(reported_value, 1e11)
        end) as bigint) as n_cases,
        max(n_reported) as n_values

    from totals
    where reported_value is null or reported_value >= 0
    group by task_id, total_scope

),

-- what is claimed of a run is claimed of each of its tasks
in_scope as (

    select
        claims.*,
        tasks.task_id as member_id

    from claims
    inner join tasks as claiming using (task_id)
    inner join tasks
        on
            claiming.task_id = tasks.task_id
            or (
                claims.total_scope = 'run'
                and claiming.load_id = tasks.load_id
                and claiming.run_id = tasks.run_id
            )

),

held as (

    select
        task_id,
        count(*) as n_rounds,
        count(distinct case_id) as n_cases

    from rounds
    where task_id in (select in_scope.member_id from in_scope)
    group by task_id

),

compared as (

    select
        in_scope.task_id,
        in_scope.total_scope,
        case
            when in_scope.n_rounds is not null then in_scope.n_rounds
            when in_scope.n_cases is not null then in_scope.n_cases
            else in_scope.n_values
        end as n_rows_claimed,
        cast(coalesce(sum(
            case
                when in_scope.n_rounds is null and in_scope.n_cases is not null
                    then held.n_cases
                else held.n_rounds
            end
        ), 0) as bigint) as n_rows_held

    from in_scope
    left join held on in_scope.member_id = held.task_id
    group by
        in_scope.task_id,
        in_scope.total_scope,
        in_scope.n_rounds,
        in_scope.n_cases,
        in_scope.n_values

),

partial as (

    select
        in_scope.member_id as task_id,
        max(compared.n_rows_claimed) as n_rows_claimed,
        max(compared.n_rows_held) as n_rows_held

    from compared
    inner join in_scope using (task_id, total_scope)
    where compared.n_rows_held = 0 or compared.n_rows_held < compared.n_rows_claimed
    group by in_scope.member_id

)

select * from partial
