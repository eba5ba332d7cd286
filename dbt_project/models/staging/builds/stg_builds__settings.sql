-- One row per setting of the config that SQL needs, by its kind (`setting`) and what it is about
-- (`setting_name`); of several files that set it the newest counts.
with

source as (select * from {{ source('raw', 'settings') }}),

-- a title may have several flaky cases and outages, and one of everything else
newest as (

    select *
    from source
    qualify row_number() over (
        partition by
            setting,
            name,
            case when setting in ('known_flaky', 'known_outage') then value end
        order by set_at desc, file asc, value asc
    ) = 1

),

renamed as (

    select

        ---------- strings
        setting,
        name as setting_name,
        value as setting_value,
        file as config_file,

        ---------- numerics
        input_price,
        output_price,

        ---------- dates
        ends_on

    from newest

)

select * from renamed
