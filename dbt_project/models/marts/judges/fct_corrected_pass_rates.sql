{{ config(materialized='table') }}

with

labels as (
    select * from {{ ref('promptlab', 'fct_labels') }} where coalesce(split_name, '') <> 'train'
),
agreement as (
    select * from {{ ref('promptlab', 'fct_judge_agreement') }} where slice_kind in ('all', 'title')
),
tasks as (select * from {{ ref('promptlab', 'dim_tasks') }}),

verdicts as (select * from {{ ref('promptlab', 'fct_judge_verdicts') }} where is_used),

rates as (

    select
        verdicts.task_id,
        tasks.title,
        verdicts.dimension_id,
        verdicts.judge,
        count(distinct case when verdicts.verdict is not null then verdicts.case_id end)
            as n_cases,
        count(verdicts.verdict) as n_rounds,
        count(*) filter (where verdicts.verdict = 'pass') as n_passed,
        avg(case verdicts.verdict when 'pass' then 1e0 when 'fail' then 0e0 end) as p,
        count(distinct case when verdicts.score is not null then verdicts.case_id end)
            as n_cases_scored,
        count(verdicts.score) as n_scored,
        avg(verdicts.score) as mean_score,
        var_samp(verdicts.score) as score_variance,
        sum(verdicts.score) as score_sum,
        sum(power(verdicts.score, 2)) as score_squares

    from verdicts
    inner join tasks using (task_id)
    where
        exists (
            select 1 from agreement
            where
                verdicts.dimension_id = agreement.dimension_id
                and verdicts.judge = agreement.judge
        )
    group by verdicts.task_id, tasks.title, verdicts.dimension_id, verdicts.judge

),

-- what people said of one answer of this run
answers as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        judge,
        max(draw) as draw,
        max(truth) as truth,
        max(verdict) as verdict,
        avg(grade / scale) as grade,
        max(score) as score

    from labels
    where draw in ('random', 'verdict')
    group by task_id, case_id, round_id, dimension_id, judge

),

-- labels of this run itself, drawn by chance within each verdict of the judge
own as (

    select
        task_id,
        dimension_id,
        judge,
        verdict,
        count(*) as n_labelled,
        avg(case when truth = 'pass' then 1e0 else 0e0 end) as share

    from answers
    where truth is not null and verdict is not null
    group by task_id, dimension_id, judge, verdict

),

-- an interval for each verdict (Wilson, of the labels that an infinite run would need)
strata as (

    select
        rates.task_id,
        rates.dimension_id,
        rates.judge,
        rates.n_rounds,
        own.n_labelled,
        own.share,
        case when own.verdict = 'pass' then rates.n_passed else rates.n_rounds - rates.n_passed end
            as n_in_stratum

    from rates
    inner join own using (task_id, dimension_id, judge)

),

bounded as (

    select
        *,
        cast(n_in_stratum as double) / n_rounds as weight,
        n_labelled / nullif(1 - cast(n_labelled as double) / n_in_stratum, 0) as n_effective

    from strata
    where n_in_stratum > 0

),

-- and one for all, of the distances from the ends of each (Zou and Donner 2008)
weighted as (

    select
        task_id,
        dimension_id,
        judge,
        sum(n_in_stratum) = max(n_rounds) and min(n_labelled) > 1 as is_complete,
        sum(n_labelled) as n_labelled,
        sum(weight * share) as rate,
        sqrt(sum(power(
            weight * coalesce(share - {{ wilson_bound('share', 'n_effective', -1) }}, 0), 2
        ))) as below,
        sqrt(sum(power(
            weight * coalesce({{ wilson_bound('share', 'n_effective', 1) }} - share, 0), 2
        ))) as above

    from bounded
    group by task_id, dimension_id, judge

),

