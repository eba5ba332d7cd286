with

source as ({{ live_rows_of_tasks('judges') }}),

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
