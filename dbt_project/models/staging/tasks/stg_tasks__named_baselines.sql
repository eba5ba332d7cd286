with

source as (select * from {{ source('raw', 'named_baselines') }}),
names as (select * from {{ ref('stg_builds__settings') }} where setting = 'title'),

renamed as (

    select

        ---------- ids
        testset_id,
        task_id,

        ---------- strings
        coalesce(names.setting_value, source.title) as title,

        ---------- timestamps
        set_at

    from source
    left join names on source.title = names.setting_name

)

select * from renamed
