with

contents as (select * from {{ ref('promptlab', 'int_verdict_contents') }}),
case_rounds as (
    select * from {{ ref('promptlab', 'int_case_rounds') }}
    where task_id in (select contents.run_task_id from contents)
),
scores as (select * from {{ ref('promptlab', 'int_verdict_scores') }}),

rounds as (

    select

        ---------- ids
        contents.task_id,
        contents.run_task_id,
        contents.case_id,

        ---------- strings
        'verdict' as measure,
        contents.prompt_version,

        ---------- numerics
        contents.place,
        case_rounds.n_rounds,
        case_rounds.n_passed,
        case_rounds.n_errors,

        ---------- booleans
        case_rounds.is_first_passed,
        case_rounds.has_copies

    from contents
    inner join case_rounds
        on contents.run_task_id = case_rounds.task_id and contents.case_id = case_rounds.case_id
    where contents.task_id not in (select scores.task_id from scores)

    union all

    -- a score above the low ones counts as a pass
    select
        task_id,
        run_task_id,
        case_id,
        'score' as measure,
        prompt_version,
        place,
        n_rounds,
        n_above as n_passed,
        0 as n_errors,
        is_first_above as is_first_passed,
        false as has_copies

    from scores

)

select * from rounds
