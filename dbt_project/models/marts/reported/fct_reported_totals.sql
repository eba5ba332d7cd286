with

totals as (select * from {{ ref('promptlab', 'int_reported_totals') }})

select * from totals
