{{ config(materialized=view_of_step()) }}

with

cases as (select * from {{ ref('int_verdict_cases') }} where measure = 'verdict'),
compared as (select * from {{ ref('int_cases_compared') }}),
baselines as (select * from {{ ref('int_task_baselines') }}),

-- what passed in the baseline and may be broken
suspected as (

    select

        ---------- ids
        cases.task_id,
        cases.case_id,

        ---------- booleans
        coalesce(compared.must_have_lost, false) as must_have_lost

    from cases
    inner join baselines using (task_id)
    left join compared
        on
            cases.task_id = compared.candidate_task_id
            and cases.case_id = compared.case_id
            and baselines.baseline_task_id = compared.baseline_task_id
    where
        (
            cases.k_baseline > 0
            and cases.x_baseline = cases.k_baseline
            and cases.x < cases.k
        )
        or compared.status_change = 'newly_failing'
        or compared.must_have_lost

)

select * from suspected
