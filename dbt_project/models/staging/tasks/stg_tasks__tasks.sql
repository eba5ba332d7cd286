with

source as (select * from {{ source('raw', 'tasks') }}),
names as (select * from {{ ref('stg_builds__settings') }} where setting = 'title'),
primaries as (select * from {{ ref('stg_builds__settings') }} where setting = 'primary'),

-- another name of a title counts as the title
titled as (

    select
        source.*,
        coalesce(names.setting_value, source.title) as known_title

    from source
    left join names on source.title = names.setting_name

),

renamed as (

    select

        ---------- ids
        titled.load_id,
        titled.task_id,
        titled.run_id,

        ---------- strings
        titled.source_kind,
        titled.known_title as title,
        titled.variant,
        titled.prompt_version,
        titled.prompt_name,
        titled.model,
        coalesce(titled.provider, titled.model) as provider,
        titled.triggered_by,
        titled.testset_ref,
        titled.pipeline_ref,
        titled.tool_version,
        primaries.setting_value as configured_primary,
        titled.branch,
        titled.base_branch,
        titled.commit_sha,
        titled.run_name,

        ---------- numerics
        titled.prompt_position,

        ---------- timestamps
        titled.created_at,

        ---------- json
        titled.env,
        titled.settings,
        titled.judge,
        titled.extras

    from titled
    left join primaries on titled.known_title = primaries.setting_name

)

select * from renamed
