{{ config(materialized='view') }}

-- One row per task, dimension and judge with labels that were drawn in the task: the share that people
-- pass, weighted by how much the judge passes and fails, and the reach of its interval.
with

rates as (select * from {{ ref('promptlab', 'int_judge_rates') }}),
labels as (select * from {{ ref('promptlab', 'int_drawn_labels') }}),

-- labels of this run itself, drawn by chance within each verdict of the judge
labelled as (

    select
        task_id,
        dimension_id,
        judge,
        verdict,
        count(*) as n_labelled,
        avg(case when truth = 'pass' then 1e0 else 0e0 end) as share

    from labels
    where truth is not null and verdict is not null
    group by all

),

strata as (

    select
        rates.task_id,
        rates.dimension_id,
        rates.judge,
        rates.n_rounds,
        labelled.n_labelled,
        labelled.share,
        case labelled.verdict
            when 'pass' then rates.n_passed
            else rates.n_rounds - rates.n_passed
        end as n_in_stratum

    from rates
    inner join labelled using (task_id, dimension_id, judge)

),

-- an interval for each verdict (Wilson, of the labels that an infinite run would need)
bounded as (

    select
        *,
        cast(n_in_stratum as double) / n_rounds as weight,
        n_labelled / nullif(1 - cast(n_labelled as double) / n_in_stratum, 0) as n_effective

    from strata
    where n_in_stratum > 0

),

-- and one for all, of the distances from the ends of each (Zou and Donner 2008)
final as (

    select
        task_id,
        dimension_id,
        judge,
        sum(n_in_stratum) = max(n_rounds) and min(n_labelled) > 1 as is_complete,
        sum(n_labelled) as n_labelled,
        sum(weight * share) as pass_rate,
        sqrt(sum(power(
            weight * coalesce(share - {{ wilson_bound('share', 'n_effective', -1) }}, 0), 2
        ))) as below,
        sqrt(sum(power(
            weight * coalesce({{ wilson_bound('share', 'n_effective', 1) }} - share, 0), 2
        ))) as above

    from bounded
    group by task_id, dimension_id, judge

)

select * from final
