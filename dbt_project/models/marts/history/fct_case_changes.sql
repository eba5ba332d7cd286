{{ config(unique_key='candidate_task_id', meta={'batch': 'comparisons'}) }}

-- One row per compared pair of tasks and case of either: better, worse, the same, added, removed or not comparable.
with

cases as (select * from {{ ref('promptlab', 'int_cases_compared') }}),
drops as (select * from {{ ref('promptlab', 'promptlab_drop_severities') }}),

-- each severity reaches from its own drop to that of the next worse one
bands as (

    select
        severity,
        min_drop,
        lead(min_drop) over (order by min_drop) as next_drop

    from drops

),

final as (

    select

        ---------- ids
        cases.baseline_task_id,
        cases.candidate_task_id,
        cases.case_id,

        ---------- strings
        cases.change,
        -- whatever the score did
        case when cases.must_have_lost then 'critical' else bands.severity end as severity,
        cases.reason,
        cases.baseline_status,
        cases.candidate_status,
        cases.status_change,

        ---------- numerics
        cases.baseline_score,
        cases.candidate_score,
        cases.delta,

        ---------- booleans
        coalesce(cases.is_baseline_scored, false) as is_baseline_scored,
        cases.is_comparable,
        cases.has_other_assertions,
        cases.must_have_lost,
        cases.must_have_gained

    from cases
    left join bands
        on
            cases.delta <= -bands.min_drop
            and coalesce(cases.delta > -bands.next_drop, true)

)

select * from final
