with

runs as (
    select * from {{ ref('int_drift_runs') }}
    where {{ in_this_build('comparisons', 'task_id') }}
),
policy as (select * from {{ ref('verdict_policy') }}),
contents as (
    select * from {{ ref('int_case_contents') }}
    where task_id in (select runs.run_task_id from runs)
),
case_rounds as (
    select * from {{ ref('int_case_rounds') }}
    where task_id in (select runs.run_task_id from runs)
),
case_results as (
    select * from {{ ref('int_case_results') }}
    where task_id in (select runs.run_task_id from runs)
),
correlations as (select * from {{ ref('int_round_correlations') }}),

-- the same case: asked the same, and judged by the same
shared as (

    select
        runs.task_id,
        runs.run_task_id,
        runs.number,
        own_contents.case_id

    from runs
    inner join contents as own_contents on runs.task_id = own_contents.task_id
    inner join contents as run_contents
        on
            runs.run_task_id = run_contents.task_id
            and own_contents.case_id = run_contents.case_id
            and own_contents.contents_hash = run_contents.contents_hash

),

-- a run of other cases is no earlier state of this suite
counted as (

    select
        task_id,
        run_task_id,
        number,
        count(*) as n_cases,
        max(count(*)) over (partition by task_id) as n_cases_newest

    from shared
    group by task_id, run_task_id, number

),

kept as (

    select
        counted.task_id,
        counted.run_task_id,
        row_number() over (
            partition by counted.task_id order by counted.number
        ) as run_number,
        count(*) over (partition by counted.task_id) as n_runs,
        policy.min_runs_drift

    from counted
    cross join policy
    where counted.n_cases >= policy.min_share_drift * counted.n_cases_newest

),

joined as (

    select
        kept.task_id,
        kept.run_task_id,
        shared.case_id,
        kept.run_number,
        kept.n_runs,
        case
            when not coalesce(case_rounds.has_copies or correlations.is_correlated, false)
                then case_rounds.n_rounds
            else least(case_rounds.n_rounds, 1)
        end as k,
        case
            when not coalesce(case_rounds.has_copies or correlations.is_correlated, false)
                then case_rounds.n_passed
            when case_rounds.is_first_passed then 1
            else 0
        end as x,
        case_results.aggregated_score as score

    from kept
    inner join shared using (task_id, run_task_id)
    left join case_rounds
        on kept.run_task_id = case_rounds.task_id and shared.case_id = case_rounds.case_id
    left join case_results
        on kept.run_task_id = case_results.task_id and shared.case_id = case_results.case_id
    left join correlations on kept.task_id = correlations.task_id
    where kept.n_runs >= kept.min_runs_drift

),

measured as (

    select
        task_id,
        run_task_id,
        case_id,
        'pass_rate' as measure,
        run_number,
        n_runs,
        k,
        x,
        x / cast(k as double) as value

    from joined
    where k > 0

    union all

    select
        task_id,
        run_task_id,
        case_id,
        'overall_score' as measure,
        run_number,
        n_runs,
        cast(null as bigint) as k,
        cast(null as bigint) as x,
        score as value

    from joined
    where score is not null

),

-- a case that some run lacks would move its value
complete as (

    select
        *,
        count(*) over (partition by task_id, measure, case_id) as n_runs_of_case

    from measured

),

cases as (

    select

        ---------- ids
        task_id,
        run_task_id,
        case_id,

        ---------- strings
        measure,

        ---------- numerics
        run_number,
        n_runs,
        k,
        x,
        value

    from complete
    where n_runs_of_case = n_runs

)

select * from cases
