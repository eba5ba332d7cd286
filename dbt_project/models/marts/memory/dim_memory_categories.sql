-- One row per memory run and category that it has scores of.
with

rounds as (select * from {{ ref('promptlab', 'int_memory_round_scores') }}),
runs as (select * from {{ ref('promptlab', 'dim_memory_runs') }} where {{ in_this_build('memory_runs') }}),
categories as (select * from {{ ref('promptlab', 'promptlab_memory_categories') }}),

used as (

    select distinct
        run_id,
        category

    from rounds

),

final as (

    select

        ---------- ids
        used.run_id,
        used.category,

        ---------- strings
        categories.category_name,
        case
            when used.category = 'all' then 'all'
            when used.category in (select groups.category_group from categories as groups)
                then 'group'
            else 'category'
        end as kind

    from used
    inner join runs using (run_id)
    left join categories using (dataset, category)

)

select * from final
