with

pairs as (select * from {{ ref('int_task_pairs') }} where {{ in_this_build('comparisons') }}),
dimensions as (select * from {{ ref('int_dimension_pairs') }}),
sums as (select * from {{ ref('int_comparison_sums') }}),

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

described as (

    select
        subjects.baseline_task_id,
        subjects.candidate_task_id,
        subjects.level,
        subjects.subject,
        subjects.name,
        subjects.position,
        {{ paired_columns('sums') }},
        subjects.level <> 'dimension' or sums.is_all_or_nothing as has_passes,
        -- a dimension shares what the pair shares: its cases
        case when subjects.level = 'dimension' then overall.n_shared else sums.n_shared end
            as n_shared_cases,
        case when subjects.level = 'dimension' then overall.n_comparable else sums.n_comparable end
            as n_comparable_cases,
        bool_or(subjects.is_weighed) over (
            partition by subjects.baseline_task_id, subjects.candidate_task_id
        ) as has_weighed_dimension,
        case
            when subjects.reason is not null then subjects.reason
            when coalesce(n_shared_cases, 0) = 0 then 'no_shared_case'
            when coalesce(n_comparable_cases, 0) = 0 then 'no_comparable_case'
            when subjects.level <> 'dimension' and not has_weighed_dimension
                then 'no_comparable_dimension'
            else 'no_paired_score'
        end as reason_without_pairs

    from subjects
    left join sums using (baseline_task_id, candidate_task_id, level, subject)
    left join sums as overall
        on
            subjects.baseline_task_id = overall.baseline_task_id
            and subjects.candidate_task_id = overall.candidate_task_id
            and overall.level = 'overall'

),

judged as (

    {{ judged_comparisons(
        'described',
        keys=['baseline_task_id', 'candidate_task_id', 'subject'],
        kept=['name', 'position'],
        family=['baseline_task_id', 'candidate_task_id'],
    ) | indent }}

)

select * from judged
