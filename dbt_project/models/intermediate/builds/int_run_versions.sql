-- One row per title and run: a hash of all that its verdict depends on: itself, its history and its
-- re-checks. Where it is another one, int_comparisons_to_build has the verdict computed again.
with

versions as (select * from {{ ref('promptlab', 'int_task_versions') }}),
variants as (select * from {{ ref('promptlab', 'int_task_variants') }}),
histories as (select * from {{ ref('promptlab', 'int_run_histories') }}),
rechecks as (select * from {{ ref('promptlab', 'int_rechecks') }}),
variant_histories as (select * from {{ ref('promptlab', 'int_variant_histories') }}),
last_runs as (select * from {{ ref('promptlab', 'int_last_runs') }}),
baselines as (select * from {{ ref('promptlab', 'int_task_baselines') }}),
accepts as (select * from {{ ref('promptlab', 'stg_tasks__accepts') }}),
outages as (select * from {{ ref('promptlab', 'int_known_outages') }}),

-- a task counts with its re-checks, and with the word of the person who accepted it
members as (

    select
        variants.title,
        variants.run_id,
        concat_ws(
            ' ',
            versions.fingerprint,
            variants.variant,
            cast(accepts.accepted_at as string),
            case when outages.task_id is not null then 'outage' end,
            case when baselines.last_task_id is null then 'first' end
        ) as fingerprint

    from variants
    inner join versions using (task_id)
    left join accepts using (task_id)
    left join baselines using (task_id)
    left join outages using (task_id)
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
        md5(string_agg(fingerprint, ' ' order by fingerprint)) as fingerprint

    from members
    group by title, run_id

),

-- a title that its last run had is gone unless its own run has it, too
titles as (

    select distinct
        title,
        run_id

    from variants
    where recheck_of is null

),

titles_of_runs as (

    select
        run_id,
        string_agg(title, ' ' order by title) as parts

    from titles
    group by run_id

),

-- the answer for a run depends on its history, and on what the run before it had
read_runs as (

    select
        histories.title,
        histories.run_id,
        concat_ws(' ', histories.history, cast(histories.runs_ago as string), runs.fingerprint) as part

    from histories
    inner join runs
        on histories.title = runs.title and histories.history_run_id = runs.run_id

    union all

    select
        title,
        run_id,
        concat_ws(
            ' ', 'counted', variant, history_variant, cast(until_run_number as string)
        ) as part

    from variant_histories
    where variant <> history_variant

    union all

    select
        titles.title,
        titles.run_id,
        concat_ws(' ', 'titles', titles_of_runs.parts) as part

    from titles
    inner join titles_of_runs using (run_id)

    union all

    select
        last_runs.title,
        last_runs.run_id,
        concat_ws(' ', 'last', runs.fingerprint) as part

    from last_runs
    inner join runs on last_runs.last_run_id = runs.run_id

),

run_versions as (

    select
        title,
        run_id,
        md5(string_agg(part, ' ' order by part)) as fingerprint

    from read_runs
    group by title, run_id

)

select * from run_versions
