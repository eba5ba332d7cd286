-- The memory runs that this build computes: those with other files than when they were last
-- built, and those that are gone (no fingerprint). A full refresh takes all.
with

runs as (

    select * from {{ ref('stg_memory__runs') }}

),

built as (

    select * from {{ ref('stg_builds__memory_builds') }}
    where {{ unless_full_refresh() }}

),

versions as (

    select
        run_id,
        md5(string_agg(cast(load_id as varchar), ',' order by load_id)) as fingerprint

    from runs
    group by run_id

),

new_or_changed as (

    select versions.*

    from versions
    left join built
        on versions.run_id = built.run_id and versions.fingerprint = built.fingerprint
    where built.run_id is null

),

gone as (

    select
        built.run_id,
        cast(null as varchar) as fingerprint

    from built
    left join versions on built.run_id = versions.run_id
    where versions.run_id is null

),

to_build as (

    select * from new_or_changed

    union all

    select * from gone

)

select * from to_build
