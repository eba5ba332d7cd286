-- One row per task (the candidate) whose verdict and comparisons with earlier tasks are computed in this build,
-- with a hash of what they depend on; of a task that is gone they are only deleted. Read by `in_this_build`.
with

versions as (select * from {{ ref('promptlab', 'int_task_versions') }}),
pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }}),
variants as (select * from {{ ref('promptlab', 'int_task_variants') }}),
run_versions as (select * from {{ ref('promptlab', 'int_run_versions') }}),
quarantines as (select * from {{ ref('promptlab', 'stg_builds__settings') }} where setting = 'known_flaky'),
built as (select * from {{ ref('promptlab', 'stg_builds__comparison_builds') }}),

quarantined as (

    select
        setting_name as title,
        md5(string_agg(
            concat_ws(' ', setting_value, cast(ends_on as string)), ',' order by setting_value
        )) as fingerprint

    from quarantines
    group by setting_name

),

compared_with as (

    select
        pairs.candidate_task_id,
        string_agg(
            concat_ws(' ', pairs.baseline_task_id, pairs.pair_source, versions.fingerprint),
            ',' order by pairs.baseline_task_id, pairs.pair_source
        ) as description

    from pairs
    inner join versions on pairs.baseline_task_id = versions.task_id
    group by pairs.candidate_task_id

),

candidates as (

    select
        versions.task_id as candidate_task_id,
        md5(concat_ws(
            ' ',
            versions.fingerprint,
            run_versions.fingerprint,
            quarantined.fingerprint,
            compared_with.description
        )) as fingerprint

    from versions
    inner join variants using (task_id)
    left join run_versions
        on variants.title = run_versions.title and variants.run_id = run_versions.run_id
    left join quarantined on variants.title = quarantined.title
    left join compared_with on versions.task_id = compared_with.candidate_task_id

),

new_or_changed as (

    select candidates.*

    from candidates
    left join built using (candidate_task_id, fingerprint)
    where built.candidate_task_id is null

),

gone as (

    select
        built.candidate_task_id,
        cast(null as string) as fingerprint

    from built
    left join candidates using (candidate_task_id)
    where candidates.candidate_task_id is null

),

to_build as (

    select * from new_or_changed

    union all

    select * from gone

)

select * from to_build
