{{ config(materialized='view') }}

-- One row per current variant of a title: where it stands against the best of them, and by cost and score.
with

variants as (select * from {{ ref('promptlab', 'dim_variants') }} where is_current),
comparisons as (select * from {{ ref('promptlab', 'fct_variant_comparisons') }}),
tasks as (select * from {{ ref('promptlab', 'dim_tasks') }}),
summaries as (select * from {{ ref('promptlab', 'fct_task_summaries') }}),
costs as (
    select * from {{ ref('promptlab', 'int_trends_of_tasks') }} where measure = 'cost_total'
),

leaders as (

    select distinct
        title,
        leader_task_id

    from comparisons

),

priced as (

    select
        variants.title,
        variants.variant,
        variants.newest_task_id as task_id,
        leaders.leader_task_id,
        comparisons.n_pairs,
        comparisons.is_within_chance,
        -- sums of the same costs in another order differ in their last digits
        round(costs.value, 9) as cost_total,
        -- a score over some of the rows does not compare with one over all
        case when not tasks.is_partial and costs.value is not null then summaries.overall_score end
            as score_for_cost

    from variants
    inner join tasks on variants.newest_task_id = tasks.task_id
    inner join summaries on variants.newest_task_id = summaries.task_id
    left join leaders on variants.title = leaders.title
    left join comparisons on variants.newest_task_id = comparisons.task_id
    left join costs on variants.newest_task_id = costs.task_id

),

-- another variant is as good and cheaper, or as cheap and better
beaten as (

    select distinct priced.task_id

    from priced
    inner join priced as others
        on
            priced.title = others.title
            and priced.cost_total >= others.cost_total
            and priced.score_for_cost <= others.score_for_cost
    where
        priced.cost_total > others.cost_total
        or priced.score_for_cost < others.score_for_cost

),

final as (

    select

        ---------- ids
        priced.task_id,

        ---------- strings
        priced.title,
        priced.variant,
        case
            when priced.task_id = priced.leader_task_id then 'leads'
            when coalesce(priced.n_pairs, 0) = 0 then 'not_compared'
            when priced.is_within_chance then 'within_chance'
            else 'behind'
        end as standing,

        ---------- numerics
        priced.cost_total,
        case
            when priced.task_id <> priced.leader_task_id
                then round(priced.cost_total / nullif(of_leader.cost_total, 0), 6)
        end as cost_ratio,

        ---------- booleans
        case when priced.score_for_cost is not null then beaten.task_id is null end as is_on_front

    from priced
    left join priced as of_leader on priced.leader_task_id = of_leader.task_id
    left join beaten on priced.task_id = beaten.task_id

)

select * from final
