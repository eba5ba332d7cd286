with

rounds as (select * from {{ ref('promptlab', 'int_round_results') }}),
round_scores as (select * from {{ ref('promptlab', 'int_round_scores') }}),
checks as (select * from {{ ref('promptlab', 'int_reported_checks') }} where {{ in_this_build() }}),
dimensions as (
    select * from {{ ref('promptlab', 'stg_tasks__dimension_configs') }} where {{ in_this_build() }}
),
scorers as (select * from {{ ref('promptlab', 'int_scores_by_judge') }}),
tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }} where {{ in_this_build() }}),
named as (select * from {{ ref('promptlab', 'int_judges_named') }}),

configured as (

    select
        task_id,
        dimension_id,
        {{ json_number('parameters', 'pass_score') }} as pass_score

    from dimensions

),

-- all assertions of one name have to pass
asserted as (

    select
        task_id,
        case_id,
        round_id,
        check_name as dimension_id,
        max(check_type) as check_type,
        case
            when bool_or(status = 'fail') then 'fail'
            when bool_and(status = 'pass') then 'pass'
        end as verdict,
        min(score) as score

    from checks
    where check_name <> 'verdict'
    group by task_id, case_id, round_id, check_name

),

used as (

    select
        round_scores.task_id,
        round_scores.case_id,
        round_scores.round_id,
        round_scores.dimension_id,
        coalesce(
            scorers.judge,
            {{ named_judge('named', 'round_scores.scorer') }},
            cast(tasks.judge as string),
            round_scores.scorer
        ) as judge,
        asserted.task_id is not null as is_asserted,
        asserted.verdict as asserted_verdict,
        round_scores.score,
        scorers.place,
        true as is_used

    from round_scores
    inner join tasks using (task_id)
    left join scorers
        on
            round_scores.task_id = scorers.task_id
            and round_scores.case_id = scorers.case_id
            and round_scores.round_id = scorers.round_id
            and round_scores.dimension_id = scorers.dimension_id
            and scorers.is_used
    left join named
        on
            round_scores.task_id = named.task_id
            and round_scores.dimension_id = named.judged_name
    -- the score of a scorer from outside is not what the tool asserted
    left join asserted
        on
            round_scores.task_id = asserted.task_id
            and round_scores.case_id = asserted.case_id
            and round_scores.round_id = asserted.round_id
            and round_scores.dimension_id = asserted.dimension_id
            and scorers.judge is null

),

-- a file of scores may call its scorer as the file of the tool calls its judge
replaced as (

    select
        scorers.task_id,
        scorers.case_id,
        scorers.round_id,
        scorers.dimension_id,
        scorers.judge,
        false as is_asserted,
        cast(null as string) as asserted_verdict,
        scorers.score,
        scorers.place,
        false as is_used

    from scorers
    inner join rounds using (task_id, case_id, round_id)
    left join used
        on
            scorers.task_id = used.task_id
            and scorers.case_id = used.case_id
            and scorers.round_id = used.round_id
            and scorers.dimension_id = used.dimension_id
            and scorers.judge = used.judge
    where not scorers.is_used and used.task_id is null

),

of_dimensions as (

    select * from used
    where dimension_id <> 'verdict'

    union all

    select * from replaced
    where dimension_id <> 'verdict'

),

-- 0 and 1 are verdicts where a judge gave nothing else: among grades they are grades
graded as (

    select distinct
        task_id,
        dimension_id,
        judge

    from of_dimensions
    where score not in (0, 1)

),

judged_dimensions as (

    select
        of_dimensions.task_id,
        of_dimensions.case_id,
        of_dimensions.round_id,
        of_dimensions.dimension_id,
        of_dimensions.judge,
        case
            when configured.pass_score is not null
                then case
                    when of_dimensions.score >= configured.pass_score then 'pass'
                    when of_dimensions.score < configured.pass_score then 'fail'
                end
            when of_dimensions.is_asserted then of_dimensions.asserted_verdict
            when graded.task_id is not null then null
            when of_dimensions.score = 1 then 'pass'
            when of_dimensions.score = 0 then 'fail'
        end as verdict,
        of_dimensions.place,
        of_dimensions.score,
        of_dimensions.is_used

    from of_dimensions
    left join configured using (task_id, dimension_id)
    left join graded
        on
            of_dimensions.task_id = graded.task_id
            and of_dimensions.dimension_id = graded.dimension_id
            and of_dimensions.judge = graded.judge

),

-- an assertion counts under its name where no dimension is called so; its judge is that of
-- its name, else that of all assertions of its type
of_assertions as (

    select
        asserted.task_id,
        asserted.case_id,
        asserted.round_id,
        asserted.dimension_id,
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
        on asserted.task_id = named.task_id and asserted.dimension_id = named.judged_name
    left join named as of_types
        on asserted.task_id = of_types.task_id and asserted.check_type = of_types.judged_name
    left join round_scores
        on
            asserted.task_id = round_scores.task_id
            and asserted.case_id = round_scores.case_id
            and asserted.round_id = round_scores.round_id
            and asserted.dimension_id = round_scores.dimension_id
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

    select * from judged_dimensions

    union all

    select * from of_assertions

)

select * from verdicts
