-- One row per task whose file or pipeline contains its prompt: the prompt, and its hash.
with

prompts as (select * from {{ ref('promptlab', 'int_task_prompts') }} where {{ in_this_build() }})

select * from prompts
