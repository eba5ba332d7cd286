{#- The verdicts of judges: of rounds, dimensions and assertions of other tools. `tasks`: a
    relation with the task ids to read; all without it. -#}
{% macro judge_verdicts(tasks=none) -%}
{%- set of_tasks = 'task_id in (select task_id from ' ~ tasks ~ ')' if tasks else 'true' -%}
with

round_rows as (select * from {{ ref('fct_rounds') }} where {{ of_tasks }}),
score_rows as (select * from {{ ref('fct_round_scores') }} where {{ of_tasks }}),
assertion_rows as (
    select * from {{ ref('fct_assertions') }}
    where assertion_source = 'tool' and {{ of_tasks }}
),
dimension_rows as (select * from {{ ref('stg_tasks__dimension_configs') }}),
given_scores as (select * from {{ ref('stg_scores__scores') }} where {{ of_tasks }}),
task_rows as (select * from {{ ref('dim_tasks') }}),

configured as (

    select
        task_id,
        dimension_id,
        {{ json_number('parameters', 'pass_score') }} as pass_score,
        {{ json_text('parameters', 'scorer_name') }} as scorer_name

    from dimension_rows

),

-- the newest score of each scorer; that of the configured scorer counts, else the newest
given as (

    select
        given_scores.*,
        row_number() over (
            partition by
                given_scores.task_id, given_scores.case_id, given_scores.round_id,
                given_scores.dimension_id
            order by
                case when given_scores.scorer = configured.scorer_name then 0 else 1 end,
                given_scores.load_id desc,
                given_scores.line_number desc
        ) as choice,
        row_number() over (
            partition by
                given_scores.task_id, given_scores.case_id, given_scores.round_id,
                given_scores.dimension_id, given_scores.scorer, given_scores.scorer_version
            order by given_scores.load_id desc, given_scores.line_number desc
        ) as recency

    from given_scores
    left join configured using (task_id, dimension_id)

),

scorers as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        concat_ws(' ', scorer, scorer_version) as judge,
        {{ json_text('payload', 'position') }} as place,
        score / scale as score,
        choice = 1 as is_used

    from given
    where recency = 1

),

of_dimensions as (

    select
        score_rows.task_id,
        score_rows.case_id,
        score_rows.round_id,
        score_rows.dimension_id,
        coalesce(scorers.judge, cast(task_rows.judge as string), score_rows.scorer) as judge,
        score_rows.score,
        scorers.place,
        true as is_used

    from score_rows
    inner join task_rows using (task_id)
    left join scorers
        on
            score_rows.task_id = scorers.task_id
            and score_rows.case_id = scorers.case_id
            and score_rows.round_id = scorers.round_id
            and score_rows.dimension_id = scorers.dimension_id
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
    inner join round_rows using (task_id, case_id, round_id)
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
        assertion_rows.task_id,
        assertion_rows.case_id,
        assertion_rows.round_id,
        assertion_rows.assertion_name as dimension_id,
        coalesce(cast(max(task_rows.judge) as string), max(assertion_rows.assertion_type)) as judge,
        case
            when bool_or(assertion_rows.status = 'fail') then 'fail'
            when bool_or(assertion_rows.status = 'pass') then 'pass'
        end as verdict,
        cast(null as string) as place,
        min(assertion_rows.score) as score,
        true as is_used

    from assertion_rows
    inner join task_rows using (task_id)
    left join score_rows
        on
            assertion_rows.task_id = score_rows.task_id
            and assertion_rows.case_id = score_rows.case_id
            and assertion_rows.round_id = score_rows.round_id
            and assertion_rows.assertion_name = score_rows.dimension_id
    where score_rows.task_id is null and assertion_rows.assertion_name <> 'verdict'
    group by
        assertion_rows.task_id,
        assertion_rows.case_id,
        assertion_rows.round_id,
        assertion_rows.assertion_name

),

of_rounds as (

    select
        round_rows.task_id,
        round_rows.case_id,
        round_rows.round_id,
        'verdict' as dimension_id,
        coalesce(cast(task_rows.judge as string), 'verdict') as judge,
        case when round_rows.status in ('pass', 'fail') then round_rows.status end as verdict,
        cast(null as string) as place,
        cast(null as double) as score,
        true as is_used

    from round_rows
    inner join task_rows using (task_id)

)

select * from of_rounds

union all

select * from judged_dimensions

union all

select * from of_assertions
{%- endmacro %}
