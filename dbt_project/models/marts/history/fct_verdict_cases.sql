{{ config(unique_key='task_id', meta={'batch': 'comparisons'}) }}

with

cases as (select * from {{ ref('int_verdict_cases') }}),
tested as (select * from {{ ref('int_verdict_cases_tested') }}),

final as (

    select

        ---------- ids
        cases.task_id,
        cases.case_id,

        ---------- numerics
        cases.k as n_rounds_now,
        cases.x as n_passed_now,
        cases.n_errors_now,
        cases.k_baseline as n_rounds_baseline,
        cases.x_baseline as n_passed_baseline,
        cases.n - cases.k as n_rounds_before,
        cases.s - cases.x as n_passed_before,
        cases.n_errors - cases.n_errors_now as n_errors_before,
        {{ rounded('tested.p', 9) }} as p,
        {{ rounded('tested.n_by_chance') }} as n_by_chance,

        ---------- booleans
        tested.is_newly_failing,
        tested.is_newly_passing,
        tested.is_listed

    from cases
    inner join tested using (task_id, case_id)

)

select * from final
