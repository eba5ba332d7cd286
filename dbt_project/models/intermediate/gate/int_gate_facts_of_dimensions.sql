{{ config(materialized='view') }}

with

dimensions as (select * from {{ ref('promptlab', 'fct_dimension_scores') }}),
baselines as (select * from {{ ref('promptlab', 'dim_task_baselines') }}),
comparisons as (select * from {{ ref('promptlab', 'fct_task_comparisons') }}),
rates as (
    select * from {{ ref('promptlab', 'fct_corrected_pass_rates') }} where measure = 'pass_rate'
),
verdicts as (select * from {{ ref('promptlab', 'fct_judge_verdicts') }} where is_used),

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

-- against the baseline of the page
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

labelled as (

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
unlabelled as (

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
    where
        dimensions.is_judged
        and (
            dimensions.weight_used > 0
            or json_extract_string(dimensions.parameters, '$.pass_score') is not null
        )
        and not exists (
            select 1
            from rates
            where rates.task_id = dimensions.task_id and rates.dimension_id = 'verdict'
        )
        and exists (
            select 1
            from verdicts
            where
                verdicts.task_id = dimensions.task_id
                and verdicts.dimension_id = dimensions.dimension_id
                and not exists (
                    select 1
                    from rates
                    where
                        rates.task_id = verdicts.task_id
                        and rates.dimension_id = verdicts.dimension_id
                        and rates.judge = verdicts.judge
                )
        )

),

facts as (

    select * from scores
    union all
    select * from drops
    union all
    select * from labelled
    union all
    select * from unlabelled

)

select * from facts
