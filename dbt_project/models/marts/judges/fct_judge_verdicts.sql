with

rounds as (select * from {{ ref('int_round_results') }}),
round_scores as (select * from {{ ref('int_round_scores') }}),
checks as (select * from {{ ref('int_reported_checks') }} where {{ in_this_build() }}),
dimensions as (
    select * from {{ ref('stg_tasks__dimension_configs') }} where {{ in_this_build() }}
),
asked as (select * from {{ ref('int_dimensions_resolved') }}),
given_scores as (select * from {{ ref('stg_scores__scores') }} where {{ in_this_build() }}),
chosen as (select * from {{ ref('int_scores_chosen') }}),
tasks as (select * from {{ ref('stg_tasks__tasks') }} where {{ in_this_build() }}),

configured as (

    select
        task_id,
        dimension_id,
        {{ json_number('parameters', 'pass_score') }} as pass_score

    from dimensions

),

-- the newest score of each scorer, given to a dimension or to the scorer that it names
given as (

    select
        given_scores.task_id,
        given_scores.case_id,
        given_scores.round_id,
        coalesce(asked.dimension_id, given_scores.dimension_id) as dimension_id,
        given_scores.scorer,
        given_scores.scorer_version,
        given_scores.payload,
        given_scores.score / given_scores.scale as score,
        row_number() over (
            partition by
                given_scores.task_id, given_scores.case_id, given_scores.round_id,
                given_scores.dimension_id, asked.dimension_id,
                given_scores.scorer, given_scores.scorer_version
            order by given_scores.load_id desc, given_scores.line_number desc
        ) as recency

    from given_scores
    left join asked
        on
            given_scores.task_id = asked.task_id
            and given_scores.dimension_id = asked.scores_from

),

scorers as (

    select
        given.task_id,
        given.case_id,
        given.round_id,
        given.dimension_id,
        concat_ws(' ', given.scorer, given.scorer_version) as judge,
        {{ json_text('given.payload', 'position') }} as place,
        given.score,
        chosen.task_id is not null as is_used

    from given
    left join chosen
        on
            given.task_id = chosen.task_id
            and given.case_id = chosen.case_id
            and given.round_id = chosen.round_id
            and given.dimension_id = chosen.dimension_id
            and given.scorer = chosen.given_by
            and given.scorer_version is not distinct from chosen.given_by_version
    where given.recency = 1

),

of_dimensions as (

    select
        round_scores.task_id,
        round_scores.case_id,
        round_scores.round_id,
        round_scores.dimension_id,
        coalesce(scorers.judge, cast(tasks.judge as string), round_scores.scorer) as judge,
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

    union all

    select
        scorers.task_id,
        scorers.case_id,
        scorers.round_id,
        scorers.dimension_id,
        scorers.judge,
        scorers.score,
        scorers.place,
        false as is_used

    from scorers
    inner join rounds using (task_id, case_id, round_id)
    where not scorers.is_used

),

judged_dimensions as (

    select
        of_dimensions.task_id,
        of_dimensions.case_id,
        of_dimensions.round_id,
        of_dimensions.dimension_id,
        of_dimensions.judge,
        case
            when of_dimensions.score is null then null
            when configured.pass_score is not null
                then case
                    when of_dimensions.score >= configured.pass_score then 'pass'
                    else 'fail'
                end
            when of_dimensions.score = 1 then 'pass'
            when of_dimensions.score = 0 then 'fail'
        end as verdict,
        of_dimensions.place,
        of_dimensions.score,
        of_dimensions.is_used

    from of_dimensions
    left join configured using (task_id, dimension_id)
    where of_dimensions.dimension_id <> 'verdict'

),

-- an assertion counts under its name where no dimension is called so
of_assertions as (

    select
        checks.task_id,
        checks.case_id,
        checks.round_id,
        checks.check_name as dimension_id,
        coalesce(cast(max(tasks.judge) as string), max(checks.check_type)) as judge,
        case
            when bool_or(checks.status = 'fail') then 'fail'
            when bool_or(checks.status = 'pass') then 'pass'
        end as verdict,
        cast(null as string) as place,
        min(checks.score) as score,
        true as is_used

    from checks
    inner join tasks using (task_id)
    left join round_scores
        on
            checks.task_id = round_scores.task_id
            and checks.case_id = round_scores.case_id
            and checks.round_id = round_scores.round_id
            and checks.check_name = round_scores.dimension_id
    where round_scores.task_id is null and checks.check_name <> 'verdict'
    group by
        checks.task_id,
        checks.case_id,
        checks.round_id,
        checks.check_name

),

of_rounds as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        'verdict' as dimension_id,
        coalesce(cast(tasks.judge as string), 'verdict') as judge,
        case when rounds.status in ('pass', 'fail') then rounds.status end as verdict,
        cast(null as string) as place,
        cast(null as double) as score,
        true as is_used

    from rounds
    inner join tasks using (task_id)

),

verdicts as (

    select * from of_rounds

    union all

    select * from judged_dimensions

    union all

    select * from of_assertions

)

select * from verdicts
