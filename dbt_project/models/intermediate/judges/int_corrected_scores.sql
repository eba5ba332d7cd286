{{ config(materialized='view') }}

-- One row per task, dimension and judge with grades: the mean score that people would give, from their
-- grades of answers drawn at random and the judge's scores of all others.
with

rates as (select * from {{ ref('promptlab', 'int_judge_rates') }}),
labels as (select * from {{ ref('promptlab', 'int_drawn_labels') }}),

-- PPI++ (Angelopoulos and others 2023): grades of answers drawn at random from this run,
-- and the scores of the judge for the others
graded as (

    select
        task_id,
        dimension_id,
        judge,
        count(*) as n_labels_own,
        count(distinct case_id) as n_cases_graded,
        avg(grade) as mean_grade,
        avg(score) as mean_graded_score,
        covar_samp(grade, score) as covariance,
        var_samp(grade) as grade_variance,
        var_samp(score) as graded_score_variance,
        sum(score) as graded_sum,
        sum(power(score, 2)) as graded_squares

    from labels
    where draw = 'random' and grade is not null and score is not null
    group by all

),

rest as (

    select
        *,
        n_scored - n_labels_own as n_rest,
        score_sum - graded_sum as rest_sum,
        (score_squares - graded_squares - power(rest_sum, 2) / n_rest)
        / nullif(n_rest - 1, 0) as rest_variance,
        least(1, greatest(
            0,
            coalesce(
                covariance
                / nullif((1 + cast(n_labels_own as double) / n_rest) * score_variance, 0),
                0
            )
        )) as pull

    from rates
    inner join graded using (task_id, dimension_id, judge)
    where n_labels_own > 1 and n_scored > n_labels_own + 1

),

-- rounds of one case count as one
final as (

    select
        task_id,
        dimension_id,
        title,
        judge,
        -- the interval is one for large numbers
        case when n_labels_own < 30 then 'few_labels' end as reason,
        n_cases_scored,
        n_scored,
        n_labels_own,
        mean_score,
        pull * rest_sum / n_rest + mean_grade - pull * mean_graded_score as corrected_score,
        {{ z_975() }} * sqrt(
            power(pull, 2) * rest_variance / n_rest * n_scored / n_cases_scored
            + (grade_variance + power(pull, 2) * graded_score_variance - 2 * pull * covariance)
            / n_cases_graded
        ) as half_width

    from rest

)

select * from final
