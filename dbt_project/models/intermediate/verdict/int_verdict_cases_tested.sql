with

cases as (select * from {{ ref('promptlab', 'int_verdict_cases') }}),
evidence as (select * from {{ ref('promptlab', 'int_test_evidence') }} where statistic = 'broad'),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

-- the chance of so few passes or fewer: 1 where no case could have fewer
tested as (

    select
        cases.*,
        case
            when cases.k > 0 and cases.k < cases.n
                then least(1e0, round(coalesce(evidence.p_at_most, 1e0), 12))
        end as p

    from cases
    left join evidence
        on
            cases.n = evidence.n
            and cases.s = evidence.s
            and cases.k = evidence.k
            and cases.x = evidence.v

),

-- every p that some case could have had, with its chance
possible as (

    select
        tested.task_id,
        round(evidence.p_at_most, 12) as p,
        evidence.p as chance,
        cast(null as string) as case_id

    from tested
    inner join evidence using (n, s, k)
    where evidence.p_at_most < 0.5

    union all

    select
        task_id,
        p,
        0e0 as chance,
        case_id

    from tested
    where p < 0.5

),

-- how many cases have this p or less: by chance, and found
counted as (

    select
        task_id,
        case_id,
        {{ exact_sum('chance', 'over up_to_p') }} as n_by_chance,
        count(case_id) over up_to_p as n_found,
        p

    from possible
    window up_to_p as (partition by task_id order by p range unbounded preceding)

),

thresholds as (

    select
        counted.task_id,
        max(counted.p) as p_threshold

    from counted
    cross join policy
    where
        counted.case_id is not null
        and counted.n_by_chance <= policy.max_list_share * counted.n_found
    group by counted.task_id

),

cases_tested as (

    select

        ---------- ids
        tested.task_id,
        tested.case_id,

        ---------- numerics
        tested.p,
        counted.n_by_chance,
        -- the baseline's rounds all pass and the new ones do not, and the other way round
        {{ pass_hat_k('tested.n', 'tested.s', 'tested.k_baseline') }} as chance_baseline_passes,
        {{ pass_hat_k('tested.n', 'tested.s', 'tested.k') }} as chance_passes,
        {{ pass_hat_k('tested.n', 'tested.s', '(tested.k + tested.k_baseline)') }}
            as chance_both_pass,

        ---------- booleans
        tested.p is not null
        and tested.x_baseline = tested.k_baseline and tested.x < tested.k as is_newly_failing,
        tested.p is not null
        and tested.x_baseline < tested.k_baseline and tested.x = tested.k as is_newly_passing,
        coalesce(tested.p <= thresholds.p_threshold, false) as is_listed

    from tested
    left join counted using (task_id, case_id)
    left join thresholds on tested.task_id = thresholds.task_id

)

select * from cases_tested
