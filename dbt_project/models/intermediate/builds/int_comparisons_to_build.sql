with

versions as (select * from {{ ref('promptlab', 'int_task_versions') }}),
pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }}),
reference_runs as (select * from {{ ref('promptlab', 'int_reference_runs') }}),
recheck_runs as (select * from {{ ref('promptlab', 'int_recheck_runs') }}),
variants as (select * from {{ ref('promptlab', 'int_task_variants') }}),
drift_runs as (select * from {{ ref('promptlab', 'int_drift_runs') }}),
built as (select * from {{ ref('promptlab', 'stg_builds__comparison_builds') }}),

described as (

    select
        pairs.candidate_task_id,
        concat_ws(
            ' ',
            pairs.baseline_task_id,
            pairs.pair_source,
            versions.fingerprint,
            pairs.is_baseline_changed
        ) as description

    from pairs
    inner join versions on pairs.baseline_task_id = versions.task_id

    union all

    select
        reference_runs.task_id as candidate_task_id,
        concat_ws(
            ' ',
            'reference',
            reference_runs.reference_task_id,
            reference_runs.tier,
            versions.fingerprint
        ) as description

    from reference_runs
    inner join versions on reference_runs.reference_task_id = versions.task_id

    union all

    select
        recheck_runs.task_id as candidate_task_id,
        concat_ws(
            ' ',
            'recheck',
            recheck_runs.recheck_task_id,
            recheck_runs.side,
            versions.fingerprint
        ) as description

    from recheck_runs
    inner join versions on recheck_runs.recheck_task_id = versions.task_id

    union all

    select
        drift_runs.task_id as candidate_task_id,
        concat_ws(' ', 'drift', drift_runs.number, versions.fingerprint) as description

    from drift_runs
    inner join versions on drift_runs.run_task_id = versions.task_id

),

described_together as (

    select
        candidate_task_id,
        {{ joined('description', "' '", 'description') }} as description

    from described
    group by candidate_task_id

),

compared as (

    select
        versions.task_id as candidate_task_id,
        md5(concat_ws(' ', versions.fingerprint, described_together.description)) as fingerprint

    from versions
    left join described_together on versions.task_id = described_together.candidate_task_id

),

-- variants of one run are tested together
of_runs as (

    select
        variants.run_id,
        md5({{ joined('compared.fingerprint', "' '", 'compared.fingerprint') }}) as fingerprint

    from compared
    inner join variants on compared.candidate_task_id = variants.task_id
    group by variants.run_id
    having count(*) > 1

),

compared_together as (

    select
        compared.candidate_task_id,
        coalesce(of_runs.fingerprint, compared.fingerprint) as fingerprint

    from compared
    left join variants on compared.candidate_task_id = variants.task_id
    left join of_runs on variants.run_id = of_runs.run_id

),

new_or_changed as (

    select compared.*

    from compared_together as compared
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
