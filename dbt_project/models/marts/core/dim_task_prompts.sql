with

prompts as (select * from {{ ref('int_task_prompts') }} where {{ in_this_build() }})

select * from prompts
