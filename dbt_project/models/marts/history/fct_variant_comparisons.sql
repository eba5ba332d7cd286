{{ config(unique_key='title', meta={'batch': 'titles', 'mentions': ['leader_task_id']}) }}

-- One row per current variant of a title other than its best (the leader): both case by case, over
-- cases that ask and expect the same, where both variants were judged alike.
with

variants as (
    select * from {{ ref('promptlab', 'dim_variants') }} where {{ in_this_build('titles') }} and is_current
),
tasks as (select * from {{ ref('promptlab', 'dim_tasks') }} where not is_partial),
summaries as (
    select * from {{ ref('promptlab', 'fct_task_summaries') }}
    where task_id in (select variants.newest_task_id from variants)
),
case_results as (
    select * from {{ ref('promptlab', 'fct_case_results') }}
    where task_id in (select variants.newest_task_id from variants)
),
contents as (
    select * from {{ ref('promptlab', 'int_case_contents') }}
    where task_id in (select variants.newest_task_id from variants)
),
clusters as (
    select * from {{ ref('promptlab', 'stg_tasks__cases') }}
    where task_id in (select variants.newest_task_id from variants)
),
dimensions as (
    select * from {{ ref('promptlab', 'int_dimension_contents') }}
    where
        weight_configured > 0
        and task_id in (select variants.newest_task_id from variants)
),

scored as (

    select
        variants.title,
        variants.variant,
        variants.newest_task_id as task_id,
        first_value(variants.newest_task_id) over best_first as leader_task_id,
        first_value(variants.variant) over best_first as leader_variant,
        count(*) over (partition by variants.title) as n_variants

    from variants
    inner join tasks on variants.newest_task_id = tasks.task_id
    inner join summaries on variants.newest_task_id = summaries.task_id
    where summaries.overall_score is not null
    window best_first as (
        partition by variants.title
        order by
            summaries.overall_score desc,
            summaries.pass_rate desc nulls last,
            variants.variant asc
    )

),

others as (

    select * from scored
    where task_id <> leader_task_id

),

judged_otherwise as (

    select others.task_id

    from others
    inner join dimensions as of_other using (task_id)
    inner join dimensions as of_leader
        on
            others.leader_task_id = of_leader.task_id
            and of_other.dimension_id = of_leader.dimension_id
    where
        {{ dimension_difference('of_other', 'of_leader') }} is not null
        or of_other.weight_configured <> of_leader.weight_configured

    union all

    -- a dimension of one of them alone
    select others.task_id

    from others
    inner join dimensions on dimensions.task_id in (others.task_id, others.leader_task_id)
    group by others.task_id, dimensions.dimension_id
    having count(*) = 1

),

paired as (

    select
        others.title,
        others.task_id,
        clusters.cluster_id,
        of_other.status = 'pass' as is_pass,
        of_leader.status = 'pass' as is_pass_of_leader,
        of_other.status <> 'unevaluated' and of_leader.status <> 'unevaluated' as is_judged,
        of_other.aggregated_score - of_leader.aggregated_score as difference

    from others
    inner join case_results as of_other using (task_id)
    inner join case_results as of_leader
        on
            others.leader_task_id = of_leader.task_id
            and of_other.case_id = of_leader.case_id
    inner join contents as contents_of_other
        on of_other.task_id = contents_of_other.task_id and of_other.case_id = contents_of_other.case_id
    inner join contents as contents_of_leader
        on of_leader.task_id = contents_of_leader.task_id and of_leader.case_id = contents_of_leader.case_id
    left join clusters
        on of_other.task_id = clusters.task_id and of_other.case_id = clusters.case_id
    where
        others.task_id not in (select judged_otherwise.task_id from judged_otherwise)
        and contents_of_other.inputs_hash = contents_of_leader.inputs_hash
        and contents_of_other.expectations_hash is not distinct from contents_of_leader.expectations_hash
        and contents_of_other.references_hash is not distinct from contents_of_leader.references_hash

),

errors as (

    {{ cluster_errors('paired', 'title, task_id') }}

),

measured as (

    select
        title,
        task_id,
        count(difference) as n_pairs,
        count(*) filter (where difference <> 0) as n_changed,
        count(*) filter (where is_judged and is_pass and not is_pass_of_leader) as n_only_here,
        count(*) filter (where is_judged and is_pass_of_leader and not is_pass) as n_only_leader,
        avg(difference) as delta

    from paired
    group by title, task_id

),

-- if all differences are equal, their variance is 0
tested as (

    select
        measured.*,
        errors.n_clusters - 1 as n_free,
        measured.delta / nullif(errors.standard_error, 0) as t,
        {{ t_quantile('(errors.n_clusters - 1)') }} * nullif(errors.standard_error, 0)
            as half_width

    from measured
    left join errors using (title, task_id)

),

with_p_values as (

    select
        *,
        case when n_free > 0 then {{ paired_p_value('t', 'n_free', 'n_changed') }} end as p_value

    from tested

),

final as (

    select

        ---------- ids
        others.leader_task_id,
        others.task_id,

        ---------- strings
        others.title,
        others.leader_variant,
        others.variant,

        ---------- numerics
        coalesce(with_p_values.n_pairs, 0) as n_pairs,
        coalesce(with_p_values.n_only_here, 0) as n_only_here,
        coalesce(with_p_values.n_only_leader, 0) as n_only_leader,
        round(with_p_values.delta, 6) as delta,
        case
            when with_p_values.half_width is not null
                then round(greatest(-1.0, with_p_values.delta - with_p_values.half_width), 6)
        end as ci_low,
        case
            when with_p_values.half_width is not null
                then round(least(1.0, with_p_values.delta + with_p_values.half_width), 6)
        end as ci_high,
        round(with_p_values.p_value, 6) as p_value,
        -- the leader is held against all others at once (Bonferroni)
        case
            when with_p_values.p_value is not null
                then round(least(1.0, with_p_values.p_value * (others.n_variants - 1)), 6)
        end as p_adjusted,

        ---------- booleans
        coalesce(with_p_values.p_value * (others.n_variants - 1) >= 0.05, true) as is_within_chance

    from others
    left join with_p_values using (title, task_id)

)

select * from final
