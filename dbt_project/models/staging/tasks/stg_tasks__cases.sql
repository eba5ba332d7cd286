with

source as (select * from {{ source('raw', 'cases') }}),
memory_questions as (select * from {{ ref('stg_memory__questions') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        case_id,

        ---------- strings
        cluster,

        ---------- numerics
        position as case_position,

        ---------- json
        context,
        tags

    from source

),

of_memory as (

    select

        ---------- ids
        load_id,
        task_id,
        case_id,

        ---------- strings
        conversation as cluster,

        ---------- numerics
        question_position as case_position,

        ---------- json
        context,
        tags

    from memory_questions

),

cases as (

    select * from renamed

    union all

    select * from of_memory

)

select * from cases
