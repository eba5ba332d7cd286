{{ config(unique_key='candidate_task_id', meta={'batch': 'comparisons'}) }}

{%- set family = 'baseline_task_id, candidate_task_id' %}

with

changes as (select * from {{ ref('int_measure_changes') }}),
policy as (select * from {{ ref('comparison_policy') }}),

summed as (

    select
        baseline_task_id,
        candidate_task_id,
        dimension_id,
        name,
        direction,
        count(*) as n_pairs,
        count(case when delta > 0 then 1 end) as n_higher,
        count(case when delta < 0 then 1 end) as n_lower,
        count(case when delta = 0 then 1 end) as n_same,
        avg(baseline_value) as baseline_value,
        avg(candidate_value) as candidate_value,
        avg(delta) as mean_delta,
        -- null if the differences of the pairs are all equal: t is undefined
        nullif(stddev_samp(delta), 0) / sqrt(cast(count(*) as double)) as standard_error,
        count(*) - 1 as n_free

    from changes
    group by baseline_task_id, candidate_task_id, dimension_id, name, direction

),

measured as (

    select
        summed.*,
        summed.mean_delta / summed.standard_error as t,
        {{ t_quantile('summed.n_free') }} * summed.standard_error as half_width

    from summed

),

tested as (

    select
        *,
        {{ paired_p_value('t', 'n_free', 'n_higher + n_lower') }} as p_value

    from measured

),

ranked as (

    select
        *,
        row_number() over (partition by {{ family }} order by p_value nulls last) as p_rank,
        count(p_value) over (partition by {{ family }}) as n_tests

    from tested

),

adjusted as (

    select
        ranked.*,
        {{ bh_adjusted(family) }} as p_adjusted

    from ranked

),

final as (

    select

        ---------- ids
        adjusted.baseline_task_id,
        adjusted.candidate_task_id,
        adjusted.dimension_id,

        ---------- strings
        adjusted.name,
        adjusted.direction,
        case
            when adjusted.n_higher + adjusted.n_lower = 0 then 'same'
            when adjusted.n_pairs < policy.min_pairs or adjusted.p_adjusted > policy.max_p
                then 'inconclusive'
            when adjusted.direction is null
                then case when adjusted.mean_delta > 0 then 'higher' else 'lower' end
            when (adjusted.direction = 'higher_better') = (adjusted.mean_delta > 0)
                then 'improved'
            else 'regressed'
        end as verdict,

        ---------- numerics
        adjusted.n_pairs,
        adjusted.n_higher,
        adjusted.n_lower,
        adjusted.n_same,
        adjusted.baseline_value,
        adjusted.candidate_value,
        adjusted.mean_delta as delta,
        adjusted.mean_delta - adjusted.half_width as ci_low,
        adjusted.mean_delta + adjusted.half_width as ci_high,
        adjusted.p_value,
        adjusted.p_adjusted

    from adjusted
    cross join policy

)

select * from final
