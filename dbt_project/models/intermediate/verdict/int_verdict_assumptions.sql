with

runs as (select * from {{ ref('promptlab', 'int_verdict_runs') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),
rounds as (select * from {{ ref('promptlab', 'int_rounds_counted') }}),
correlations as (select * from {{ ref('promptlab', 'int_round_correlations') }}),
shifts as (select * from {{ ref('promptlab', 'int_run_shifts') }}),
clusters as (
    select * from {{ ref('promptlab', 'int_cluster_tests') }}
    where treatment = 'errors_left_out'
),

all_assumptions as (

    select distinct
        task_id,
        'earlier_versions_alike' as assumption

    from runs
    where tier = 2

    union all

    -- too few clusters to test them instead of the cases
    select
        clusters.task_id,
        'cases_independent' as assumption

    from clusters
    cross join policy
    where clusters.n_clusters < policy.min_clusters

    union all

    -- nothing shows whether several rounds of a run are copies of one answer
    select distinct
        rounds.task_id,
        'rounds_independent' as assumption

    from rounds
    left join correlations using (task_id)
    where rounds.k > 1 and correlations.task_id is null

    union all

    -- the reference runs show it: each run counts one round
    select distinct
        rounds.task_id,
        'rounds_alike' as assumption

    from rounds
    inner join correlations using (task_id)
    where correlations.is_correlated and rounds.n_rounds > 1

    union all

    -- nothing shows how far whole runs differ: provider and judge may have changed
    select distinct
        rounds.task_id,
        'no_run_shift' as assumption

    from rounds
    left join shifts using (task_id)
    where shifts.task_id is null

),

listed as (

    select
        task_id,
        {{ json_list_of('assumption', 'assumption') }} as assumptions

    from all_assumptions
    group by task_id

)

select * from listed
