-- One row per task whose file counts more rows than it lists, or lists none (only totals). Its means are of a part
-- of its run: rankings leave it out, comparisons mark it, and an alert names it.
with

row_counts as (
    -- a claim without a dimension is the number of rows
    select * from {{ ref('promptlab', 'stg_reported__claims') }} where dimension_id is null
),
rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }}),

listed as (

    select
        task_id,
        count(*) as n_rows_held

    from rounds
    where task_id in (select row_counts.task_id from row_counts)
    group by task_id

),

compared as (

    select
        row_counts.task_id,
        -- unusable if negative; capped, so that the cast cannot fail
        case
            when row_counts.claimed_value >= 0
                then cast(
                    case when row_counts.claimed_value < 1e11 then row_counts.claimed_value else 1e11 end as bigint
                )
        end as n_rows_claimed,
        coalesce(listed.n_rows_held, 0) as n_rows_held

    from row_counts
    left join listed using (task_id)

)

select * from compared
where n_rows_held = 0 or n_rows_held < n_rows_claimed
