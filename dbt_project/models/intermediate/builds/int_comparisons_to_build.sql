with

versions as (select * from {{ ref('promptlab', 'int_task_versions') }}),
pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }}),
variants as (select * from {{ ref('promptlab', 'int_task_variants') }}),
histories as (select * from {{ ref('promptlab', 'int_run_histories') }}),
rechecks as (select * from {{ ref('promptlab', 'int_rechecks') }}),
missing as (select * from {{ ref('promptlab', 'int_last_runs') }}),
accepts as (select * from {{ ref('promptlab', 'stg_tasks__accepts') }}),
quarantines as (select * from {{ ref('promptlab', 'stg_builds__settings') }} where setting = 'known_flaky'),
built as (select * from {{ ref('promptlab', 'stg_builds__comparison_builds') }}),

-- a task counts with its re-checks, and with the word of the person who accepted it
members as (

    select
        variants.title,
        variants.run_id,
        concat_ws(' ', versions.fingerprint, variants.variant, cast(accepts.accepted_at as string))
            as fingerprint

    from variants
    inner join versions using (task_id)
    left join accepts using (task_id)
    where variants.recheck_of is null

    union all

    select
        variants.title,
        variants.run_id,
        concat_ws(' ', 'recheck', versions.fingerprint) as fingerprint

    from rechecks
    inner join versions on rechecks.recheck_task_id = versions.task_id
    inner join variants on rechecks.task_id = variants.task_id

),

runs as (

    select
        title,
        run_id,
        md5({{ joined('fingerprint', "' '", 'fingerprint') }}) as fingerprint

    from members
    group by title, run_id

),

-- the answer for a run depends on its history, and on what the run before it had
read_runs as (

    select
        histories.title,
        histories.run_id,
        concat_ws(' ', histories.history, cast(histories.place as string), runs.fingerprint) as part

    from histories
    inner join runs
        on histories.title = runs.title and histories.counted_run_id = runs.run_id

    union all

    select
        missing.title,
        missing.run_id,
        concat_ws(' ', 'last', runs.fingerprint) as part

    from missing
    inner join runs on missing.last_run_id = runs.run_id

),

described_runs as (

    select
        title,
        run_id,
        md5({{ joined('part', "' '", 'part') }}) as fingerprint

    from read_runs
    group by title, run_id

),

quarantined as (

    select
        setting_name as title,
        md5({{ joined(
            "concat_ws(' ', setting_value, cast(ends_on as string))", "','", 'setting_value'
        ) }}) as fingerprint

    from quarantines
    group by setting_name

),

compared_with as (

    select
        pairs.candidate_task_id,
        {{ joined(
            "concat_ws(' ', pairs.baseline_task_id, pairs.pair_source, versions.fingerprint)",
            "','", 'pairs.baseline_task_id, pairs.pair_source'
        ) }} as description

    from pairs
    inner join versions on pairs.baseline_task_id = versions.task_id
    group by pairs.candidate_task_id

),

compared as (

    select
        versions.task_id as candidate_task_id,
        md5(concat_ws(
            ' ',
            versions.fingerprint,
            described_runs.fingerprint,
            quarantined.fingerprint,
            compared_with.description
        )) as fingerprint

    from versions
    inner join variants using (task_id)
    left join described_runs
        on variants.title = described_runs.title and variants.run_id = described_runs.run_id
    left join quarantined on variants.title = quarantined.title
    left join compared_with on versions.task_id = compared_with.candidate_task_id

),

new_or_changed as (

    select compared.*

    from compared
    left join built using (candidate_task_id, fingerprint)
    where built.candidate_task_id is null

),

gone as (

    select
        built.candidate_task_id,
        cast(null as string) as fingerprint

    from built
    left join compared using (candidate_task_id)
    where compared.candidate_task_id is null

),

to_build as (

    select * from new_or_changed

    union all

    select * from gone

)

select * from to_build