-- labels of all runs of the title; of other titles where it has none
known as (

    select
        rates.*,
        agreement.slice_kind,
        agreement.reason as judge_reason,
        agreement.n_pass,
        agreement.n_fail,
        agreement.tpr,
        agreement.tpr_low,
        agreement.tpr_high,
        agreement.tnr,
        agreement.tnr_low,
        agreement.tnr_high

    from rates
    inner join agreement
        on
            rates.dimension_id = agreement.dimension_id
            and rates.judge = agreement.judge
            and (agreement.slice_kind = 'all' or rates.title = agreement.slice)
    qualify row_number() over (
        partition by rates.task_id, rates.dimension_id, rates.judge
        order by agreement.slice_kind desc
    ) = 1

),

-- Lang and Reiczigel 2014; the cases are the sample of the run, not their rounds
shrunk as (

    select
        *,
        (n_cases * p + power({{ z_975() }}, 2) / 2) / (n_cases + power({{ z_975() }}, 2)) as p1,
        (n_fail * tnr + 1) / (n_fail + 2) as tnr1,
        (n_pass * tpr + 1) / (n_pass + 2) as tpr1

    from known
    where n_rounds > 0

),

solved as (

    select
        *,
        case
            when n_pass > 0 and n_fail > 0 and tpr + tnr > 1 and tpr1 + tnr1 > 1
                then least(1, greatest(0, (p1 + tnr1 - 1) / (tpr1 + tnr1 - 1)))
        end as theta1

    from shrunk

),

spread as (

    select
        *,
        2 * power({{ z_975() }}, 2) * (
            theta1 * tpr1 * (1 - tpr1) / (n_pass + 2)
            - (1 - theta1) * tnr1 * (1 - tnr1) / (n_fail + 2)
        ) as shift,
        {{ z_975() }} * sqrt(
            p1 * (1 - p1) / (n_cases + power({{ z_975() }}, 2))
            + power(1 - theta1, 2) * tnr1 * (1 - tnr1) / (n_fail + 2)
            + power(theta1, 2) * tpr1 * (1 - tpr1) / (n_pass + 2)
        ) / (tpr1 + tnr1 - 1) as half_width

    from solved

),

pass_rates as (

    select
        spread.task_id,
        spread.dimension_id,
        spread.title,
        spread.judge,
        'pass_rate' as measure,
        case
            when weighted.is_complete then 'labels_weighted'
            when spread.theta1 is not null then 'corrected'
        end as method,
        case
            when weighted.is_complete then null
            when spread.n_fail = 0 then 'no_failing_label'
            when spread.n_pass = 0 then 'no_passing_label'
            when spread.theta1 is null then 'judge_no_better_than_chance'
            when spread.p < 1 - spread.tnr then 'below_false_passes'
            when spread.p > spread.tpr then 'above_true_passes'
            when least(spread.n_pass, spread.n_fail) < 15 then 'few_labels'
            when spread.slice_kind = 'all' then 'labels_of_other_titles'
        end as reason,
        spread.judge_reason,
        spread.n_cases,
        spread.n_rounds,
        spread.n_passed,
        coalesce(weighted.n_labelled, 0) as n_labels_own,
        spread.n_pass,
        spread.n_fail,
        spread.p as raw_rate,
        case
            when weighted.is_complete then weighted.rate
            when spread.theta1 is not null
                then least(1, greatest(
                    0, (spread.p + spread.tnr - 1) / (spread.tpr + spread.tnr - 1)
                ))
        end as corrected_rate,
        case
            when weighted.is_complete then weighted.rate - weighted.below
            else spread.theta1 + spread.shift - spread.half_width
        end as ci_low,
        case
            when weighted.is_complete then weighted.rate + weighted.above
            else spread.theta1 + spread.shift + spread.half_width
        end as ci_high,
        spread.tpr,
        spread.tpr_low,
        spread.tpr_high,
        spread.tnr,
        spread.tnr_low,
        spread.tnr_high

    from spread
    left join weighted using (task_id, dimension_id, judge)

),

