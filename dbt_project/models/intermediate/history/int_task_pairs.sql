-- One row per pair of tasks to compare: a task (the candidate) with its baseline task, or a pair that was requested.
with

baselines as (select * from {{ ref('promptlab', 'int_task_baselines') }}),
requests as (select * from {{ ref('promptlab', 'stg_tasks__requested_comparisons') }}),
tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),

default_pairs as (

    select
        baseline_task_id,
        task_id as candidate_task_id,
        baseline_source as pair_source

    from baselines
    where baseline_task_id is not null

),

requested_pairs as (

    select distinct
        requests.baseline_task_id,
        requests.candidate_task_id,
        'requested' as pair_source

    from requests
    inner join tasks as baseline_tasks on requests.baseline_task_id = baseline_tasks.task_id
    inner join tasks as candidate_tasks on requests.candidate_task_id = candidate_tasks.task_id
    left join default_pairs using (baseline_task_id, candidate_task_id)
    where
        default_pairs.candidate_task_id is null
        and requests.baseline_task_id <> requests.candidate_task_id

),

pairs as (

    select * from default_pairs

    union all

    select * from requested_pairs

)

select * from pairs
