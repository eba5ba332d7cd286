{{ config(materialized='view') }}

-- One row per task whose cost is known: in all, by round and by case that passed.
with

numbers as (
    select * from {{ ref('promptlab', 'fct_trends') }}
    where measure in ('cost_total', 'cost_mean', 'cost_per_pass', 'tokens_total')
),

final as (

    select

        ---------- ids
        task_id,

        ---------- strings
        title,
        variant,
        prompt_version,
        model,

        ---------- numerics
        max(case when measure = 'cost_total' then value end) as cost_total,
        max(case when measure = 'cost_mean' then value end) as cost_per_round,
        max(case when measure = 'cost_per_pass' then value end) as cost_per_pass,
        max(case when measure = 'cost_total' then n end) as n_rounds,
        coalesce(max(case when measure = 'cost_per_pass' then n end), 0) as n_pass,
        max(case when measure = 'tokens_total' then value end) as tokens_total,

        ---------- timestamps
        created_at

    from numbers
    group by task_id, title, variant, prompt_version, model, created_at
    having max(case when measure = 'cost_total' then value end) is not null

)

select * from final
