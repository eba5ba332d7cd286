{{ config(materialized='table', unique_key='task_id') }}

with

tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
resolved as (select * from {{ ref('promptlab', 'int_tasks_resolved') }}),
pipelines as (select * from {{ ref('promptlab', 'stg_pipelines__pipelines') }}),

joined as (

    select
        tasks.task_id,
        coalesce(
            {{ json_as_text(json_field('tasks.extras', 'variant')) }}, tasks.prompt_version
        ) as variant_name,
        {{ json_field('tasks.extras', 'prompt') }} as extras_prompt,
        {{ json_field('tasks.env', 'prompt') }} as env_prompt,
        {{ json_field('pipelines.raw_data', 'variants') }} as variants,
        {{ json_field('pipelines.raw_data', 'prompt') }} as pipeline_prompt

    from tasks
    inner join resolved using (task_id)
    left join pipelines using (pipeline_id)

),

varied as (

    select
        *,
        {{ json_member('variants', 'variant_name') }} as variant

    from joined

),

chosen as (

    select
        task_id,
        coalesce(
            extras_prompt, env_prompt, {{ json_field('variant', 'prompt') }}, pipeline_prompt
        ) as prompt

    from varied

),

prompts as (

    select

        ---------- ids
        task_id,
        md5(cast(prompt as string)) as prompt_hash,

        ---------- json
        prompt

    from chosen
    where prompt is not null

)

select * from prompts
