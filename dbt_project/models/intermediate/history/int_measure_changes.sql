-- One row per compared pair of tasks, case and number of another tool that at least one of the two does not grade, such
-- as a perplexity: its value before and after. fct_measure_comparisons tests the change.
with

pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }} where {{ in_this_build('comparisons') }}),
cases as (select * from {{ ref('promptlab', 'int_case_pairs') }} where is_comparable),
dimensions as (select * from {{ ref('promptlab', 'stg_tasks__dimension_configs') }}),
scores as (
    select * from {{ ref('promptlab', 'stg_reported__scores') }}
    where
        reported_value is not null
        and (
            task_id in (select pairs.baseline_task_id from pairs)
            or task_id in (select pairs.candidate_task_id from pairs)
        )
),

case_values as (

    select
        scores.task_id,
        scores.case_id,
        scores.dimension_id,
        max(dimensions.name) as name,
        max(dimensions.direction) as direction,
        bool_and(coalesce(dimensions.is_graded, true)) as is_graded,
        avg(scores.reported_value) as case_value

    from scores
    inner join dimensions using (task_id, dimension_id)
    group by scores.task_id, scores.case_id, scores.dimension_id

),

changes as (

    select

        ---------- ids
        cases.baseline_task_id,
        cases.candidate_task_id,
        cases.case_id,
        of_candidates.dimension_id,

        ---------- strings
        of_candidates.name,
        -- null where the two tasks disagree
        case
            when of_baselines.direction = of_candidates.direction then of_candidates.direction
        end as direction,

        ---------- numerics
        of_baselines.case_value as baseline_value,
        of_candidates.case_value as candidate_value,
        -- means of equal numbers may differ in their last bit
        case
            when
                abs(of_candidates.case_value - of_baselines.case_value)
                <= 1e-12 * abs(of_baselines.case_value)
                then 0e0
            else of_candidates.case_value - of_baselines.case_value
        end as delta

    from cases
    inner join case_values as of_candidates
        on
            cases.candidate_task_id = of_candidates.task_id
            and cases.case_id = of_candidates.case_id
    inner join case_values as of_baselines
        on
            cases.baseline_task_id = of_baselines.task_id
            and cases.case_id = of_baselines.case_id
            and of_candidates.dimension_id = of_baselines.dimension_id
    where
        -- those graded on both sides are compared by their scores
        not (of_baselines.is_graded and of_candidates.is_graded)
        -- a mean or a difference beyond the doubles is no number
        and abs(of_candidates.case_value - of_baselines.case_value) <= 1.7976931348623157e308

)

select * from changes
