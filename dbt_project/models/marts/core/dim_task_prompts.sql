with

prompts as (select * from {{ ref('int_task_prompts') }} where {{ in_this_build() }}),

final as (

    select

        ---------- ids
        task_id,
        prompt_hash,

        ---------- json
        prompt

    from prompts

)

select * from final
