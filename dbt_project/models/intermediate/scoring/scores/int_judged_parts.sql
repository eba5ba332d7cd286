{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

with

case_results as (
    select * from {{ ref('promptlab', 'int_case_results') }}
    where status <> 'unevaluated' and {{ in_this_build() }}
),
tasks as (
    select * from {{ ref('promptlab', 'int_tasks_resolved') }}
    where testset_id is not null and {{ in_this_build() }}
),
case_scores as (
    select * from {{ ref('promptlab', 'int_case_scores') }} where score is not null and {{ in_this_build() }}
),
dimensions as (
    select * from {{ ref('promptlab', 'int_dimension_contents') }} where {{ in_this_build() }}
),

judged as (

    select
        task_id,
        count(*) as n_cases

    from case_results
    group by task_id

),

scored as (

    select
        task_id,
        dimension_id,
        count(*) as n_cases

    from case_scores
    group by task_id, dimension_id

),

parts as (

    select

        ---------- ids
        task_id,
        cast(null as string) as part_id,

        ---------- strings
        'verdicts' as part_kind,
        cast(null as string) as name,

        ---------- numerics
        n_cases

    from judged

    union all

    select
        tasks.task_id,
        tasks.testset_id as part_id,
        'testset' as part_kind,
        tasks.testset_id as name,
        judged.n_cases

    from tasks
    inner join judged using (task_id)

    union all

    -- a dimension without weight, verdict and target decides nothing
    select
        dimensions.task_id,
        dimensions.dimension_id as part_id,
        'dimension' as part_kind,
        dimensions.name,
        case
            when
                dimensions.weight_configured > 0
                or dimensions.has_verdict
                or coalesce(
                    dimensions.lower_limit,
                    dimensions.upper_limit,
                    dimensions.min_score,
                    dimensions.max_score,
                    dimensions.max_variance
                ) is not null
                then scored.n_cases
            else 0
        end as n_cases

    from dimensions
    inner join scored using (task_id, dimension_id)

)

select * from parts
