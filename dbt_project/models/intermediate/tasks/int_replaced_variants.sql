{{ config(materialized=view_of_step()) }}

-- One row per variant of a run that is new there, and variant of the run before that it replaces, as
-- the latter is missing: the model or a name has changed, and the history goes on under the new name.
with

variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
runs as (select * from {{ ref('promptlab', 'int_title_runs') }}),

of_base_runs as (

    select
        variants.*,
        row_number() over (
            partition by variants.title, variants.variant
            order by variants.run_number
        ) as times_run

    from variants
    inner join runs using (title, run_id)
    where runs.is_base_run

),

-- a name that no earlier run of the base branch has; who gives names says what is another variant
new_variants as (

    select
        runs.title,
        runs.run_id,
        runs.run_number,
        runs.is_base_run,
        variants.variant,
        row_number() over (
            partition by runs.title, runs.run_id
            order by variants.prompt_name nulls last, variants.variant
        ) as pair_number,
        count(*) over (partition by runs.title, runs.run_id) as n_to_pair

    from runs
    inner join variants using (title, run_id)
    left join of_base_runs as known
        on
            runs.title = known.title
            and variants.variant = known.variant
            and known.times_run = 1
            and runs.run_number > known.run_number
    where known.task_id is null and not variants.is_given

),

shared as (

    select distinct
        runs.title,
        runs.run_id

    from runs
    inner join variants using (title, run_id)
    inner join of_base_runs as earlier
        on
            runs.title = earlier.title
            and runs.previous_run_id = earlier.run_id
            and variants.variant = earlier.variant

),

-- a variant that ran once may be one of several that run side by side, each in a run by itself
missing_variants as (

    select
        runs.title,
        runs.run_id,
        earlier.variant,
        row_number() over (
            partition by runs.title, runs.run_id
            order by earlier.prompt_name nulls last, earlier.variant
        ) as pair_number,
        count(*) over (partition by runs.title, runs.run_id) as n_to_pair

    from runs
    inner join of_base_runs as earlier
        on runs.title = earlier.title and runs.previous_run_id = earlier.run_id
    left join variants as kept
        on
            runs.title = kept.title
            and runs.run_id = kept.run_id
            and earlier.variant = kept.variant
    left join shared on runs.title = shared.title and runs.run_id = shared.run_id
    where
        kept.task_id is null
        and not earlier.is_given
        and (earlier.times_run > 1 or shared.run_id is not null)

),

-- as many new ones as are missing, one for each: the model has changed, or a name
replaced as (

    select
        new_variants.title,
        new_variants.run_id,
        new_variants.run_number,
        new_variants.is_base_run,
        new_variants.variant,
        missing_variants.variant as replaced_variant

    from new_variants
    inner join missing_variants using (title, run_id, pair_number, n_to_pair)

),

-- a variant that runs again was not replaced from then on
final as (

    select
        replaced.title,
        replaced.run_id,
        replaced.variant,
        replaced.replaced_variant,
        replaced.is_base_run,
        replaced.run_number,
        min(again.run_number) as again_run_number

    from replaced
    left join of_base_runs as again
        on
            replaced.title = again.title
            and replaced.replaced_variant = again.variant
            and replaced.run_number < again.run_number
    group by
        replaced.title,
        replaced.run_id,
        replaced.variant,
        replaced.replaced_variant,
        replaced.is_base_run,
        replaced.run_number

)

select * from final
