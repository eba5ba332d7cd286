with

runs as (
    select * from {{ ref('promptlab', 'int_recheck_runs') }}
    where {{ in_this_build('comparisons', 'task_id') }}
),
tasks as (
    select * from {{ ref('promptlab', 'stg_tasks__tasks') }}
    where task_id in (select runs.recheck_task_id from runs)
),
case_rounds as (
    select * from {{ ref('promptlab', 'int_case_rounds') }}
    where task_id in (select runs.recheck_task_id from runs)
),
contents as (
    select * from {{ ref('promptlab', 'int_case_contents') }}
    where
        task_id in (select runs.task_id from runs)
        or task_id in (select runs.recheck_task_id from runs)
),
gaps as (select * from {{ ref('promptlab', 'int_recheck_gaps') }}),
reference_rounds as (select * from {{ ref('promptlab', 'int_rounds_counted') }} where place > 1 and k > 0),
variants as (select * from {{ ref('promptlab', 'int_task_variants') }}),

-- copies of an answer are one round: those from a cache, and those with a fixed seed
rounds as (

    select
        runs.task_id,
        runs.side,
        case_rounds.case_id,
        case_rounds.n_rounds,
        case_rounds.n_errors,
        case_rounds.n_must_haves_lost,
        case
            when case_rounds.has_copies or {{ json_text('tasks.settings', 'seed') }} is not null
                then least(case_rounds.n_rounds, 1)
            else case_rounds.n_rounds
        end as k,
        case
            when case_rounds.has_copies or {{ json_text('tasks.settings', 'seed') }} is not null
                then case when case_rounds.is_first_passed then 1 else 0 end
            else case_rounds.n_passed
        end as x

    from runs
    inner join tasks on runs.recheck_task_id = tasks.task_id
    inner join case_rounds on runs.recheck_task_id = case_rounds.task_id
    inner join contents as new_contents
        on
            runs.recheck_task_id = new_contents.task_id
            and case_rounds.case_id = new_contents.case_id
    inner join contents as own_contents
        on
            runs.task_id = own_contents.task_id
            and case_rounds.case_id = own_contents.case_id
            and new_contents.contents_hash = own_contents.contents_hash
    left join gaps
        on
            runs.repeated_task_id = gaps.repeated_task_id
            and runs.recheck_task_id = gaps.recheck_task_id
            and case_rounds.case_id = gaps.case_id
    -- what is judged in another way says nothing about the run
    where gaps.case_id is null

),

summed as (

    select
        task_id,
        case_id,
        sum(case when side = 'now' then k else 0 end) as k,
        sum(case when side = 'now' then x else 0 end) as x,
        sum(case when side = 'now' then n_errors else 0 end) as n_errors,
        sum(case when side = 'now' then least(n_must_haves_lost, k) else 0 end)
            as n_must_haves_lost,
        sum(case when side = 'now' then n_rounds - k else 0 end) as n_copies,
        sum(case when side = 'before' then k else 0 end) as k_before,
        sum(case when side = 'before' then x else 0 end) as x_before

    from rounds
    group by task_id, case_id

),

-- runs other than the baseline, whose luck selected the cases
earlier as (

    select
        reference_rounds.task_id,
        reference_rounds.case_id,
        sum(reference_rounds.k) as k,
        sum(reference_rounds.x) as x

    from reference_rounds
    inner join variants on reference_rounds.run_task_id = variants.task_id
    where variants.is_settled is not false
    group by reference_rounds.task_id, reference_rounds.case_id

),

cases as (

    select

        ---------- ids
        summed.task_id,
        summed.case_id,

        ---------- strings
        case
            when summed.k_before > 0 then 'rechecked'
            when earlier.k > 0 then 'earlier_runs'
            else 'none'
        end as reference,

        ---------- numerics
        cast(summed.k as bigint) as k,
        cast(summed.x as bigint) as x,
        cast(summed.n_errors as bigint) as n_errors,
        cast(summed.n_must_haves_lost as bigint) as n_must_haves_lost,
        cast(summed.n_copies as bigint) as n_copies,
        cast(
            case when summed.k_before > 0 then summed.k_before else coalesce(earlier.k, 0) end
            as bigint
        ) as k_before,
        cast(
            case when summed.k_before > 0 then summed.x_before else coalesce(earlier.x, 0) end
            as bigint
        ) as x_before

    from summed
    left join earlier using (task_id, case_id)
    where summed.k + summed.n_errors > 0

)

select * from cases
