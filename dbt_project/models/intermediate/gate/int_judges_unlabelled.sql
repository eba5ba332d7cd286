{{ config(materialized='view') }}

-- One row per task and dimension that a judge decides (its score counts, or it has to pass) whose judge no label of a
-- person confirms: neither one on the dimension, nor one on whole rounds, which answer for all dimensions.
with

dimensions as (select * from {{ ref('promptlab', 'fct_dimension_scores') }}),
labelled_judges as (
    select * from {{ ref('promptlab', 'fct_corrected_pass_rates') }} where measure = 'pass_rate'
),
verdicts as (select * from {{ ref('promptlab', 'fct_judge_verdicts') }} where is_used),

tasks_labelled_by_round as (

    select distinct task_id
    from labelled_judges
    where dimension_id = 'verdict'

),

judged_without_labels as (

    select distinct
        verdicts.task_id,
        verdicts.dimension_id

    from verdicts
    anti join labelled_judges using (task_id, dimension_id, judge)
    anti join tasks_labelled_by_round using (task_id)

),

unlabelled as (

    select
        dimensions.task_id,
        dimensions.dimension_id

    from dimensions
    inner join judged_without_labels using (task_id, dimension_id)
    where
        dimensions.is_judged
        and (
            dimensions.weight_used > 0
            or json_extract_string(dimensions.parameters, '$.pass_score') is not null
        )

)

select * from unlabelled
