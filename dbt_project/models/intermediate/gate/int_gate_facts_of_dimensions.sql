{{ config(materialized='view') }}

-- One row per task, rule of the gate's policy and dimension, and for `min_tnr` per judge: the number that the
-- rule limits.
with

dimensions as (select * from {{ ref('promptlab', 'fct_dimension_scores') }}),
baselines as (select * from {{ ref('promptlab', 'dim_task_baselines') }}),
comparisons as (select * from {{ ref('promptlab', 'fct_task_comparisons') }}),
rates as (
    select * from {{ ref('promptlab', 'fct_corrected_pass_rates') }} where measure = 'pass_rate'
),
verdicts as (select * from {{ ref('promptlab', 'fct_judge_verdicts') }} where is_used),

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

-- how well a judge catches what people call a failure; `n` and `n_total` are the labels of
-- failing and of passing answers
labelled_judges as (

    select
        task_id,
        'min_tnr' as rule,
        dimension_id as subject,
        tnr_low as value,
        n_labels_fail as n,
        n_labels_pass as n_total,
        to_json([judge, cast(tnr as string), cast(tnr_high as string)]) as names,
        case when judge_reason is not null then 'few_labels' end as reason

    from rates

),

-- a judge of whole rounds with labels answers for all dimensions
labelled_tasks as (

    select distinct task_id
    from rates
    where dimension_id = 'verdict'

),

judges_without_labels as (

    select distinct
        verdicts.task_id,
        verdicts.dimension_id

    from verdicts
    anti join rates using (task_id, dimension_id, judge)
    anti join labelled_tasks using (task_id)

),

unlabelled_dimensions as (

    select
        dimensions.task_id,
        'min_tnr' as rule,
        dimensions.dimension_id as subject,
        cast(null as double) as value,
        cast(0 as bigint) as n,
        cast(0 as bigint) as n_total,
        cast(null as json) as names,
        'unlabelled' as reason

    from dimensions
    inner join judges_without_labels using (task_id, dimension_id)
    where
        dimensions.is_judged
        and (
            dimensions.weight_used > 0
            or json_extract_string(dimensions.parameters, '$.pass_score') is not null
        )

),

facts as (

    select * from scores
    union all
    select * from drops
    union all
    select * from labelled_judges
    union all
    select * from unlabelled_dimensions

)

select * from facts
