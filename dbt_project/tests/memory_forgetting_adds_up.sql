{#- What retention lacks to 1 is exactly the forgetting that is named. -#}
with

lost as (

    select
        run_id,
        sum(n_right_before - n_still_right) as n_pairs
    from {{ ref('promptlab', 'fct_memory_retention') }}
    group by run_id

),

named as (

    select
        run_id,
        sum(n_forgotten_pairs) as n_pairs
    from {{ ref('promptlab', 'fct_memory_forgotten') }}
    group by run_id

)

select
    lost.run_id,
    lost.n_pairs,
    named.n_pairs as n_named_pairs
from lost
left join named
    on lost.run_id = named.run_id
where lost.n_pairs <> coalesce(named.n_pairs, 0)
