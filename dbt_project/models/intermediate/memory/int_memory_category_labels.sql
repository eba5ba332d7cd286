with

answers as (
    select * from {{ ref('int_memory_answers_scored') }}
    where {{ in_this_build(column='run_id') }}
),
runs as (select * from {{ ref('stg_memory__runs') }} where {{ in_this_build(column='run_id') }}),
categories as (select * from {{ ref('memory_categories') }} where category_group is not null),

datasets as (

    select distinct
        run_id,
        dataset

    from runs

),

asked as (

    select distinct
        run_id,
        coalesce(category, '(none)') as category

    from answers

),

labels as (

    select
        run_id,
        category,
        category as label
    from asked

    union

    select
        run_id,
        category,
        'all' as label
    from asked

    union

    select
        asked.run_id,
        asked.category,
        categories.category_group as label
    from asked
    inner join datasets using (run_id)
    inner join categories
        on datasets.dataset = categories.dataset and asked.category = categories.category

)

select * from labels
