with

rounds as (select * from {{ ref('int_memory_round_scores') }}),
categories as (select * from {{ ref('memory_categories') }}),

used as (

    select distinct
        run_id,
        category

    from rounds

),

final as (

    select

        ---------- ids
        run_id,
        category,

        ---------- strings
        case
            when category = 'all' then 'all'
            when category in (select categories.category_group from categories) then 'group'
            else 'category'
        end as kind

    from used

)

select * from final
