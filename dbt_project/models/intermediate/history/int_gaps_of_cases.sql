{{ config(materialized=view_of_step()) }}

with

cases as (select * from {{ ref('promptlab', 'int_yardstick_cases') }}),
asserted_cases as (select * from {{ ref('promptlab', 'int_asserted_cases') }}),
judge_changes as (select * from {{ ref('promptlab', 'int_judge_changes') }}),
pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }} where {{ in_this_build('comparisons') }}),
replaced_runs as (select * from {{ ref('promptlab', 'int_replaced_runs') }}),
rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }}),
loads as (select * from {{ ref('promptlab', 'stg_loads__loads') }}),

gaps as (

    select
        baseline_task_id,
        candidate_task_id,
        'must_haves_unjudged' as gap,
        'must_haves' as subject,
        cast(null as string) as name,
        count(*) as n_before,
        count(*) filter (where are_must_haves_judged) as n_now

    from cases
    where are_must_haves_judged is not null
    group by baseline_task_id, candidate_task_id
    having n_now < n_before

    union all

    select
        baseline_task_id,
        candidate_task_id,
        'assertions_unjudged' as gap,
        'assertions' as subject,
        cast(null as string) as name,
        count(*) as n_before,
        count(*) filter (where are_assertions_judged) as n_now

    from asserted_cases
    group by baseline_task_id, candidate_task_id
    having n_now < n_before

    union all

    select
        cases.baseline_task_id,
        cases.candidate_task_id,
        'judge_changed' as gap,
        judge_changes.judged_name as subject,
        judge_changes.judged_name as name,
        count(*) as n_before,
        0 as n_now

    from cases
    inner join judge_changes using (baseline_task_id, candidate_task_id)
    group by cases.baseline_task_id, cases.candidate_task_id, judge_changes.judged_name

    union all

    select
        baseline_task_id,
        candidate_task_id,
        'rounds_missing' as gap,
        'rounds' as subject,
        cast(null as string) as name,
        cast(sum(n_rounds_before) as bigint) as n_before,
        cast(sum(least(n_rounds_before, n_rounds_now)) as bigint) as n_now

    from cases
    group by baseline_task_id, candidate_task_id
    having n_now < n_before

    union all

    -- a later run with the id of this one had new answers to some of its questions; all files
    -- of a call are of one run
    select
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        'runs_mixed' as gap,
        'rounds' as subject,
        cast(null as string) as name,
        count(*) as n_before,
        count(*) filter (where loads.ingest_id >= replaced_runs.ingest_id) as n_now

    from pairs
    inner join replaced_runs on pairs.candidate_task_id = replaced_runs.task_id
    inner join rounds on pairs.candidate_task_id = rounds.task_id
    inner join loads on rounds.load_id = loads.load_id
    group by pairs.baseline_task_id, pairs.candidate_task_id
    having n_now < n_before

)

select * from gaps
