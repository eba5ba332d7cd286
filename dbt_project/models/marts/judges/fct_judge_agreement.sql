{{ config(materialized='table') }}

with

labels as (select * from {{ ref('promptlab', 'fct_labels') }}),
tasks as (select * from {{ ref('promptlab', 'dim_tasks') }}),
rounds as (select * from {{ ref('promptlab', 'fct_rounds') }}),
tags as (select * from {{ ref('promptlab', 'dim_case_tags') }}),
families as (select * from {{ ref('promptlab', 'promptlab_model_families') }}),

-- Rounds in the judge's own prompt prove nothing about it; rounds that were drawn because
-- judges differ say nothing about rates.
labelled as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        max(truth) as truth,
        bool_or(is_disputed) as is_disputed,
        max(coalesce(weight, 1)) as weight,
        max(n_labels) as n_labels,
        count(*) filter (where label = 'pass') as n_pass,
        count(*) filter (where label = 'fail') as n_fail,
        avg(grade / scale) as grade,
        -- of people alone: a pass is 1, a grade is its share of the best one
        count(coalesce(label, cast(grade as string))) as n_said,
        sum(coalesce(grade / scale, case label when 'pass' then 1e0 when 'fail' then 0e0 end))
            as said,
        sum(power(
            coalesce(grade / scale, case label when 'pass' then 1e0 when 'fail' then 0e0 end), 2
        )) as said_squares

    from labels
    where coalesce(split_name, '') <> 'train' and coalesce(draw, '') <> 'disagree'
    group by all

),

verdicts as (

    select * from {{ ref('promptlab', 'fct_judge_verdicts') }}
    where task_id in (select labelled.task_id from labelled)

),

named as (

    select model as name from tasks
    union
    select judge from verdicts

),

families_of as (

    select
        named.name,
        min(families.family) as family

    from named
    inner join families on contains(lower(named.name), families.word)
    group by named.name

),

described as (

    select
        labelled.*,
        verdicts.judge,
        verdicts.verdict,
        verdicts.score,
        verdicts.place,
        tasks.title,
        tasks.model,
        concat_ws(' ', tasks.title, labelled.case_id) as cluster_id,
        coalesce(
            rounds.answer_hash,
            md5(rounds.answer),
            concat_ws(' ', labelled.task_id, labelled.round_id)
        ) as answer_id,
        tasks.created_at,
        cast(cast(date_trunc('month', tasks.created_at) as date) as string) as month_of_run,
        case
            when of_model.family = of_judge.family then 'same'
            when of_model.family <> of_judge.family then 'other'
        end as family,
        ntile(3) over (
            partition by labelled.dimension_id, verdicts.judge
            order by rounds.answer_chars, labelled.task_id, labelled.case_id, labelled.round_id
        ) as length_third

    from labelled
    inner join verdicts using (task_id, case_id, round_id, dimension_id)
    inner join tasks using (task_id)
    inner join rounds using (task_id, case_id, round_id)
    left join families_of as of_model on tasks.model = of_model.name
    left join families_of as of_judge on verdicts.judge = of_judge.name
    where verdicts.judge is not null

),

kinds as (

    select listed.slice_kind
    from (
        values ('all'), ('title'), ('model'), ('month'), ('length'), ('family'), ('position')
    ) as listed (slice_kind)

),

sliced as (

    select
        described.*,
        kinds.slice_kind,
        case kinds.slice_kind
            when 'all' then 'all'
            when 'title' then described.title
            when 'model' then described.model
            when 'month' then described.month_of_run
            when 'family' then described.family
            when 'position' then described.place
            else case described.length_third
                when 1 then 'short'
                when 2 then 'medium'
                else 'long'
            end
        end as slice

    from described
    cross join kinds
    where
        (kinds.slice_kind <> 'family' or described.family is not null)
        and (kinds.slice_kind <> 'position' or described.place is not null)

    union all

    select
        described.*,
        'tag' as slice_kind,
        tags.tag as slice

    from described
    inner join tags using (task_id, case_id)

),

