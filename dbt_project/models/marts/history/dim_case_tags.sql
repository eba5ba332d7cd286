-- One row per task, case and tag, the name of a group of cases.
with

tags as (select * from {{ ref('promptlab', 'int_case_tags') }} where {{ in_this_build() }})

select * from tags
