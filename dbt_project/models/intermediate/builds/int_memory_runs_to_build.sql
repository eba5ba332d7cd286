with

runs as (select * from {{ ref('stg_memory__runs') }}),
pairs as (select * from {{ ref('int_memory_run_pairs') }}),
built as (select * from {{ ref('stg_builds__memory_builds') }}),

loads as (

    select
        run_id,
        {{ joined('cast(load_id as string)', "','", 'load_id') }} as load_ids

    from runs
    group by run_id

),

baselines as (

    select
        pairs.candidate_run_id,
        {{ joined(
            "pairs.baseline_run_id || ' ' || loads.load_ids", "' '", 'pairs.pair_source'
        ) }} as description

    from pairs
    inner join loads on pairs.baseline_run_id = loads.run_id
    group by pairs.candidate_run_id

),

versions as (

    select
        loads.run_id,
        md5(concat_ws(' ', loads.load_ids, baselines.description)) as fingerprint

    from loads
    left join baselines on loads.run_id = baselines.candidate_run_id

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
        cast(null as string) as fingerprint

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
