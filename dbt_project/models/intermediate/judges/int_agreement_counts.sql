{{ config(materialized='view') }}

-- One row per dimension, judge and slice (all, a title, a model, a tag and others): counts and weighted
-- sums of labels of people against verdicts of the judge, which fct_judge_agreement turns into rates.
with

answers as (select * from {{ ref('promptlab', 'int_labelled_slices') }}),

-- of one case, with the share of all that agrees
clusters as (

    select
        dimension_id,
        judge,
        slice_kind,
        slice,
        sum(verdict_weight) as weight,
        coalesce(sum(verdict_weight) filter (where truth = verdict), 0) as agreed,
        sum(sum(verdict_weight) filter (where truth = verdict)) over in_slice
        / sum(sum(verdict_weight)) over in_slice as agreement

    from answers
    where verdict_weight is not null
    group by dimension_id, judge, slice_kind, slice, cluster_id
    window in_slice as (partition by dimension_id, judge, slice_kind, slice)

),

cluster_sums as (

    select
        dimension_id,
        judge,
        slice_kind,
        slice,
        count(*) as n_cases,
        sum(power(agreed - weight * agreement, 2)) as residual_squares

    from clusters
    group by all

),

sums as (

    select
        dimension_id,
        judge,
        slice_kind,
        slice,
        count(*) as n_rounds,
        count(verdict_weight) as n_judged,
        count(*) filter (where truth is not null and verdict is null) as n_unjudged,
        count(*) filter (where is_disputed) as n_disputed,
        count(*) filter (where verdict_weight is not null and truth = 'pass') as n_pass,
        count(*) filter (where verdict_weight is not null and truth = 'fail') as n_fail,
        count(*) filter (where truth = 'pass' and verdict = 'pass') as n_both_pass,
        count(*) filter (where truth = 'pass' and verdict = 'fail') as n_only_judge_fails,
        count(*) filter (where truth = 'fail' and verdict = 'pass') as n_only_judge_passes,
        count(*) filter (where truth = 'fail' and verdict = 'fail') as n_both_fail,
        sum(verdict_weight) as w_all,
        sum(power(verdict_weight, 2)) as w_squares,
        coalesce(sum(verdict_weight) filter (where truth = 'pass' and verdict = 'pass'), 0) as w_both_pass,
        coalesce(sum(verdict_weight) filter (where truth = 'pass' and verdict = 'fail'), 0)
            as w_only_judge_fails,
        coalesce(sum(verdict_weight) filter (where truth = 'fail' and verdict = 'pass'), 0)
            as w_only_judge_passes,
        coalesce(sum(verdict_weight) filter (where truth = 'fail' and verdict = 'fail'), 0) as w_both_fail,
        sum(power(verdict_weight, 2)) filter (where verdict = 'pass')
        / sum(verdict_weight) filter (where verdict = 'pass') as weight_if_passed,
        sum(power(verdict_weight, 2)) filter (where verdict = 'fail')
        / sum(verdict_weight) filter (where verdict = 'fail') as weight_if_failed,
        count(*) filter (where n_labels > 1) as n_labelled_twice,
        count(*) filter (
            where n_labels > 1 and (n_pass = n_labels or n_fail = n_labels)
        ) as n_people_agree,
        sum(n_marks) filter (where n_marks > 1) as people_n,
        sum(mark_sum) filter (where n_marks > 1) as people_sum,
        sum(mark_squares) filter (where n_marks > 1) as people_squares,
        -- squared differences within an answer, each pair twice
        sum(2 * (n_marks * mark_squares - power(mark_sum, 2)) / (n_marks - 1e0))
        filter (where n_marks > 1) as people_differences,
        count(grade_weight) as n_graded,
        sum(grade_weight) as g_n,
        sum(grade_weight * score) as g_score,
        sum(grade_weight * grade) as g_grade,
        sum(grade_weight * score * score) as g_score_2,
        sum(grade_weight * grade * grade) as g_grade_2,
        sum(grade_weight * score * grade) as g_both,
        sum(grade_weight * abs(score - grade)) as g_absolute

    from answers
    group by all

),

final as (

    select
        sums.*,
        coalesce(cluster_sums.n_cases, 0) as n_cases,
        cluster_sums.residual_squares

    from sums
    left join cluster_sums using (dimension_id, judge, slice_kind, slice)

)

select * from final
