-- One row per label that a person gave an answer, on a dimension or the whole round.
with

source as (select * from {{ ref('promptlab', 'live_labels') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        case_id,
        round_id,
        dimension_id,
        output_hash,

        ---------- strings
        labeler,
        label,
        policy,
        "split" as split_name,
        draw,
        "comment" as label_comment,

        ---------- numerics
        "line" as line_number,
        grade,
        scale,
        weight,

        ---------- timestamps
        labeled_at

    from source

)

select * from renamed
