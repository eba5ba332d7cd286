with

task_scores as (select * from {{ ref('int_task_scores') }}),
case_results as (select * from {{ ref('fct_case_results') }} where {{ in_this_build() }}),
dimension_scores as (select * from {{ ref('fct_dimension_scores') }} where {{ in_this_build() }}),
alerts as (select * from {{ ref('int_task_alerts') }} where {{ in_this_build() }}),
grades as (select * from {{ ref('grades') }}),
severities as (select * from {{ ref('severities') }}),

counted as (

    select
        task_id,
        count(*) as n_cases,
        count(*) filter (where status = 'pass') as n_pass,
        count(*) filter (where status = 'fail') as n_fail,
        count(*) filter (where status = 'error') as n_error,
        count(*) filter (where status = 'unevaluated') as n_unevaluated

    from case_results
    group by task_id

),

earned as (

    select
        task_scores.task_id,
        max(grades.min_score) as min_score

    from task_scores
    inner join grades on task_scores.overall_score >= grades.min_score
    where not task_scores.is_mostly_unscored
    group by task_scores.task_id

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

warned as (

    select
        task_id,
        count(*) filter (where severity = 'critical') as n_critical,
        count(*) filter (where severity = 'major') as n_major

    from alerts
    group by task_id

),

weakest as (

    select
        task_id,
        name,
        score,
        row_number() over (
            partition by task_id order by score, dimension_position, dimension_id
        ) as score_rank,
        count(*) over (partition by task_id) as n_dimensions

    from dimension_scores
    where weight_used > 0

),

joined as (

    select
        task_scores.*,
        coalesce(grades.grade, 'n/a') as grade,
        coalesce(graded.is_capped, false) as is_capped,
        {{ rounded(
            'cast(counted.n_pass as double)'
            ~ ' / nullif(counted.n_pass + counted.n_fail + counted.n_error, 0)'
        ) }} as pass_rate,
        coalesce(counted.n_cases, 0) as n_cases,
        coalesce(counted.n_pass, 0) as n_pass,
        coalesce(counted.n_fail, 0) as n_fail,
        coalesce(counted.n_error, 0) as n_error,
        coalesce(counted.n_unevaluated, 0) as n_unevaluated,
        coalesce(warned.n_critical, 0) as n_critical,
        coalesce(warned.n_major, 0) as n_major,
        weakest.name as weakest_name,
        weakest.score as weakest_score

    from task_scores
    left join counted using (task_id)
    left join graded using (task_id)
    left join grades on graded.min_score = grades.min_score
    left join warned using (task_id)
    left join weakest
        on
            task_scores.task_id = weakest.task_id
            and weakest.score_rank = 1
            and weakest.n_dimensions > 1

),

final as (

    select

        ---------- ids
        task_id,

        ---------- strings
        grade,
        {{ task_conclusion('zh') }} as conclusion,
        {{ task_conclusion('en') }} as conclusion_en,

        ---------- numerics
        overall_score,
        ci_low,
        ci_high,
        coverage,
        pass_rate,
        n_cases,
        n_pass,
        n_fail,
        n_error,
        n_unevaluated,
        n_rounds,
        n_scored_rounds

    from joined

)

select * from final
