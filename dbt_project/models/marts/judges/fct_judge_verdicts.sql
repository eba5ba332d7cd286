{{ config(materialized=view_of_step()) }}

with

rounds as (select * from {{ ref('fct_rounds') }}),
round_scores as (select * from {{ ref('fct_round_scores') }}),
assertions as (
    select * from {{ ref('fct_assertions') }} where assertion_source = 'tool'
),
dimensions as (select * from {{ ref('stg_tasks__dimension_configs') }}),
scores as (select * from {{ ref('stg_scores__scores') }}),
tasks as (select * from {{ ref('dim_tasks') }}),

scorers as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        max(concat_ws(' ', scorer, scorer_version)) as judge

    from scores
    group by task_id, case_id, round_id, dimension_id

),

pass_scores as (

    select
        task_id,
        dimension_id,
        {{ json_number('parameters', 'pass_score') }} as pass_score

    from dimensions

),

of_dimensions as (

    select
        round_scores.task_id,
        round_scores.case_id,
        round_scores.round_id,
        round_scores.dimension_id,
        coalesce(scorers.judge, cast(tasks.judge as string), round_scores.scorer) as judge,
        case
            when round_scores.score is null then null
            when pass_scores.pass_score is not null
                then case
                    when round_scores.score >= pass_scores.pass_score then 'pass' else 'fail'
                end
            when round_scores.score = 1 then 'pass'
            when round_scores.score = 0 then 'fail'
        end as verdict,
        round_scores.score

    from round_scores
    inner join tasks using (task_id)
    left join pass_scores using (task_id, dimension_id)
    left join scorers using (task_id, case_id, round_id, dimension_id)

),

-- an assertion counts under its name where no dimension is called so
of_assertions as (

    select
        assertions.task_id,
        assertions.case_id,
        assertions.round_id,
        assertions.assertion_name as dimension_id,
        coalesce(cast(max(tasks.judge) as string), max(assertions.assertion_type)) as judge,
        case
            when bool_or(assertions.status = 'fail') then 'fail'
            when bool_or(assertions.status = 'pass') then 'pass'
        end as verdict,
        min(assertions.score) as score

    from assertions
    inner join tasks using (task_id)
    left join of_dimensions
        on
            assertions.task_id = of_dimensions.task_id
            and assertions.case_id = of_dimensions.case_id
            and assertions.round_id = of_dimensions.round_id
            and assertions.assertion_name = of_dimensions.dimension_id
    where of_dimensions.task_id is null and assertions.assertion_name <> 'verdict'
    group by
        assertions.task_id,
        assertions.case_id,
        assertions.round_id,
        assertions.assertion_name

),

of_rounds as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        'verdict' as dimension_id,
        coalesce(cast(tasks.judge as string), 'verdict') as judge,
        case when rounds.status in ('pass', 'fail') then rounds.status end as verdict,
        cast(null as double) as score

    from rounds
    inner join tasks using (task_id)

),

verdicts as (

    select * from of_rounds

    union all

    select * from of_dimensions
    where dimension_id <> 'verdict'

    union all

    select * from of_assertions

)

select * from verdicts
