-- One row per compared pair of tasks and case of either: whether both ask and expect the same
-- (`is_comparable`), else what differs.
with

pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }} where {{ in_this_build('comparisons') }}),
cases as (
    select * from {{ ref('promptlab', 'int_case_contents') }}
    where
        task_id in (select pairs.baseline_task_id from pairs)
        or task_id in (select pairs.candidate_task_id from pairs)
),

of_baselines as (

    select
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        cases.*

    from pairs
    inner join cases on pairs.baseline_task_id = cases.task_id

),

of_candidates as (

    select
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        cases.*

    from pairs
    inner join cases on pairs.candidate_task_id = cases.task_id

),

paired as (

    select

        ---------- ids
        baseline_task_id,
        candidate_task_id,
        case_id,

        ---------- strings
        case
            when of_baselines.task_id is null then 'candidate'
            when of_candidates.task_id is null then 'baseline'
            else 'both'
        end as present_in,
        case
            when of_baselines.task_id is null or of_candidates.task_id is null then null
            when of_baselines.inputs_hash <> of_candidates.inputs_hash then 'inputs_differ'
            -- no expectation, and no reference, is an equal of none
            when
                coalesce(of_baselines.expectations_hash, '')
                <> coalesce(of_candidates.expectations_hash, '')
                then 'expectations_differ'
            when
                coalesce(of_baselines.references_hash, '')
                <> coalesce(of_candidates.references_hash, '')
                then 'references_differ'
        end as content_reason,

        ---------- booleans
        present_in = 'both' and content_reason is null as is_comparable,
        -- a tool judged both, each by its own assertions: both verdicts count
        present_in = 'both'
        and coalesce(of_baselines.assertions_hash, '')
        <> coalesce(of_candidates.assertions_hash, '') as has_other_assertions

    from of_candidates
    full outer join of_baselines using (baseline_task_id, candidate_task_id, case_id)

)

select * from paired
