{{ config(materialized='table', unique_key='task_id') }}

-- One row per task whose file or pipeline contains its prompt: the prompt, and its hash.
with

tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
resolved as (select * from {{ ref('promptlab', 'int_tasks_resolved') }}),
pipelines as (select * from {{ ref('promptlab', 'stg_pipelines__pipelines') }}),

joined as (

    select
        tasks.task_id,
        coalesce(json_extract_string(tasks.extras, '$.variant'), tasks.prompt_version)
            as variant_name,
        nullif(json_extract(tasks.extras, '$.prompt'), 'null') as extras_prompt,
        nullif(json_extract(tasks.env, '$.prompt'), 'null') as env_prompt,
        nullif(json_extract(pipelines.raw_data, '$.variants'), 'null') as variants,
        nullif(json_extract(pipelines.raw_data, '$.prompt'), 'null') as pipeline_prompt

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
            extras_prompt, env_prompt, nullif(json_extract(variant, '$.prompt'), 'null'), pipeline_prompt
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
