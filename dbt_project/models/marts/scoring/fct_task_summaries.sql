-- One row per task: its overall score, grade, cases by status and alerts.
with

results as (select * from {{ ref('promptlab', 'int_task_results') }}),
dimension_scores as (select * from {{ ref('promptlab', 'fct_dimension_scores') }} where {{ in_this_build() }}),
alerts as (select * from {{ ref('promptlab', 'int_task_alerts') }} where {{ in_this_build() }}),
grades as (select * from {{ ref('promptlab', 'promptlab_grades') }}),
severities as (select * from {{ ref('promptlab', 'promptlab_severities') }}),

earned as (

    select
        results.task_id,
        max(grades.min_score) as min_score

    from results
    inner join grades on results.overall_score >= grades.min_score
    where not results.is_mostly_unscored
    group by results.task_id

),

-- the best grade that the alerts leave open
capped as (

    select
        alerts.task_id,
        min(grades.min_score) as highest_min_score

    from alerts
    inner join severities using (severity)
    inner join grades on severities.caps_grade_at = grades.grade
    group by alerts.task_id

),

graded as (

    select
        earned.task_id,
        earned.min_score > capped.highest_min_score as is_capped,
        case when is_capped then capped.highest_min_score else earned.min_score end as min_score

    from earned
    left join capped using (task_id)

),

weakest as (

    select
        task_id,
        dimension_id,
        row_number() over (
            partition by task_id order by score, dimension_position, dimension_id
        ) as score_rank,
        count(*) over (partition by task_id) as n_dimensions

    from dimension_scores
    where weight_used > 0

),

joined as (

    select
        results.*,
        coalesce(grades.grade, 'n/a') as grade,
        coalesce(graded.is_capped, false) as is_capped,
        weakest.dimension_id as weakest_dimension_id

    from results
    left join graded using (task_id)
    left join grades on graded.min_score = grades.min_score
    left join weakest
        on
            results.task_id = weakest.task_id
            and weakest.score_rank = 1
            and weakest.n_dimensions > 1

),

final as (

    select

        ---------- ids
        task_id,
        weakest_dimension_id,

        ---------- strings
        grade,

        ---------- numerics
        overall_score,
        ci_low,
        ci_high,
        coverage,
        pass_rate,
        n_cases,
        n_pass,
        n_fail,
        n_fail_by_errors,
        n_error,
        n_unevaluated,
        n_scored_cases,
        n_rounds,
        n_scored_rounds,

        ---------- booleans
        is_capped,
        is_mostly_unscored

    from joined

)

select * from final
