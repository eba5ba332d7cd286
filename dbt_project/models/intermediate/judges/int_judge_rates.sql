-- One row per task, dimension and judge with labels: its pass rate and mean score in the task, and how
-- often people agree with it (`tpr`, `tnr`), by labels of the title, else of all titles.
with

agreement as (
    select * from {{ ref('promptlab', 'fct_judge_agreement') }} where slice_kind in ('all', 'title')
),
verdicts as (select * from {{ ref('promptlab', 'fct_judge_verdicts') }} where is_used),
tasks as (select * from {{ ref('promptlab', 'dim_tasks') }}),

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
        avg(case verdicts.verdict when 'pass' then 1e0 when 'fail' then 0e0 end) as pass_rate,
        count(distinct case when verdicts.score is not null then verdicts.case_id end)
            as n_cases_scored,
        count(verdicts.score) as n_scored,
        avg(verdicts.score) as mean_score,
        var_samp(verdicts.score) as score_variance,
        sum(verdicts.score) as score_sum,
        sum(power(verdicts.score, 2)) as score_squares

    from verdicts
    inner join tasks using (task_id)
    group by all

),

-- labels of all runs of the title; of other titles where it has none
final as (

    select
        rates.task_id,
        rates.title,
        rates.dimension_id,
        rates.judge,
        rates.n_cases,
        rates.n_rounds,
        rates.n_passed,
        rates.pass_rate,
        rates.n_cases_scored,
        rates.n_scored,
        rates.mean_score,
        rates.score_variance,
        rates.score_sum,
        rates.score_squares,
        agreement.slice_kind,
        agreement.reason as judge_reason,
        agreement.n_pass as n_labels_pass,
        agreement.n_fail as n_labels_fail,
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

)

select * from final
