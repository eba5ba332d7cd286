{#- The verdicts of judges: of rounds, dimensions and assertions of other tools. `tasks`: a
    relation with the task ids to read; all without it. -#}
{% macro judge_verdicts(tasks=none) -%}
{%- set of_tasks = 'task_id in (select task_id from ' ~ tasks ~ ')' if tasks else 'true' -%}
with

rounds as (select * from {{ ref('fct_rounds') }} where {{ of_tasks }}),
round_scores as (select * from {{ ref('fct_round_scores') }} where {{ of_tasks }}),
assertions as (
    select * from {{ ref('fct_assertions') }}
    where assertion_source = 'tool' and {{ of_tasks }}
),
dimensions as (select * from {{ ref('stg_tasks__dimension_configs') }}),
scores as (select * from {{ ref('stg_scores__scores') }} where {{ of_tasks }}),
task_rows as (select * from {{ ref('dim_tasks') }}),

pass_scores as (

    select
        task_id,
        dimension_id,
        {{ json_number('parameters', 'pass_score') }} as pass_score

    from dimensions

),

-- the newest score of each scorer; the newest of all counts
given as (

    select
        *,
        row_number() over (
            partition by task_id, case_id, round_id, dimension_id
            order by load_id desc, line_number desc
        ) as recency,
        row_number() over (
            partition by task_id, case_id, round_id, dimension_id, scorer, scorer_version
            order by load_id desc, line_number desc
        ) as recency_of_judge

    from scores

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
        recency = 1 as is_used

    from given
    where recency_of_judge = 1

),

of_dimensions as (

    select
        round_scores.task_id,
        round_scores.case_id,
        round_scores.round_id,
        round_scores.dimension_id,
        coalesce(scorers.judge, cast(task_rows.judge as string), round_scores.scorer) as judge,
        round_scores.score,
        scorers.place,
        true as is_used

    from round_scores
    inner join task_rows using (task_id)
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
            when pass_scores.pass_score is not null
                then case
                    when of_dimensions.score >= pass_scores.pass_score then 'pass'
                    else 'fail'
                end
            when of_dimensions.score = 1 then 'pass'
            when of_dimensions.score = 0 then 'fail'
        end as verdict,
        of_dimensions.place,
        of_dimensions.score,
        of_dimensions.is_used

    from of_dimensions
    left join pass_scores using (task_id, dimension_id)
    where of_dimensions.dimension_id <> 'verdict'

),

-- an assertion counts under its name where no dimension is called so
of_assertions as (

    select
        assertions.task_id,
        assertions.case_id,
        assertions.round_id,
        assertions.assertion_name as dimension_id,
        coalesce(cast(max(task_rows.judge) as string), max(assertions.assertion_type)) as judge,
        case
            when bool_or(assertions.status = 'fail') then 'fail'
            when bool_or(assertions.status = 'pass') then 'pass'
        end as verdict,
        cast(null as string) as place,
        min(assertions.score) as score,
        true as is_used

    from assertions
    inner join task_rows using (task_id)
    left join round_scores
        on
            assertions.task_id = round_scores.task_id
            and assertions.case_id = round_scores.case_id
            and assertions.round_id = round_scores.round_id
            and assertions.assertion_name = round_scores.dimension_id
    where round_scores.task_id is null and assertions.assertion_name <> 'verdict'
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
        coalesce(cast(task_rows.judge as string), 'verdict') as judge,
        case when rounds.status in ('pass', 'fail') then rounds.status end as verdict,
        cast(null as string) as place,
        cast(null as double) as score,
        true as is_used

    from rounds
    inner join task_rows using (task_id)

)

select * from of_rounds

union all

select * from judged_dimensions

union all

select * from of_assertions
{%- endmacro %}
