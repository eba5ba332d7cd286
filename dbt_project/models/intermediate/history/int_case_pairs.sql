-- One row per pair of tasks and case of either: how it ended on both sides, and whether
-- it was the same case. `content_reason` is null where it was.
with

pairs as (select * from {{ ref('int_task_pairs') }} where {{ in_this_build('comparisons') }}),

compared_tasks as (

    select baseline_task_id as task_id
    from pairs

    union

    select candidate_task_id as task_id
    from pairs

),
results as (
    select * from {{ ref('fct_case_results') }}
    where task_id in (select compared_tasks.task_id from compared_tasks)
),
contents as (
    select * from {{ ref('int_case_contents') }}
    where task_id in (select compared_tasks.task_id from compared_tasks)
),

cases as (

    select
        results.task_id,
        results.case_id,
        results.status,
        results.must_have_pass,
        results.aggregated_score is not null as is_scored,
        contents.inputs_hash,
        contents.expectations_hash,
        contents.references_hash

    from results
    inner join contents using (task_id, case_id)

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
        coalesce(of_candidates.baseline_task_id, of_baselines.baseline_task_id)
            as baseline_task_id,
        coalesce(of_candidates.candidate_task_id, of_baselines.candidate_task_id)
            as candidate_task_id,
        coalesce(of_candidates.case_id, of_baselines.case_id) as case_id,

        ---------- strings
        case
            when of_baselines.case_id is null then 'candidate'
            when of_candidates.case_id is null then 'baseline'
            else 'both'
        end as present_in,
        of_baselines.status as baseline_status,
        of_candidates.status as candidate_status,
        case
            when of_baselines.case_id is null or of_candidates.case_id is null then null
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
        of_baselines.must_have_pass as baseline_must_have_pass,
        of_candidates.must_have_pass as candidate_must_have_pass,
        coalesce(of_baselines.is_scored, false) as is_baseline_scored,
        coalesce(of_candidates.is_scored, false) as is_candidate_scored

    from of_candidates
    full outer join of_baselines
        on
            of_candidates.baseline_task_id = of_baselines.baseline_task_id
            and of_candidates.candidate_task_id = of_baselines.candidate_task_id
            and of_candidates.case_id = of_baselines.case_id

),

compared as (

    select
        *,
        present_in = 'both' and content_reason is null as is_comparable

    from paired

)

select * from compared
