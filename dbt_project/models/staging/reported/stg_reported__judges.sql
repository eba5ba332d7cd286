-- One row per task and name (a dimension or an assertion) that a judge of its tool judged: model, prompt and rubric.
with

source as (select * from {{ source('raw', 'judges') }} where {{ is_live(of='task') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,

        ---------- strings
        name as judged_name,
        model as judge_model,
        template,
        rubric

    from source

)

select * from renamed
