-- One row per round, dimension or assertion, and judge: pass or fail, and its score.
with

rounds as (select * from {{ ref('promptlab', 'int_round_results') }}),
round_scores as (select * from {{ ref('promptlab', 'int_round_scores') }}),
asserted as (select * from {{ ref('promptlab', 'int_asserted_verdicts') }}),
of_dimensions as (select * from {{ ref('promptlab', 'int_dimension_judgements') }}),
tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }} where {{ in_this_build() }}),
named as (select * from {{ ref('promptlab', 'int_judges_named') }}),

-- an assertion counts under its name where no dimension is called so; its judge is that of
-- its name, else that of all assertions of its type
of_assertions as (

    select
        asserted.task_id,
        asserted.case_id,
        asserted.round_id,
        asserted.check_name as dimension_id,
        coalesce(
            {{ named_judge('named', 'asserted.check_type') }},
            {{ named_judge('of_types', 'asserted.check_type') }},
            cast(tasks.judge as string),
            asserted.check_type
        ) as judge,
        asserted.verdict,
        cast(null as string) as place,
        asserted.score,
        true as is_used

    from asserted
    inner join tasks using (task_id)
    left join named
        on asserted.task_id = named.task_id and asserted.check_name = named.judged_name
    left join named as of_types
        on asserted.task_id = of_types.task_id and asserted.check_type = of_types.judged_name
    left join round_scores
        on
            asserted.task_id = round_scores.task_id
            and asserted.case_id = round_scores.case_id
            and asserted.round_id = round_scores.round_id
            and asserted.check_name = round_scores.dimension_id
    where round_scores.task_id is null

),

of_rounds as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        'verdict' as dimension_id,
        coalesce(
            {{ named_judge('named', "'verdict'") }},
            cast(tasks.judge as string),
            'verdict'
        ) as judge,
        case when rounds.status in ('pass', 'fail') then rounds.status end as verdict,
        cast(null as string) as place,
        cast(null as double) as score,
        true as is_used

    from rounds
    inner join tasks using (task_id)
    left join named on rounds.task_id = named.task_id and named.judged_name = 'verdict'

),

verdicts as (

    select * from of_rounds

    union all

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        judge,
        verdict,
        answer_position as place,
        score,
        is_used

    from of_dimensions

    union all

    select * from of_assertions

)

select * from verdicts
