-- One row per task: the standard error of its overall score, over clusters of cases, or cases.
with

dimensions as (select * from {{ ref('promptlab', 'int_dimension_scores') }}),
case_scores as (select * from {{ ref('promptlab', 'int_case_scores') }} where {{ in_this_build() }}),
cases as (select * from {{ ref('promptlab', 'stg_tasks__cases') }} where {{ in_this_build() }}),

-- how far each case pulls the overall score from where it is
pulls as (

    select
        case_scores.task_id,
        case_scores.case_id,
        sum(
            dimensions.weight_used * (case_scores.score - dimensions.exact_score)
            / dimensions.n_scored_cases
        ) as pull

    from case_scores
    inner join dimensions using (task_id, dimension_id)
    where dimensions.weight_used > 0 and case_scores.score is not null
    group by case_scores.task_id, case_scores.case_id

),

-- cases of one cluster pull together
of_clusters as (

    select
        pulls.task_id,
        count(*) as n_scored_cases,
        sum(pulls.pull) as pull

    from pulls
    inner join cases using (task_id, case_id)
    group by pulls.task_id, cases.cluster_id

),

-- the pulls of all cases add up to 0
errors as (

    select

        ---------- ids
        task_id,

        ---------- numerics
        cast(sum(n_scored_cases) as bigint) as n_scored_cases,
        count(*) as n_clusters,
        sqrt(count(*) / nullif(count(*) - 1e0, 0) * sum(pull * pull)) as standard_error

    from of_clusters
    group by task_id

)

select * from errors
