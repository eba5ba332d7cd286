-- One row per score from a file of scores, of a round on a dimension; several scorers may score one.
with

source as (select * from {{ ref('promptlab', 'live_scores') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        case_id,
        round_id,
        dimension_id,

        ---------- strings
        summary,
        scorer,
        scorer_version,

        ---------- numerics
        "line" as line_number,
        score,
        scale,

        ---------- json
        payload

    from source

)

select * from renamed
