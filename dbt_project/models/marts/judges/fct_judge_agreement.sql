{{ config(materialized='table') }}

-- One row per dimension, judge and slice (all, a title, a model, a tag and others): how well the judge agrees
-- with people.
with

counts as (select * from {{ ref('promptlab', 'int_agreement_counts') }}),

-- Answers that one label stands for (Kish), by the verdict of the judge: a sheet may be drawn
-- within each. A slice without a label of a verdict takes it from all labels of the judge.
weighted as (

    select
        *,
        coalesce(
            weight_if_passed,
            max(case when slice_kind = 'all' then weight_if_passed end) over of_judge,
            weight_if_failed
        ) as pass_weight,
        coalesce(
            weight_if_failed,
            max(case when slice_kind = 'all' then weight_if_failed end) over of_judge,
            weight_if_passed
        ) as fail_weight

    from counts
    window of_judge as (partition by dimension_id, judge)

),

-- the four cells of judge and people as weighted shares, and as labels
shares as (

    select
        *,
        (w_both_pass + w_both_fail) / w_all as agreement,
        w_both_pass / nullif(w_both_pass + w_only_judge_fails, 0) as tpr,
        w_both_fail / nullif(w_only_judge_passes + w_both_fail, 0) as tnr,
        w_both_pass / pass_weight as labels_both_pass,
        w_only_judge_fails / fail_weight as labels_only_judge_fails,
        w_only_judge_passes / pass_weight as labels_only_judge_passes,
        w_both_fail / fail_weight as labels_both_fail,
        power(w_all, 2) / nullif(w_squares, 0) as n_effective,
        w_both_pass / w_all as p_a,
        w_only_judge_fails / w_all as p_b,
        w_only_judge_passes / w_all as p_c,
        w_both_fail / w_all as p_d,
        g_score_2 / g_n - power(g_score / g_n, 2) as score_spread,
        g_grade_2 / g_n - power(g_grade / g_n, 2) as grade_spread,
        g_both / g_n - g_score * g_grade / power(g_n, 2) as covariance

    from weighted

),

kappas as (

    select
        *,
        (p_a + p_b) * (p_a + p_c) + (p_c + p_d) * (p_b + p_d) as kappa_chance,
        (p_a + p_b + p_a + p_c) / 2 as mean_pass,
        case when kappa_chance < 1 then (agreement - kappa_chance) / (1 - kappa_chance) end
            as kappa,
        (agreement - 2 * mean_pass * (1 - mean_pass)) / (1 - 2 * mean_pass * (1 - mean_pass))
            as gwet_ac1

    from shares

),

-- Of kappa: Fleiss, Cohen and Everitt 1969. Of the agreement over cases, whose rounds are not
-- independent.
errors as (

    select
        *,
        case
            when kappa_chance < 1 and n_effective > 1 then sqrt(greatest(
                0,
                p_a * power(1 - (2 * p_a + p_b + p_c) * (1 - kappa), 2)
                + p_d * power(1 - (2 * p_d + p_b + p_c) * (1 - kappa), 2)
                + power(1 - kappa, 2) * (
                    p_b * power((p_a + p_c) + (p_c + p_d), 2)
                    + p_c * power((p_b + p_d) + (p_a + p_b), 2)
                )
                - power(kappa - kappa_chance * (1 - kappa), 2)
            )) / ((1 - kappa_chance) * sqrt(n_effective))
        end as kappa_se,
        case
            when n_cases > 1
                then sqrt(n_cases / (n_cases - 1e0) * residual_squares) / w_all
        end as agreement_se,
        n_cases - 1 as cases_less_one

    from kappas

),

bounded as (

    select
        *,
        {{ z_975() }} * kappa_se as kappa_half_width,
        {{ t_quantile('cases_less_one') }} * agreement_se as agreement_half_width

    from errors

),

final as (

    select

        ---------- strings
        dimension_id,
        judge,
        slice_kind,
        slice,
        case
            when n_judged = 0 then 'nothing_judged'
            when n_pass = 0 then 'no_passing_label'
            when n_fail = 0 then 'no_failing_label'
            when {{ has_few_labels('n_pass', 'n_fail') }} then 'few_labels'
        end as reason,

        ---------- numerics
        n_rounds,
        n_cases,
        n_judged,
        n_unjudged,
        n_disputed,
        n_pass,
        n_fail,
        n_both_pass,
        n_only_judge_fails,
        n_only_judge_passes,
        n_both_fail,
        round(agreement, 6) as agreement,
        case
            when agreement_se > 0 then round(greatest(0, agreement - agreement_half_width), 6)
        end as agreement_low,
        case
            when agreement_se > 0 then round(least(1, agreement + agreement_half_width), 6)
        end as agreement_high,
        round(tpr, 6) as tpr,
        round(
            {{ wilson_bound_of_draws(
                'labels_both_pass', 'labels_only_judge_fails', 'pass_weight', 'fail_weight', -1
            ) }}, 6
        ) as tpr_low,
        round(
            {{ wilson_bound_of_draws(
                'labels_both_pass', 'labels_only_judge_fails', 'pass_weight', 'fail_weight', 1
            ) }}, 6
        ) as tpr_high,
        round(tnr, 6) as tnr,
        round(
            {{ wilson_bound_of_draws(
                'labels_both_fail', 'labels_only_judge_passes', 'fail_weight', 'pass_weight', -1
            ) }}, 6
        ) as tnr_low,
        round(
            {{ wilson_bound_of_draws(
                'labels_both_fail', 'labels_only_judge_passes', 'fail_weight', 'pass_weight', 1
            ) }}, 6
        ) as tnr_high,
        round(p_c - p_b, 6) as leniency,
        case
            when n_judged > 0
                then {{ mcnemar_p_value('n_only_judge_fails', 'n_only_judge_passes') }}
        end as leniency_p,
        round(kappa, 6) as cohens_kappa,
        case when kappa_se > 0 then round(kappa - kappa_half_width, 6) end as kappa_low,
        case when kappa_se > 0 then round(least(1, kappa + kappa_half_width), 6) end
            as kappa_high,
        round(gwet_ac1, 6) as gwet_ac1,
        n_labelled_twice,
        round(n_people_agree / nullif(cast(n_labelled_twice as double), 0), 6)
            as people_agreement,
        -- Krippendorff's alpha with squared differences: of pass and fail the nominal one
        round(
            1 - people_differences * (people_n - 1)
            / nullif(2e0 * (people_n * people_squares - power(people_sum, 2)), 0),
            6
        ) as people_alpha,
        n_graded,
        round((g_score - g_grade) / g_n, 6) as mean_difference,
        round(g_absolute / g_n, 6) as mean_absolute_difference,
        case
            when n_graded > 2 and score_spread > 1e-12 and grade_spread > 1e-12
                then round(covariance / sqrt(score_spread * grade_spread), 6)
        end as pearson,
        case
            when n_graded > 1 and score_spread + grade_spread > 1e-12 then round(
                2 * covariance / (
                    score_spread + grade_spread + power((g_score - g_grade) / g_n, 2)
                ),
                6
            )
        end as weighted_kappa,

        ---------- booleans
        coalesce(abs(tnr - n_both_fail / nullif(cast(n_fail as double), 0)) > 1e-6, false)
        or coalesce(abs(tpr - n_both_pass / nullif(cast(n_pass as double), 0)) > 1e-6, false)
            as is_weighted

    from bounded

)

select * from final
