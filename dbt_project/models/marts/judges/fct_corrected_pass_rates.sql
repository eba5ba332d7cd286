{{ config(materialized='table') }}

-- One row per task, dimension, judge and measure: a pass rate or mean score of the judge, and as people would see it.
with

pass_rates as (select * from {{ ref('promptlab', 'int_corrected_pass_rates') }}),
scores as (select * from {{ ref('promptlab', 'int_corrected_scores') }}),

measures as (

    select
        task_id,
        dimension_id,
        title,
        judge,
        'pass_rate' as measure,
        method,
        reason,
        judge_reason,
        n_cases,
        n_rounds,
        n_passed,
        n_labels_own,
        n_labels_pass,
        n_labels_fail,
        raw_rate,
        corrected_rate,
        ci_low,
        ci_high,
        tpr,
        tpr_low,
        tpr_high,
        tnr,
        tnr_low,
        tnr_high

    from pass_rates

    union all

    select
        task_id,
        dimension_id,
        title,
        judge,
        'mean_score' as measure,
        'ppi_plus_plus' as method,
        reason,
        null as judge_reason,
        n_cases_scored as n_cases,
        n_scored as n_rounds,
        null as n_passed,
        n_labels_own,
        null as n_labels_pass,
        null as n_labels_fail,
        mean_score as raw_rate,
        least(1, greatest(0, corrected_score)) as corrected_rate,
        corrected_score - half_width as ci_low,
        corrected_score + half_width as ci_high,
        null as tpr,
        null as tpr_low,
        null as tpr_high,
        null as tnr,
        null as tnr_low,
        null as tnr_high

    from scores

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
        n_labels_pass,
        n_labels_fail,
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
