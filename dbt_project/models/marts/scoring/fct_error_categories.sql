-- One row per task and kind of error that ended rounds of it.
with

rounds as (select * from {{ ref('promptlab', 'fct_rounds') }} where {{ in_this_build() }}),
categories as (select * from {{ ref('promptlab', 'promptlab_error_categories') }}),

errors as (

    select
        task_id,
        error_code,
        count(*) as n_rounds

    from rounds
    where error_code is not null
    group by task_id, error_code

),

totals as (

    select
        task_id,
        count(*) as n_total

    from rounds
    group by task_id

),

-- the first category whose pattern is found
categorised as (

    select
        errors.task_id,
        errors.error_code,
        errors.n_rounds,
        categories.category,
        row_number() over (
            partition by errors.task_id, errors.error_code order by categories.category_position
        ) as match_no

    from errors
    inner join categories
        on {{ regex_found('lower(errors.error_code)', 'categories.pattern', 'categories.pattern') }}

),

final as (

    select

        ---------- ids
        categorised.task_id,

        ---------- strings
        categorised.category,
        left(min(categorised.error_code), 200) as example,

        ---------- numerics
        cast(sum(categorised.n_rounds) as bigint) as n_rounds,
        max(totals.n_total) as n_total

    from categorised
    inner join totals using (task_id)
    where categorised.match_no = 1
    group by categorised.task_id, categorised.category

)

select * from final
