{{ config(materialized=view_of_step()) }}

-- One row per total that the file of a tool claims (its number of rows, or the mean of a dimension) and
-- that its rows can confirm: whether they differ from it. Files that list only a part are left out.
with

claims as (select * from {{ ref('promptlab', 'stg_reported__claims') }} where {{ in_this_build() }}),
rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }} where {{ in_this_build() }}),
scores as (select * from {{ ref('promptlab', 'stg_reported__scores') }} where {{ in_this_build() }}),
partial as (select * from {{ ref('promptlab', 'int_partial_tasks') }}),

cases as (

    select
        task_id,
        dimension_id,
        case_id,
        count(*) as n_values,
        sum(reported_value order by reported_value) as sum_value

    from scores
    where reported_value is not null
    group by task_id, dimension_id, case_id

),

held as (

    select
        task_id,
        dimension_id,
        sum(sum_value order by sum_value) / sum(n_values) as over_rows,
        sum(sum_value / n_values order by sum_value / n_values) / count(*) as over_cases

    from cases
    group by task_id, dimension_id

    union all

    select
        task_id,
        cast(null as string) as dimension_id,
        cast(count(*) as double) as over_rows,
        cast(count(distinct case_id) as double) as over_cases

    from rounds
    group by task_id

),

-- tools count and average rows or cases
compared as (

    select
        claims.task_id,
        claims.dimension_id,
        least(
            abs(held.over_rows - claims.claimed_value), abs(held.over_cases - claims.claimed_value)
        ) > greatest(1e-12, 1e-6 * abs(claims.claimed_value)) as differs

    from claims
    inner join held
        on
            claims.task_id = held.task_id
            and coalesce(claims.dimension_id, '') = coalesce(held.dimension_id, '')
    left join partial on claims.task_id = partial.task_id
    where claims.claimed_value is not null and partial.task_id is null

)

select * from compared