-- An answer that rounds repeat was judged by people once: it counts by the round with most
-- labels, the newest of these. The weight of an answer that both judged, or graded, else null.
judged as (

    select
        *,
        case when truth is not null and verdict is not null then weight end as w,
        case when truth = verdict then 1e0 when truth <> verdict then 0e0 end as agrees,
        case when grade is not null and score is not null then weight end as g_weight

    from sliced
    qualify rank() over (
        partition by dimension_id, judge, slice_kind, slice, cluster_id, answer_id
        order by n_labels desc, created_at desc, task_id asc, case_id asc, round_id asc
    ) = 1

),

sums as (

    select
        dimension_id,
        judge,
        slice_kind,
        slice,
        count(*) as n_rounds,
        count(distinct case when w is not null then cluster_id end) as n_cases,
        count(w) as n_judged,
        count(*) filter (where truth is not null and verdict is null) as n_unjudged,
        count(*) filter (where is_disputed) as n_disputed,
        count(*) filter (where w is not null and truth = 'pass') as n_pass,
        count(*) filter (where w is not null and truth = 'fail') as n_fail,
        count(*) filter (where truth = 'pass' and verdict = 'pass') as n_both_pass,
        count(*) filter (where truth = 'pass' and verdict = 'fail') as n_only_judge_fails,
        count(*) filter (where truth = 'fail' and verdict = 'pass') as n_only_judge_passes,
        count(*) filter (where truth = 'fail' and verdict = 'fail') as n_both_fail,
        sum(w) as w_all,
        sum(power(w, 2)) as w_squares,
        coalesce(sum(w) filter (where truth = 'pass' and verdict = 'pass'), 0) as w_a,
        coalesce(sum(w) filter (where truth = 'pass' and verdict = 'fail'), 0) as w_b,
        coalesce(sum(w) filter (where truth = 'fail' and verdict = 'pass'), 0) as w_c,
        coalesce(sum(w) filter (where truth = 'fail' and verdict = 'fail'), 0) as w_d,
        sum(power(w, 2)) filter (where verdict = 'pass')
        / sum(w) filter (where verdict = 'pass') as weight_if_passed,
        sum(power(w, 2)) filter (where verdict = 'fail')
        / sum(w) filter (where verdict = 'fail') as weight_if_failed,
        count(*) filter (where n_labels > 1) as n_labelled_twice,
        count(*) filter (
            where n_labels > 1 and (n_pass = n_labels or n_fail = n_labels)
        ) as n_people_agree,
        sum(n_said) filter (where n_said > 1) as people_n,
        sum(said) filter (where n_said > 1) as people_sum,
        sum(said_squares) filter (where n_said > 1) as people_squares,
        -- squared differences within an answer, each pair twice
        sum(2 * (n_said * said_squares - power(said, 2)) / (n_said - 1e0))
        filter (where n_said > 1) as people_differences,
        count(g_weight) as n_graded,
        sum(g_weight) as g_n,
        sum(g_weight * score) as g_score,
        sum(g_weight * grade) as g_grade,
        sum(g_weight * score * score) as g_score_2,
        sum(g_weight * grade * grade) as g_grade_2,
        sum(g_weight * score * grade) as g_both,
        sum(g_weight * abs(score - grade)) as g_absolute

    from judged
    group by all

),

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

    from sums
    window of_judge as (partition by dimension_id, judge)

),

-- the share of agreement, its error over cases: rounds of one case are not independent
shares as (

    select
        *,
        g_score_2 / g_n - power(g_score / g_n, 2) as score_spread,
        g_grade_2 / g_n - power(g_grade / g_n, 2) as grade_spread,
        g_both / g_n - g_score * g_grade / power(g_n, 2) as covariance,
        n_both_pass + n_only_judge_fails + n_only_judge_passes + n_both_fail as n,
        (w_a + w_d) / w_all as agreement,
        w_a / nullif(w_a + w_b, 0) as tpr,
        w_d / nullif(w_c + w_d, 0) as tnr,
        w_a / pass_weight as n_a,
        w_b / fail_weight as n_b,
        w_c / pass_weight as n_c,
        w_d / fail_weight as n_d,
        power(w_all, 2) / nullif(w_squares, 0) as n_effective,
        w_a / w_all as p_a,
        w_b / w_all as p_b,
        w_c / w_all as p_c,
        w_d / w_all as p_d

    from weighted

),

