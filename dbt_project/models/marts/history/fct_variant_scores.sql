{{ config(materialized='view') }}

-- One row per title and variant: its newest whole result.
with

entries as (
    select * from {{ ref('promptlab', 'fct_leaderboard') }}
    where is_newest_of_variant and not is_partial and overall_score is not null
),

-- of one variant on several testsets the newest counts
newest as (

    select *
    from entries
    qualify row_number() over (
        partition by title, variant order by created_at desc nulls last, task_id desc
    ) = 1

),

-- a rank is certain as far as intervals do not overlap
compared as (

    select
        newest.task_id,
        count(*) as n_variants,
        count(*) filter (where others.ci_low > newest.ci_high) as n_clearly_better,
        count(*) filter (where others.ci_high < newest.ci_low) as n_clearly_worse,
        count(*) filter (where others.overall_score > newest.overall_score) as n_better

    from newest
    inner join newest as others
        on newest.title = others.title
    group by newest.task_id

),

final as (

    select

        ---------- ids
        newest.task_id,

        ---------- strings
        newest.title,
        newest.variant,
        newest.model,

        ---------- numerics
        newest.overall_score,
        newest.ci_low,
        newest.ci_high,
        newest.pass_rate,
        newest.pass_rate_low,
        newest.pass_rate_high,
        compared.n_variants,
        1 + compared.n_better as score_rank,
        1 + compared.n_clearly_better as rank_best,
        compared.n_variants - compared.n_clearly_worse as rank_worst,

        ---------- booleans
        compared.n_variants > 1 and compared.n_better = 0 as is_won,

        ---------- timestamps
        newest.created_at

    from newest
    inner join compared using (task_id)

)

select * from final
