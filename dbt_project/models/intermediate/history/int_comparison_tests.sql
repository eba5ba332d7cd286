{%- set family = "baseline_task_id, candidate_task_id, level = 'overall'" %}

-- One row per compared pair of tasks and subject (the overall score, a dimension or a tag): whether the change
-- is more than chance.
with

pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }} where {{ in_this_build('comparisons') }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimension_pairs') }}),
sums as (select * from {{ ref('promptlab', 'int_comparison_sums') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_comparison_policy') }}),

-- those without a single pair too: that nothing can be compared is an answer
subjects as (

    select
        baseline_task_id,
        candidate_task_id,
        'overall' as level,
        'overall' as subject,
        cast(null as string) as name,
        cast(null as bigint) as position,
        cast(null as string) as reason,
        false as is_weighed

    from pairs

    union all

    select
        baseline_task_id,
        candidate_task_id,
        'dimension' as level,
        dimension_id as subject,
        name,
        dimension_position as position,
        reason,
        reason is null and weight > 0 as is_weighed

    from dimensions

    union all

    select
        baseline_task_id,
        candidate_task_id,
        level,
        subject,
        subject as name,
        cast(null as bigint) as position,
        cast(null as string) as reason,
        false as is_weighed

    from sums
    where level = 'tag'

),

summed as (

    select
        subjects.*,
        coalesce(sums.n_pairs, 0) as n_pairs,
        coalesce(sums.n_better, 0) as n_better,
        coalesce(sums.n_worse, 0) as n_worse,
        coalesce(sums.n_same, 0) as n_same,
        sums.baseline_mean,
        sums.candidate_mean,
        sums.baseline_metric,
        sums.candidate_metric,
        sums.mean_delta,
        sums.sd,
        sums.n_judged,
        sums.n_lost,
        sums.n_gained,
        sums.n_clusters,
        sums.cluster_error,
        coalesce(sums.n_clusters, sums.n_pairs, 0) as n_independent,
        subjects.level <> 'dimension' or sums.is_all_or_nothing as has_passes,
        -- a dimension shares what the pair shares: its cases
        coalesce(
            case when subjects.level = 'dimension' then overall.n_shared else sums.n_shared end, 0
        ) as n_shared_cases,
        coalesce(
            case when subjects.level = 'dimension' then overall.n_comparable else sums.n_comparable end,
            0
        ) as n_comparable_cases,
        bool_or(subjects.is_weighed) over (
            partition by subjects.baseline_task_id, subjects.candidate_task_id
        ) as has_weighed_dimension

    from subjects
    left join sums using (baseline_task_id, candidate_task_id, level, subject)
    left join sums as overall
        on
            subjects.baseline_task_id = overall.baseline_task_id
            and subjects.candidate_task_id = overall.candidate_task_id
            and overall.level = 'overall'

),

measured as (

    select
        summed.*,
        policy.max_p,
        policy.min_pairs,
        policy.margin,
        summed.n_independent - 1 as df,
        -- null if the differences are all equal: t is undefined
        nullif(
            case
                when summed.n_clusters is null
                    then summed.sd / sqrt(cast(summed.n_pairs as double))
                else summed.cluster_error
            end, 0
        ) as standard_error

    from summed
    cross join policy

),

quantiles as (

    select
        measured.*,
        {{ t_quantile('measured.df') }} as t_975,
        {{ t_quantile('measured.df', 't_800') }} as t_800,
        measured.mean_delta / measured.standard_error as t

    from measured

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
