{{ config(materialized='view') }}

-- One row per task, dimension and judge with labels: the pass rate that people would give, from the
-- judge's own rate and how often labels agree with it, or from labels that were drawn in this task.
with

rates as (select * from {{ ref('promptlab', 'int_judge_rates') }}),
labelled as (select * from {{ ref('promptlab', 'int_labelled_pass_rates') }}),

-- Lang and Reiczigel 2014; the cases are the sample of the run, not their rounds
shrunk as (

    select
        *,
        n_cases + power({{ z_975() }}, 2) as n1,
        (n_cases * pass_rate + power({{ z_975() }}, 2) / 2) / n1 as p1,
        (n_labels_fail * tnr + 1) / (n_labels_fail + 2) as tnr1,
        (n_labels_pass * tpr + 1) / (n_labels_pass + 2) as tpr1

    from rates
    where n_rounds > 0

),

solved as (

    select
        *,
        case
            when n_labels_pass > 0 and n_labels_fail > 0 and tpr + tnr > 1 and tpr1 + tnr1 > 1
                then least(1, greatest(0, (p1 + tnr1 - 1) / (tpr1 + tnr1 - 1)))
        end as theta1

    from shrunk

),

spread as (

    select
        *,
        2 * power({{ z_975() }}, 2) * (
            theta1 * tpr1 * (1 - tpr1) / (n_labels_pass + 2)
            - (1 - theta1) * tnr1 * (1 - tnr1) / (n_labels_fail + 2)
        ) as shift,
        {{ z_975() }} * sqrt(
            p1 * (1 - p1) / n1
            + power(1 - theta1, 2) * tnr1 * (1 - tnr1) / (n_labels_fail + 2)
            + power(theta1, 2) * tpr1 * (1 - tpr1) / (n_labels_pass + 2)
        ) / (tpr1 + tnr1 - 1) as half_width

    from solved

),

final as (

    select
        spread.task_id,
        spread.dimension_id,
        spread.title,
        spread.judge,
        case
            when labelled.is_complete then 'labels_weighted'
            when spread.theta1 is not null then 'corrected'
        end as method,
        case
            when labelled.is_complete then null
            when spread.n_labels_fail = 0 then 'no_failing_label'
            when spread.n_labels_pass = 0 then 'no_passing_label'
            when spread.theta1 is null then 'judge_no_better_than_chance'
            when spread.pass_rate < 1 - spread.tnr then 'below_false_passes'
            when spread.pass_rate > spread.tpr then 'above_true_passes'
            when {{ has_few_labels('spread.n_labels_pass', 'spread.n_labels_fail') }} then 'few_labels'
            when spread.slice_kind = 'all' then 'labels_of_other_titles'
        end as reason,
        spread.judge_reason,
        spread.n_cases,
        spread.n_rounds,
        spread.n_passed,
        coalesce(labelled.n_labelled, 0) as n_labels_own,
        spread.n_labels_pass,
        spread.n_labels_fail,
        spread.pass_rate as raw_rate,
        case
            when labelled.is_complete then labelled.pass_rate
            when spread.theta1 is not null
                then least(1, greatest(
                    0, (spread.pass_rate + spread.tnr - 1) / (spread.tpr + spread.tnr - 1)
                ))
        end as corrected_rate,
        case
            when labelled.is_complete then labelled.pass_rate - labelled.below
            else spread.theta1 + spread.shift - spread.half_width
        end as ci_low,
        case
            when labelled.is_complete then labelled.pass_rate + labelled.above
            else spread.theta1 + spread.shift + spread.half_width
        end as ci_high,
        spread.tpr,
        spread.tpr_low,
        spread.tpr_high,
        spread.tnr,
        spread.tnr_low,
        spread.tnr_high

    from spread
    left join labelled using (task_id, dimension_id, judge)

)

select * from final
