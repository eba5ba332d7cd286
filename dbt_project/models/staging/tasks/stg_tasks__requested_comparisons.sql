-- One row per pair of tasks that a user asked to compare.
with

source as (select * from {{ source('raw', 'requested_comparisons') }}),

renamed as (

    select

        ---------- ids
        baseline_task_id,
        candidate_task_id,

        ---------- timestamps
        requested_at

    from source

)

select * from renamed
