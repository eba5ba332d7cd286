{{ config(materialized=view_of_step()) }}

with

results as (select * from {{ ref('int_task_results') }}),
case_results as (select * from {{ ref('int_case_results') }} where {{ in_this_build() }}),
policy as (select * from {{ ref('alert_policy') }}),

faulty_cases as (

    select
        task_id,
        case_id,
        'low_coverage' as code,
        n_rounds - n_rounds_scored - n_rounds_unanswered as n_rounds

    from case_results
    where n_rounds_scored + n_rounds_unanswered < n_rounds

    union all

    select
        task_id,
        case_id,
        'high_error_share' as code,
        n_rounds_in_error as n_rounds

    from case_results
    where n_rounds_in_error > 0

),

counted as (

    select
        task_id,
        code,
        cast(sum(n_rounds) as bigint) as n_rounds,
        count(*) as n_cases,
        {{ json_list_of('case_id', 'case_id') }} as case_ids

    from faulty_cases
    group by task_id, code

),

-- a round in error is no gap of the scorers: an alert of its own counts it
answered as (

    select
        task_id,
        cast(sum(n_rounds - n_rounds_unanswered) as bigint) as n_answered

    from case_results
    group by task_id

),

measured as (

    select
        counted.task_id,
        cast(null as string) as dimension_id,
        counted.code,
        case
            when counted.code = 'low_coverage'
                then {{ rounded('cast(results.n_scored_rounds as double) / answered.n_answered') }}
            else {{ rounded('cast(counted.n_rounds as double) / results.n_rounds') }}
        end as value,
        policy.threshold as limit_value,
        'share' as unit,
        case
            when counted.code = 'low_coverage' then results.n_scored_rounds
            else counted.n_rounds
        end as n,
        case when counted.code = 'low_coverage' then answered.n_answered else results.n_rounds end
            as n_total,
        cast(null as string) as detail,
        cast(null as string) as detail_en,
        counted.n_cases,
        counted.case_ids

    from counted
    inner join results using (task_id)
    inner join answered using (task_id)
    inner join policy using (code)

),

alerts as (

    select * from measured
    where
        case
            when code = 'low_coverage' then value < limit_value
            else value > limit_value
        end

)

select * from alerts