-- PPI++ (Angelopoulos and others 2023): grades of answers drawn at random from this run,
-- and the scores of the judge for the others
graded as (

    select
        task_id,
        dimension_id,
        judge,
        count(*) as n,
        count(distinct case_id) as n_cases,
        avg(grade) as mean_grade,
        avg(score) as mean_score,
        covar_samp(grade, score) as covariance,
        var_samp(grade) as grade_variance,
        var_samp(score) as score_variance,
        sum(score) as score_sum,
        sum(power(score, 2)) as score_squares

    from answers
    where draw = 'random' and grade is not null and score is not null
    group by task_id, dimension_id, judge

),

rest as (

    select
        rates.task_id,
        rates.dimension_id,
        rates.title,
        rates.judge,
        rates.n_cases_scored,
        rates.n_scored,
        rates.mean_score as raw_rate,
        graded.n,
        graded.n_cases,
        graded.mean_grade,
        graded.mean_score,
        graded.covariance,
        graded.grade_variance,
        graded.score_variance,
        rates.n_scored - graded.n as n_rest,
        (rates.score_sum - graded.score_sum) / (rates.n_scored - graded.n) as rest_mean,
        (
            rates.score_squares - graded.score_squares
            - power(rates.score_sum - graded.score_sum, 2) / (rates.n_scored - graded.n)
        ) / nullif(rates.n_scored - graded.n - 1, 0) as rest_variance,
        least(1, greatest(
            0,
            coalesce(
                graded.covariance / nullif(
                    (1 + cast(graded.n as double) / (rates.n_scored - graded.n))
                    * rates.score_variance, 0
                ), 0
            )
        )) as pull

    from rates
    inner join graded using (task_id, dimension_id, judge)
    where graded.n > 1 and rates.n_scored > graded.n + 1

),

-- rounds of one case count as one
predicted as (

    select
        *,
        pull * rest_mean + mean_grade - pull * mean_score as estimate,
        {{ z_975() }} * sqrt(
            power(pull, 2) * rest_variance / n_rest * n_scored / n_cases_scored
            + (grade_variance + power(pull, 2) * score_variance - 2 * pull * covariance)
            / n_cases
        ) as half_width

    from rest

),

mean_scores as (

    select
        task_id,
        dimension_id,
        title,
        judge,
        'mean_score' as measure,
        'ppi_plus_plus' as method,
        case when n < 30 then 'few_labels' end as reason,
        cast(null as string) as judge_reason,
        n_cases_scored as n_cases,
        n_scored as n_rounds,
        cast(null as bigint) as n_passed,
        n as n_labels_own,
        cast(null as bigint) as n_pass,
        cast(null as bigint) as n_fail,
        raw_rate,
        least(1, greatest(0, estimate)) as corrected_rate,
        estimate - half_width as ci_low,
        estimate + half_width as ci_high,
        cast(null as double) as tpr,
        cast(null as double) as tpr_low,
        cast(null as double) as tpr_high,
        cast(null as double) as tnr,
        cast(null as double) as tnr_low,
        cast(null as double) as tnr_high

    from predicted

),

measures as (

    select * from pass_rates

    union all

    select * from mean_scores

),

final as (

    select

        ---------- ids
        task_id,
        dimension_id,

        ---------- strings
        title,
        judge,
        measure,
        method,
        reason,
        judge_reason,

        ---------- numerics
        n_cases,
        n_rounds,
        n_passed,
        cast(n_labels_own as bigint) as n_labels_own,
        n_pass as n_labels_pass,
        n_fail as n_labels_fail,
        round(raw_rate, 6) as raw_rate,
        round(corrected_rate, 6) as corrected_rate,
        case when ci_low is not null then round(greatest(0, ci_low), 6) end as ci_low,
        case when ci_high is not null then round(least(1, ci_high), 6) end as ci_high,
        tpr,
        tpr_low,
        tpr_high,
        tnr,
        tnr_low,
        tnr_high

    from measures

)

select * from final
