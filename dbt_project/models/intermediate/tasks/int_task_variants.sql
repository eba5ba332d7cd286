{{ config(materialized='table', unique_key='task_id') }}

with

variants as (select * from {{ ref('promptlab', 'int_variant_names') }}),
replacements as (select * from {{ ref('promptlab', 'int_replaced_variants') }}),

-- each hop goes twice as far back, so that a title may change its model 64 times
hop_0 as (

    select
        title,
        variant,
        run_number,
        replaced_variant as lineage

    from replacements
    where is_base_run

),
{% for hop in range(6) %}

    hop_{{ hop + 1 }} as (

        select
            hop_{{ hop }}.title,
            hop_{{ hop }}.variant,
            hop_{{ hop }}.run_number,
            coalesce(before.lineage, hop_{{ hop }}.lineage) as lineage

        from hop_{{ hop }}
        left join hop_{{ hop }} as before
            on hop_{{ hop }}.title = before.title and hop_{{ hop }}.lineage = before.variant

    ),
{% endfor %}

continued as (

    select
        variants.*,
        coalesce(
            of_replaced.lineage, replacements.replaced_variant, of_variant.lineage, variants.variant
        ) as root

    from variants
    left join replacements
        on
            variants.title = replacements.title
            and variants.run_id = replacements.run_id
            and variants.variant = replacements.variant
            and variants.recheck_of is null
    left join hop_6 as of_replaced
        on
            replacements.title = of_replaced.title
            and replacements.replaced_variant = of_replaced.variant
    left join hop_6 as of_variant
        on
            variants.title = of_variant.title
            and variants.variant = of_variant.variant
            and variants.run_number >= of_variant.run_number

),

together as (

    select
        title,
        run_id,
        root,
        run_number,
        bool_and(is_base_branch) as is_base_run

    from continued
    where recheck_of is null
    group by title, run_id, root, run_number
    having count(*) > 1

),

parted as (

    select
        title,
        root,
        min(case when is_base_run then run_number end) as run_number

    from together
    group by title, root

),

-- from the run on that has both they are two variants
final as (

    select

        ---------- ids
        continued.task_id,
        continued.run_id,
        continued.prompt_hash,
        continued.recheck_of,

        ---------- strings
        continued.title,
        continued.variant,
        case
            when together.run_id is not null or continued.run_number >= parted.run_number
                then continued.variant
            else continued.root
        end as lineage,
        continued.provider,
        continued.prompt_name,
        continued.branch,

        ---------- numerics
        continued.run_number,

        ---------- booleans
        continued.is_base_branch,

        ---------- timestamps
        continued.created_at

    from continued
    left join together
        on
            continued.title = together.title
            and continued.run_id = together.run_id
            and continued.root = together.root
    left join parted on continued.title = parted.title and continued.root = parted.root

)

select * from final