chance as (

    select
        *,
        (p_a + p_b) * (p_a + p_c) + (p_c + p_d) * (p_b + p_d) as kappa_chance,
        (p_a + p_b + p_a + p_c) / 2 as mean_pass

    from shares

),

kappas as (

    select
        *,
        case when kappa_chance < 1 then (agreement - kappa_chance) / (1 - kappa_chance) end
            as kappa,
        (agreement - 2 * mean_pass * (1 - mean_pass)) / (1 - 2 * mean_pass * (1 - mean_pass))
            as gwet_ac1

    from chance

),

-- Fleiss, Cohen and Everitt 1969
kappa_errors as (

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
        end as kappa_se

    from kappas

),

residuals as (

    select
        judged.dimension_id,
        judged.judge,
        judged.slice_kind,
        judged.slice,
        judged.cluster_id,
        sum(judged.w * (judged.agrees - shares.agreement)) as residual

    from judged
    inner join shares using (dimension_id, judge, slice_kind, slice)
    where judged.w is not null
    group by all

),

cluster_errors as (

    select
        residuals.dimension_id,
        residuals.judge,
        residuals.slice_kind,
        residuals.slice,
        count(*) - 1 as df,
        case
            when count(*) > 1 then sqrt(
                count(*) / (count(*) - 1e0) * sum(power(residuals.residual, 2))
            ) / max(shares.w_all)
        end as agreement_se

    from residuals
    inner join shares using (dimension_id, judge, slice_kind, slice)
    group by all

),

with_errors as (

    select
        kappa_errors.*,
        {{ t_quantile('cluster_errors.df') }} as t,
        cluster_errors.agreement_se

    from kappa_errors
    left join cluster_errors using (dimension_id, judge, slice_kind, slice)

),

final as (

    select

        ---------- strings
        dimension_id,
        judge,
        slice_kind,
        slice,
        case
            when n = 0 then 'nothing_judged'
            when n_pass = 0 then 'no_passing_label'
            when n_fail = 0 then 'no_failing_label'
            when least(n_pass, n_fail) < 15 then 'few_labels'
        end as reason,

        ---------- numerics
        n_rounds,
        n_cases,
        n as n_judged,
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
            when agreement_se > 0
                then round(greatest(0, agreement - t * agreement_se), 6)
        end as agreement_low,
        case
            when agreement_se > 0
                then round(least(1, agreement + t * agreement_se), 6)
        end as agreement_high,
        round(tpr, 6) as tpr,
        round({{ wilson_bound_of_draws('n_a', 'n_b', 'pass_weight', 'fail_weight', -1) }}, 6)
            as tpr_low,
        round({{ wilson_bound_of_draws('n_a', 'n_b', 'pass_weight', 'fail_weight', 1) }}, 6)
            as tpr_high,
        round(tnr, 6) as tnr,
        round({{ wilson_bound_of_draws('n_d', 'n_c', 'fail_weight', 'pass_weight', -1) }}, 6)
            as tnr_low,
        round({{ wilson_bound_of_draws('n_d', 'n_c', 'fail_weight', 'pass_weight', 1) }}, 6)
            as tnr_high,
        round(p_c - p_b, 6) as leniency,
        case
            when n > 0
                then {{ mcnemar_p_value('n_only_judge_fails', 'n_only_judge_passes') }}
        end as leniency_p,
        round(kappa, 6) as cohens_kappa,
        case
            when kappa_se > 0 then round(kappa - {{ z_975() }} * kappa_se, 6)
        end as kappa_low,
        case
            when kappa_se > 0
                then round(least(1, kappa + {{ z_975() }} * kappa_se), 6)
        end as kappa_high,
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
        end as weighted_kappa

    from with_errors

)

select * from final
