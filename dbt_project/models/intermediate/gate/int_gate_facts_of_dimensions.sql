{{ config(materialized='view') }}

-- One row per task, rule of the gate's policy and dimension: its score, or its drop (also that of the overall score,
-- without `subject`). `min_tnr`, on judges that miss failures, lists only the dimensions whose judge has no labels.
with

dimensions as (select * from {{ ref('promptlab', 'fct_dimension_scores') }}),
baselines as (select * from {{ ref('promptlab', 'dim_task_baselines') }}),
comparisons as (select * from {{ ref('promptlab', 'fct_task_comparisons') }}),
judges_unlabelled as (select * from {{ ref('promptlab', 'int_judges_unlabelled') }}),

-- `n` is the number of cases with a score
scores as (

    select
        task_id,
        'dimensions.min_score' as rule,
        dimension_id as subject,
        score as value,
        n_cases as n,
        cast(null as bigint) as n_total,
        to_json([name]) as names,
        cast(null as string) as reason

    from dimensions

),

-- allowed drops are measured against dim_task_baselines, the earlier task that pages show; `n` is the number of cases
-- in both, `reason` the verdict on the change, or why there is none
drops as (

    select
        comparisons.candidate_task_id as task_id,
        case
            when comparisons.level = 'overall' then 'regression.max_drop'
            else 'dimensions.max_drop'
        end as rule,
        case when comparisons.level <> 'overall' then comparisons.dimension_id end as subject,
        -comparisons.delta as value,
        comparisons.n_pairs as n,
        cast(null as bigint) as n_total,
        cast(null as json) as names,
        case
            when comparisons.delta is null then comparisons.reason
            else comparisons.verdict
        end as reason

    from comparisons
    inner join baselines
        on
            comparisons.candidate_task_id = baselines.task_id
            and comparisons.baseline_task_id = baselines.baseline_task_id

),

unlabelled as (

    select
        task_id,
        'min_tnr' as rule,
        dimension_id as subject,
        cast(null as double) as value,
        cast(null as bigint) as n,
        cast(null as bigint) as n_total,
        cast(null as json) as names,
        'unlabelled' as reason

    from judges_unlabelled

),

rules as (

    select * from scores
    union all
    select * from drops
    union all
    select * from unlabelled

)

select * from rules
