{{ config(materialized=view_of_step()) }}

with

full_variants as (
    select * from {{ ref('promptlab', 'int_variant_names') }} where recheck_of is null
),

runs as (

    select
        title,
        run_id,
        run_number,
        bool_and(is_base_branch) as is_base_run

    from full_variants
    group by title, run_id, run_number

),

preceded as (

    select
        *,
        max(case when is_base_run then run_number end) over (
            partition by title
            order by run_number rows between unbounded preceding and 1 preceding
        ) as last_run_number

    from runs

),

of_base_runs as (

    select
        full_variants.*,
        row_number() over (
            partition by full_variants.title, full_variants.variant
            order by full_variants.run_number
        ) as times_run

    from full_variants
    inner join runs using (title, run_id)
    where runs.is_base_run

),

-- a name that no earlier run of the base branch has; who gives names says what is another variant
new_variants as (

    select
        preceded.title,
        preceded.run_id,
        preceded.run_number,
        preceded.is_base_run,
        full_variants.variant,
        row_number() over (
            partition by preceded.title, preceded.run_id
            order by full_variants.prompt_name nulls last, full_variants.variant
        ) as place,
        count(*) over (partition by preceded.title, preceded.run_id) as n_variants

    from preceded
    inner join full_variants using (title, run_id)
    left join of_base_runs as known
        on
            preceded.title = known.title
            and full_variants.variant = known.variant
            and known.times_run = 1
            and preceded.run_number > known.run_number
    where known.task_id is null and not full_variants.is_given

),

shared as (

    select distinct
        preceded.title,
        preceded.run_id

    from preceded
    inner join full_variants using (title, run_id)
    inner join of_base_runs as earlier
        on
            preceded.title = earlier.title
            and preceded.last_run_number = earlier.run_number
            and full_variants.variant = earlier.variant

),

-- a variant that ran once may be one of several that run side by side, each in a run by itself
missing_variants as (

    select
        preceded.title,
        preceded.run_id,
        earlier.variant,
        row_number() over (
            partition by preceded.title, preceded.run_id
            order by earlier.prompt_name nulls last, earlier.variant
        ) as place,
        count(*) over (partition by preceded.title, preceded.run_id) as n_variants

    from preceded
    inner join of_base_runs as earlier
        on preceded.title = earlier.title and preceded.last_run_number = earlier.run_number
    left join full_variants as kept
        on
            preceded.title = kept.title
            and preceded.run_id = kept.run_id
            and earlier.variant = kept.variant
    left join shared on preceded.title = shared.title and preceded.run_id = shared.run_id
    where
        kept.task_id is null
        and not earlier.is_given
        and (earlier.times_run > 1 or shared.run_id is not null)

),

-- as many new ones as are missing, one for each: the model has changed, or a name
replacements as (

    select
        new_variants.title,
        new_variants.run_id,
        new_variants.run_number,
        new_variants.is_base_run,
        new_variants.variant,
        missing_variants.variant as replaced_variant

    from new_variants
    inner join missing_variants using (title, run_id, place, n_variants)

)

select * from replacements
