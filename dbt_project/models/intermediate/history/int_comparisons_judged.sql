{{ config(materialized=view_of_step()) }}

-- One row per pair of tasks and subject, with its verdict and the reason for it. Subjects
-- without a single pair are there too: that nothing can be compared is an answer.
with

pairs as (select * from {{ ref('int_task_pairs') }} where {{ in_this_build('comparisons') }}),
dimensions as (select * from {{ ref('int_dimension_pairs') }}),
tested as (select * from {{ ref('int_comparisons_tested') }}),
policy as (select * from {{ ref('comparison_policy') }}),

weighing_pairs as (

    select distinct
        baseline_task_id,
        candidate_task_id

    from dimensions
    where reason is null and weight > 0

),

subjects as (

    select
        baseline_task_id,
        candidate_task_id,
        'overall' as level,
        'overall' as subject,
        cast(null as string) as name,
        cast(null as string) as reason,
        cast(null as bigint) as position

    from pairs

    union all

    select
        baseline_task_id,
        candidate_task_id,
        'dimension' as level,
        dimension_id as subject,
        name,
        reason,
        dimension_position as position

    from dimensions

    union all

    select
        baseline_task_id,
        candidate_task_id,
        level,
        subject,
        subject as name,
        cast(null as string) as reason,
        cast(null as bigint) as position

    from tested
    where level = 'tag'

),

-- one family of tests per pair: its dimensions and tags
ranked as (

    select
        *,
        {{ bh_rank('p_value', 'baseline_task_id, candidate_task_id') }} as p_rank,
        count(p_value) over (partition by baseline_task_id, candidate_task_id) as n_tests

    from tested
    where level <> 'overall'

),

adjusted as (

    select
        baseline_task_id,
        candidate_task_id,
        level,
        subject,
        {{ bh_adjusted('p_value', 'p_rank', 'n_tests', 'baseline_task_id, candidate_task_id') }}
            as p_adjusted

    from ranked

),

joined as (

    select

        ---------- ids
        subjects.baseline_task_id,
        subjects.candidate_task_id,
        subjects.level,
        subjects.subject,

        ---------- strings
        subjects.name,
        subjects.reason as dimension_reason,

        ---------- numerics
        subjects.position,
        coalesce(tested.n_pairs, 0) as n_pairs,
        coalesce(tested.n_better, 0) as n_better,
        coalesce(tested.n_worse, 0) as n_worse,
        coalesce(tested.n_same, 0) as n_same,
        tested.n_judged,
        tested.n_lost,
        tested.n_gained,
        tested.baseline_score,
        tested.candidate_score,
        tested.mean_delta,
        tested.delta,
        tested.sd,
        tested.half_width,
        tested.p_value,
        adjusted.p_adjusted,
        case when subjects.level = 'overall' then tested.p_value else adjusted.p_adjusted end
            as deciding_p,
        tested.mcnemar_p,
        tested.smallest_detectable,
        policy.max_p,
        policy.min_pairs,
        policy.margin,

        ---------- booleans
        coalesce(overall.n_shared, 0) > 0 as has_shared_case,
        coalesce(overall.n_comparable, 0) > 0 as has_comparable_case,
        weighing_pairs.candidate_task_id is not null as has_comparable_weight

    from subjects
    cross join policy
    left join tested using (baseline_task_id, candidate_task_id, level, subject)
    left join tested as overall
        on
            subjects.baseline_task_id = overall.baseline_task_id
            and subjects.candidate_task_id = overall.candidate_task_id
            and overall.level = case when subjects.level = 'tag' then 'tag' else 'overall' end
            and overall.subject
            = case when subjects.level = 'tag' then subjects.subject else 'overall' end
    left join adjusted using (baseline_task_id, candidate_task_id, level, subject)
    left join weighing_pairs
        on
            subjects.baseline_task_id = weighing_pairs.baseline_task_id
            and subjects.candidate_task_id = weighing_pairs.candidate_task_id

),

decided as (

    select
        *,
        {{ comparison_verdict() }} as verdict,
        {{ interval_ends() }}

    from joined

),

judged as (

    select

        ---------- ids
        baseline_task_id,
        candidate_task_id,
        level,
        subject,

        ---------- strings
        name,
        verdict,
        case
            when verdict = 'not_comparable'
                then case
                    when dimension_reason is not null then dimension_reason
                    when not has_shared_case then 'no_shared_case'
                    when not has_comparable_case then 'no_comparable_case'
                    when level <> 'dimension' and not has_comparable_weight
                        then 'no_comparable_dimension'
                    else 'no_paired_score'
                end
            when verdict = 'inconclusive' then {{ inconclusive_reason() }}
        end as reason,

        ---------- numerics
        position,
        n_pairs,
        n_better,
        n_worse,
        n_same,
        n_judged,
        n_lost,
        n_gained,
        baseline_score,
        candidate_score,
        delta,
        sd,
        {{ interval_with_width() }},
        p_value,
        p_adjusted,
        deciding_p,
        mcnemar_p,
        smallest_detectable,
        margin

    from decided

)

select * from judged
