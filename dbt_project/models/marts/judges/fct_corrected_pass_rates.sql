{{ config(materialized='table') }}

with

labels as (select * from {{ ref('fct_labels') }}),
agreement as (
    select * from {{ ref('fct_judge_agreement') }} where slice_kind = 'all'
),
verdicts as (select * from {{ ref('fct_judge_verdicts') }}),
tasks as (select * from {{ ref('dim_tasks') }}),

rates as (

    select
        verdicts.task_id,
        verdicts.dimension_id,
        verdicts.judge,
        count(distinct verdicts.case_id) as n_cases,
        count(*) as n_rounds,
        count(case when verdicts.verdict = 'pass' then 1 end) as n_passed,
        avg(case when verdicts.verdict = 'pass' then 1e0 else 0e0 end) as p

    from verdicts
    inner join agreement using (dimension_id, judge)
    where verdicts.verdict is not null
    group by verdicts.task_id, verdicts.dimension_id, verdicts.judge

),

-- labels of this run itself, drawn by chance within each verdict of the judge
own as (

    select
        labels.task_id,
        labels.dimension_id,
        labels.judge,
        labels.verdict,
        count(distinct concat_ws(' ', labels.case_id, labels.round_id)) as n_labelled,
        avg(case when labels.truth = 'pass' then 1e0 else 0e0 end) as share

    from labels
    where
        labels.truth is not null
        and labels.verdict is not null
        and labels.draw in ('random', 'verdict')
        and coalesce(labels.split_name, '') <> 'train'
    group by labels.task_id, labels.dimension_id, labels.judge, labels.verdict

),

strata as (

    select
        rates.task_id,
        rates.dimension_id,
        rates.judge,
        own.verdict,
        own.n_labelled,
        own.share,
        case when own.verdict = 'pass' then rates.n_passed else rates.n_rounds - rates.n_passed end
            as n_in_stratum,
        rates.n_rounds,
        -- equal labels do not mean that all others are equal, too: one more of each
        case
            when own.share in (0, 1)
                then (own.n_labelled + 1e0) / power(own.n_labelled + 2, 2)
            else own.share * (1 - own.share)
        end as variance

    from rates
    inner join own using (task_id, dimension_id, judge)

),

weighted as (

    select
        task_id,
        dimension_id,
        judge,
        sum(n_labelled) as n_labelled,
        sum(n_in_stratum) = max(n_rounds) and min(n_labelled) > 1 as is_complete,
        sum(share * n_in_stratum) / max(n_rounds) as rate,
        sqrt(sum(
            power(cast(n_in_stratum as double) / n_rounds, 2)
            * variance / nullif(n_labelled - 1, 0)
            * (1 - cast(n_labelled as double) / n_in_stratum)
        )) as se

    from strata
    where n_in_stratum > 0
    group by task_id, dimension_id, judge

),

-- Lang and Reiczigel 2014; the cases are the sample of the run, not their rounds
shrunk as (

    select
        rates.*,
        agreement.n_pass,
        agreement.n_fail,
        agreement.tpr,
        agreement.tnr,
        (rates.n_cases * rates.p + power({{ z_975() }}, 2) / 2)
        / (rates.n_cases + power({{ z_975() }}, 2)) as p1,
        (agreement.n_fail * agreement.tnr + 1) / (agreement.n_fail + 2) as tnr1,
        (agreement.n_pass * agreement.tpr + 1) / (agreement.n_pass + 2) as tpr1

    from rates
    inner join agreement using (dimension_id, judge)

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
        sqrt(
            p1 * (1 - p1) / (n_cases + power({{ z_975() }}, 2))
            + power(1 - theta1, 2) * tnr1 * (1 - tnr1) / (n_fail + 2)
            + power(theta1, 2) * tpr1 * (1 - tpr1) / (n_pass + 2)
        ) / (tpr1 + tnr1 - 1) as se

    from solved

),

chosen as (

    select
        spread.*,
        coalesce(weighted.is_complete, false) as is_weighted,
        case
            when weighted.is_complete then weighted.rate
            when spread.theta1 is not null
                then least(1, greatest(
                    0, (spread.p + spread.tnr - 1) / (spread.tpr + spread.tnr - 1)
                ))
        end as estimate,
        case when weighted.is_complete then weighted.rate else spread.theta1 + spread.shift end
            as center,
        {{ z_975() }} * case when weighted.is_complete then weighted.se else spread.se end
            as half_width

    from spread
    left join weighted using (task_id, dimension_id, judge)

),

final as (

    select

        ---------- ids
        chosen.task_id,
        chosen.dimension_id,

        ---------- strings
        tasks.title,
        chosen.judge,
        case
            when chosen.is_weighted then 'labels_weighted'
            when chosen.theta1 is not null then 'corrected'
        end as method,
        case
            when chosen.is_weighted then null
            when chosen.n_fail = 0 then 'no_failing_label'
            when chosen.n_pass = 0 then 'no_passing_label'
            when chosen.theta1 is null then 'judge_no_better_than_chance'
            when chosen.p < 1 - chosen.tnr then 'below_false_passes'
            when chosen.p > chosen.tpr then 'above_true_passes'
            when least(chosen.n_pass, chosen.n_fail) < 15 then 'few_labels'
        end as reason,

        ---------- numerics
        chosen.n_cases,
        chosen.n_rounds,
        chosen.n_passed,
        chosen.n_pass as n_labels_pass,
        chosen.n_fail as n_labels_fail,
        {{ rounded('chosen.p') }} as raw_rate,
        {{ rounded('chosen.estimate') }} as corrected_rate,
        case
            when chosen.half_width is not null
                then {{ rounded('greatest(0, chosen.center - chosen.half_width)') }}
        end as ci_low,
        case
            when chosen.half_width is not null
                then {{ rounded('least(1, chosen.center + chosen.half_width)') }}
        end as ci_high

    from chosen
    inner join tasks using (task_id)

)

select * from final
