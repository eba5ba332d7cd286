{%- set family = "baseline_task_id, candidate_task_id, level = 'overall'" %}

-- One row per compared pair of tasks and subject (the overall score, a dimension or a tag): whether its score changed
-- by more than chance. A paired t test over cases, or clusters of them; p is adjusted for the number of subjects.
with

subjects as (select * from {{ ref('promptlab', 'int_comparison_subjects') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_comparison_policy') }}),

spread as (

    select
        subjects.*,
        policy.max_p,
        policy.min_pairs,
        policy.margin,
        subjects.n_independent - 1 as df,
        -- null if the differences are all equal: t is undefined
        nullif(
            case
                when subjects.n_clusters is null
                    then subjects.sd / sqrt(cast(subjects.n_pairs as double))
                else subjects.cluster_error
            end, 0
        ) as standard_error

    from subjects
    cross join policy

),

quantiles as (

    select
        spread.*,
        {{ t_quantile('spread.df') }} as t_975,
        {{ t_quantile('spread.df', 't_800') }} as t_800,
        spread.mean_delta / spread.standard_error as t

    from spread

),

tested as (

    select
        *,
        t_975 * standard_error as half_width,
        (t_975 + t_800) * standard_error as smallest_difference,
        case
            when n_pairs > 0 then {{ paired_p_value('t', 'df', 'n_better + n_worse') }}
        end as p_value

    from quantiles

),

-- the comparisons of a pair but for the overall one are a family of tests
ranked as (

    select
        *,
        row_number() over (partition by {{ family }} order by p_value nulls last) as p_rank,
        count(p_value) over (partition by {{ family }}) as n_tests

    from tested

),

adjusted as (

    select
        *,
        case when level <> 'overall' then {{ bh_adjusted(family) }} end as p_adjusted

    from ranked

),

decided as (

    select
        *,
        coalesce(p_adjusted, p_value) as p_used,
        case
            when n_pairs = 0 then 'not_comparable'
            when n_independent >= min_pairs and p_used <= max_p
                then case when mean_delta > 0 then 'improved' else 'regressed' end
            when n_independent < min_pairs then 'inconclusive'
            when n_better + n_worse = 0 then 'no_reliable_change'
            when mean_delta - half_width >= -margin and mean_delta + half_width <= margin
                then 'no_reliable_change'
            else 'inconclusive'
        end as verdict,
        -- greatest and least would step over a null
        case
            when half_width is not null
                then round(greatest(-1.0, mean_delta - half_width), 6)
        end as low,
        case
            when half_width is not null
                then round(least(1.0, mean_delta + half_width), 6)
        end as high

    from adjusted

),

tests as (

    select

        ---------- ids
        baseline_task_id,
        candidate_task_id,
        subject,

        ---------- strings
        name,
        level,
        verdict,
        case
            when verdict = 'not_comparable' and reason is not null then reason
            when verdict = 'not_comparable' and n_shared_cases = 0 then 'no_shared_case'
            when verdict = 'not_comparable' and n_comparable_cases = 0 then 'no_comparable_case'
            when verdict = 'not_comparable' and level <> 'dimension' and not has_weighed_dimension
                then 'no_comparable_dimension'
            when verdict = 'not_comparable' then 'no_paired_score'
            when verdict = 'inconclusive' and n_pairs < min_pairs then 'too_few_pairs'
            when verdict = 'inconclusive' and n_independent < min_pairs then 'too_few_clusters'
            when verdict = 'inconclusive' and half_width is null then 'no_spread'
            when verdict = 'inconclusive' and p_used > p_value and p_value <= max_p
                then 'many_comparisons'
            when verdict = 'inconclusive' then 'interval_too_wide'
        end as reason,

        ---------- numerics
        position,
        n_pairs,
        n_better,
        n_worse,
        n_same,
        n_clusters,
        case when has_passes then n_judged end as n_judged,
        case when has_passes then n_lost end as n_lost,
        case when has_passes then n_gained end as n_gained,
        round(baseline_mean, 6) as baseline_score,
        round(candidate_mean, 6) as candidate_score,
        round(baseline_metric, 6) as baseline_metric,
        round(candidate_metric, 6) as candidate_metric,
        round(mean_delta, 6) as delta,
        round(sd, 6) as sd,
        -- an interval of width 0 after rounding is dropped
        case when low < high then low end as ci_low,
        case when low < high then high end as ci_high,
        p_value,
        p_adjusted,
        case
            when has_passes and n_judged > 0 and n_clusters is null
                then {{ mcnemar_p_value('n_lost', 'n_gained') }}
        end as mcnemar_p,
        round(smallest_difference, 6) as smallest_detectable,
        margin

    from decided

)

select * from tests
