-- One row per task whose file has fewer rows than it claims, or none.
with

claims as (
    select * from {{ ref('promptlab', 'stg_reported__claims') }} where dimension_id is null
),
rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }}),

held as (

    select
        task_id,
        count(*) as n_rounds

    from rounds
    where task_id in (select claims.task_id from claims)
    group by task_id

),

compared as (

    select
        claims.task_id,
        -- a file may claim any number
        case
            when claims.claimed_value >= 0
                then cast(case when claims.claimed_value < 1e11 then claims.claimed_value else 1e11 end as bigint)
        end as n_rows_claimed,
        coalesce(held.n_rounds, 0) as n_rows_held

    from claims
    left join held using (task_id)

)

select * from compared
where n_rows_held = 0 or n_rows_held < n_rows_claimed
