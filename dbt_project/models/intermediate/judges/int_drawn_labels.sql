{{ config(materialized='view') }}

-- One row per round that was drawn by chance to be labelled, dimension and judge: what people say of
-- the answer (`truth`, `grade`), and what the judge says.
with

labels as (select * from {{ ref('promptlab', 'fct_labels') }}),

final as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        judge,
        max(draw) as draw,
        max(truth) as truth,
        max(verdict) as verdict,
        avg(grade / scale) as grade,
        max(score) as score

    from labels
    where draw in ('random', 'verdict') and not {{ is_for_training('split_name') }}
    group by all

)

select * from final
