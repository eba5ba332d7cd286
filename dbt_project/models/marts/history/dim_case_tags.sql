with

tags as (select * from {{ ref('int_case_tags') }} where {{ in_this_build() }}),

final as (

    select

        ---------- ids
        task_id,
        case_id,

        ---------- strings
        tag

    from tags

)

select * from final
