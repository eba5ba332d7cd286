{{ config(unique_key='task_id', meta={'batch': 'comparisons'}) }}

with

cases as (select * from {{ ref('promptlab', 'int_verdict_cases') }} where measure = 'verdict'),
tested as (select * from {{ ref('promptlab', 'int_verdict_cases_tested') }}),
rechecked as (select * from {{ ref('promptlab', 'int_recheck_cases') }}),
compared as (select * from {{ ref('promptlab', 'int_cases_compared') }}),
baselines as (select * from {{ ref('promptlab', 'int_task_baselines') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_recheck_policy') }}),

-- what passed in the baseline and may be broken
suspected as (

    select
        cases.task_id,
        cases.case_id,
        count(*) over (partition by cases.task_id) as n_suspected,
        row_number() over (
            partition by cases.task_id
            order by
                case when compared.must_have_lost then 0 else 1 end,
                tested.p nulls last,
                cases.case_id
        ) as place

    from cases
    inner join tested using (task_id, case_id)
    inner join baselines using (task_id)
    left join compared
        on
            cases.task_id = compared.candidate_task_id
            and cases.case_id = compared.case_id
            and baselines.baseline_task_id = compared.baseline_task_id
    where
        tested.is_newly_failing
        or compared.status_change = 'newly_failing'
        or compared.must_have_lost

),

to_recheck as (

    select
        suspected.task_id,
        suspected.case_id,
        suspected.place,
        case
            when suspected.n_suspected <= policy.few_cases then policy.n_rounds_of_few
            else policy.n_rounds
        end as n_rounds

    from suspected
    cross join policy
    where suspected.place <= policy.max_cases

),

final as (

    select

        ---------- ids
        cases.task_id,
        cases.case_id,

        ---------- strings
        rechecked.reference as recheck_reference,

        ---------- numerics
        cases.k as n_rounds_now,
        cases.x as n_passed_now,
        cases.n_errors_now,
        cases.k_baseline as n_rounds_baseline,
        cases.x_baseline as n_passed_baseline,
        cases.n - cases.k as n_rounds_before,
        cases.s - cases.x as n_passed_before,
        cases.n_errors - cases.n_errors_now as n_errors_before,
        cases.n_rounds_now as n_rounds_run_now,
        cases.n_passed_now as n_passed_run_now,
        cases.n_rounds - cases.n_rounds_now as n_rounds_run_before,
        cases.n_passed - cases.n_passed_now as n_passed_run_before,
        {{ rounded('tested.p', 9) }} as p,
        {{ rounded('tested.n_by_chance') }} as n_by_chance,
        cast(to_recheck.place as bigint) as recheck_place,
        to_recheck.n_rounds as n_rounds_to_recheck,
        rechecked.k as n_rounds_rechecked,
        rechecked.x as n_passed_rechecked,
        rechecked.n_errors as n_errors_rechecked,
        rechecked.n_must_haves_lost as n_must_haves_lost_rechecked,
        rechecked.n_copies as n_copies_rechecked,
        rechecked.k_before as n_rounds_rechecked_before,
        rechecked.x_before as n_passed_rechecked_before,

        ---------- booleans
        tested.is_newly_failing,
        tested.is_newly_passing,
        tested.is_listed,
        -- all rounds in error say nothing more where they are asked again
        case
            when to_recheck.place is not null
                then
                    coalesce(rechecked.k >= policy.n_rounds, false)
                    or coalesce(rechecked.k = 0 and rechecked.n_errors >= policy.n_rounds, false)
        end as is_rechecked,
        -- without a round of the old side: hardly any new round passes
        case
            when
                to_recheck.place is not null
                and rechecked.reference = 'none' and rechecked.k >= policy.n_rounds
                then rechecked.x <= policy.max_pass_share * rechecked.k
        end as is_broken_alone

    from cases
    inner join tested using (task_id, case_id)
    cross join policy
    left join to_recheck using (task_id, case_id)
    left join rechecked using (task_id, case_id)

)

select * from final
