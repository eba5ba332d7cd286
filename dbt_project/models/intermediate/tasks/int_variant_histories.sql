{{ config(materialized='table') }}

-- One row per variant of a run and variant whose runs before `until_run_number` count as its own:
-- itself, and those that it replaced, directly or one after another.
with

variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
replaced as (select * from {{ ref('promptlab', 'int_replaced_variants') }}),

-- each hop doubles the reach: six follow 64 replacements
hop_0 as (

    select
        title,
        variant,
        run_number,
        again_run_number,
        replaced_variant as history_variant,
        run_number as until_run_number

    from replaced
    where is_base_run

),
{% for hop in range(6) %}

    hop_{{ hop + 1 }} as (

        select * from hop_{{ hop }}

        union

        select
            later.title,
            later.variant,
            later.run_number,
            later.again_run_number,
            earlier.history_variant,
            earlier.until_run_number

        from hop_{{ hop }} as later
        inner join hop_{{ hop }} as earlier
            on
                later.title = earlier.title
                and later.history_variant = earlier.variant
                and later.until_run_number > earlier.run_number
                and later.until_run_number
                < coalesce(earlier.again_run_number, later.until_run_number + 1)

    ),
{% endfor %}

of_variants as (

    select
        variants.title,
        variants.run_id,
        variants.variant,
        hop_6.history_variant,
        hop_6.until_run_number

    from variants
    inner join hop_6
        on
            variants.title = hop_6.title
            and variants.variant = hop_6.variant
            and variants.run_number >= hop_6.run_number
            and variants.run_number < coalesce(hop_6.again_run_number, variants.run_number + 1)

),

-- what a push has instead of a variant of the base branch
of_pushes as (

    select
        replaced.title,
        replaced.run_id,
        replaced.variant,
        replaced.replaced_variant as history_variant,
        replaced.run_number as until_run_number

    from replaced
    where not replaced.is_base_run

),

of_replaced as (

    select
        of_pushes.title,
        of_pushes.run_id,
        of_pushes.variant,
        hop_6.history_variant,
        hop_6.until_run_number

    from of_pushes
    inner join hop_6
        on
            of_pushes.title = hop_6.title
            and of_pushes.history_variant = hop_6.variant
            and of_pushes.until_run_number >= hop_6.run_number
            and of_pushes.until_run_number
            < coalesce(hop_6.again_run_number, of_pushes.until_run_number + 1)

),

of_other_names as (

    select * from of_variants

    union all

    select * from of_pushes

    union all

    select * from of_replaced

),

-- two variants that run together keep histories of their own
final as (

    select
        title,
        run_id,
        variant,
        variant as history_variant,
        run_number as until_run_number

    from variants

    union all

    select of_other_names.*
    from of_other_names
    left join variants as in_same_run
        on
            of_other_names.title = in_same_run.title
            and of_other_names.run_id = in_same_run.run_id
            and of_other_names.history_variant = in_same_run.variant
    where in_same_run.task_id is null

)

select * from final
