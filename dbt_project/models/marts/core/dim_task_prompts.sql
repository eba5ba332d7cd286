with

prompts as (select * from {{ ref('promptlab', 'int_task_prompts') }} where {{ in_this_build() }})

select * from prompts
