with

totals as (select * from {{ ref('int_reported_totals') }})

select * from totals
