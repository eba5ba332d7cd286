{{ config(materialized=view_of_step()) }}

with

dimensions as (select * from {{ ref('int_dimensions_configured') }}),
scorers as (select * from {{ ref('scorers') }}),

keys as (

    select
        task_id,
        dimension_id,
        target,
        {{ unnested(json_object_keys_or_none('target')) }} as target_key

    from dimensions

),

members as (

    select
        task_id,
        dimension_id,
        target_key,
        left(target_key, 3) as side,
        target_key in ('max', 'min') as is_plain,
        target_key in ('min_score', 'max_score', 'max_variance') as is_threshold,
        {{ null_if_json_null(json_member('target', 'target_key')) }} as value,
        case
            when {{ json_kind('value') }} = 'number'
                then {{ finite_number('cast(value as string)') }}
        end as number

    from keys
    where
        target_key in ('max', 'min')
        or left(target_key, 4) = 'max_'
        or left(target_key, 4) = 'min_'

),

limits as (

    select
        *,
        count(case when is_plain then 1 end) over (
            partition by task_id, dimension_id, side
        ) as n_plain

    from members
    where not is_threshold and value is not null

),

sides as (

    select
        task_id,
        dimension_id,
        side,
        case
            when count(*) > 1 then 'target_ambiguous'
            when max(number) is null then 'target_not_a_number'
        end as problem,
        case when count(*) = 1 then max(number) end as number,
        max(target_key) in ('min_seconds', 'max_seconds') as is_in_seconds

    from limits
    where is_plain or n_plain = 0
    group by task_id, dimension_id, side

),

both_sides as (

    select
        task_id,
        dimension_id,
        max(problem) filter (where side = 'min') as lower_problem,
        max(problem) filter (where side = 'max') as upper_problem,
        max(number) filter (where side = 'min') as lower_number,
        max(number) filter (where side = 'max') as upper_number,
        bool_or(is_in_seconds) filter (where side = 'min') as is_lower_in_seconds,
        bool_or(is_in_seconds) filter (where side = 'max') as is_upper_in_seconds

    from sides
    group by task_id, dimension_id

),

thresholds as (

    select
        task_id,
        dimension_id,
        max(number) filter (where target_key = 'min_score') as min_score,
        max(number) filter (where target_key = 'max_score') as max_score,
        max(number) filter (where target_key = 'max_variance') as max_variance,
        bool_or(value is not null and number is null) as has_bad_threshold

    from members
    where is_threshold
    group by task_id, dimension_id

),

limited as (

    select
        dimensions.task_id,
        dimensions.dimension_id,
        dimensions.scoring_mode,
        coalesce(scorers.is_share, true) as is_share,
        both_sides.lower_problem,
        both_sides.upper_problem,
        both_sides.lower_number
        * case when scorers.unit = 'ms' and both_sides.is_lower_in_seconds then 1000 else 1 end
            as lower_limit,
        both_sides.upper_number
        * case when scorers.unit = 'ms' and both_sides.is_upper_in_seconds then 1000 else 1 end
            as upper_limit,
        thresholds.min_score,
        thresholds.max_score,
        thresholds.max_variance,
        thresholds.has_bad_threshold,
        dimensions.scoring_mode in ('lower_better', 'range') as uses_upper,
        dimensions.scoring_mode in ('higher_better', 'range') as uses_lower,
        case when uses_upper then upper_limit end as used_upper,
        case when uses_lower then lower_limit end as used_lower

    from dimensions
    left join both_sides using (task_id, dimension_id)
    left join thresholds using (task_id, dimension_id)
    left join scorers using (scorer)

),

judged as (

    select
        task_id,
        dimension_id,

        ---------- strings
        -- without a usable target there is no score, except for metrics that are shares
        case
            when is_share and scoring_mode <> 'range' then null
            when uses_upper and upper_problem is not null then upper_problem
            when uses_lower and lower_problem is not null then lower_problem
            when used_lower is null and used_upper is null then 'target_missing'
            when used_lower > used_upper then 'target_crossed'
            when used_lower is null and used_upper < 0 then 'target_negative'
            when used_upper is null and used_lower <= 0 then 'target_not_positive'
        end as target_problem,
        coalesce(
            target_problem,
            upper_problem,
            lower_problem,
            case when has_bad_threshold then 'target_not_a_number' end
        ) as target_warning,

        ---------- numerics
        lower_limit,
        upper_limit,
        min_score,
        max_score,
        max_variance

    from limited

)

select * from judged
