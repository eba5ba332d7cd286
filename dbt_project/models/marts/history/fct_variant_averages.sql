{{ config(materialized='view') }}

-- One row per variant, over the titles that have several variants: its mean score, and in how many it is the best.
with

scores as (select * from {{ ref('promptlab', 'fct_variant_scores') }} where n_variants > 1),
titles as (select count(distinct title) as n_titles_of_all from scores),

averaged as (

    select
        variant,
        max(model) as model,
        count(*) as n_titles,
        avg(overall_score) as macro_average,
        -- titles are independent of each other
        case
            when count(ci_low) = count(*)
                then sqrt(sum(power((ci_high - ci_low) / 2, 2))) / count(*)
        end as half_width,
        count(*) filter (where is_won) as n_won,
        count(*) filter (where rank_worst = 1) as n_won_clearly

    from scores
    group by variant

),

final as (

    select

        ---------- strings
        averaged.variant,
        averaged.model,

        ---------- numerics
        averaged.n_titles,
        titles.n_titles_of_all,
        round(averaged.macro_average, 6) as macro_average,
        case
            when averaged.half_width is not null
                then round(greatest(0.0, averaged.macro_average - averaged.half_width), 6)
        end as ci_low,
        case
            when averaged.half_width is not null
                then round(least(1.0, averaged.macro_average + averaged.half_width), 6)
        end as ci_high,
        averaged.n_won,
        averaged.n_won_clearly

    from averaged
    cross join titles

)

select * from final
